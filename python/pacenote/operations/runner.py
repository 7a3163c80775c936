"""What a built-in operation written in Python has: a client, the errors it raises, and what it returns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pacenote.errors import DriverError
from pacenote.model.work import Headers, Request, RetryPolicy
from pacenote.units import OPS

_REQUEST_TIMEOUT = 408


@dataclass(frozen=True, slots=True)
class DriverResponse:
    """What came back with status 2xx, or with one that the request ignores."""

    status: int
    headers: Headers
    body: bytes

    def json(self) -> Any:
        """The body, parsed. Raises `UnexpectedResponse` if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError as cause:
            text = self.body[:60].decode(errors="replace")
            raise UnexpectedResponse(f"the reply is no JSON: {text!r}") from cause


class OperationError(DriverError):
    """A request that failed; the operation fails with it unless its runner knows better."""


class HttpStatusError(OperationError):
    """A reply whose status is neither 2xx nor ignored; `reason` is the engine's own, in one line."""

    def __init__(self, status: int, body: bytes, reason: str) -> None:
        super().__init__(f"HTTP status {status}: {reason}" if reason else f"HTTP status {status}")
        self.status = status
        self.body = body
        self.reason = reason


class ConnectionFailed(OperationError):
    """No reply: the connection was refused or broke."""


class RequestTimedOut(OperationError):
    """No reply in time."""


class UnexpectedResponse(OperationError):
    """A reply that is not what the operation needs to go on."""


class OperationFailed(OperationError):
    """The operation came to an end that is no success, and trying again would not help."""


class DriverClient(Protocol):
    """Sends requests through the driver, which takes their times."""

    async def send(self, request: Request) -> DriverResponse:
        """Sends `method`, `path`, `headers` and `body` of a request within `timeout_ms`; statuses that it
        ignores are replies. Its other fields say how the driver judges a reply and mean nothing here.

        Raises `HttpStatusError`, `ConnectionFailed`, `RequestTimedOut`.
        """


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one execution did. `more`: the same client is to call again, as long as nothing else ends the task
    (only types that are `ending`). `reason` says why it was no success.
    """

    weight: int = 1
    unit: str = OPS
    success: bool = True
    incomplete: bool = False
    reason: str = ""


class Runner(Protocol):
    """An operation in Python. `client_state` is one dictionary for all executions of a client in a task."""

    async def __call__(
        self, client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
    ) -> RunResult:
        """Executes the operation once with the parameters of the track. Raises `OperationError`."""


async def run_with_retry(
    runner: Runner,
    retry: RetryPolicy,
    client: DriverClient,
    params: Mapping[str, Any],
    client_state: dict[str, Any],
) -> RunResult:
    """Executes an operation as often as `retry` allows: again after a refused connection, a timeout or status
    408, and after a result without success if asked for. Raises the last error.
    """
    import asyncio  # Only where an operation runs in Python: reading its type should be quick.

    left = retry.retries
    while True:
        last = left <= 0 and not retry.until_success
        try:
            result = await runner(client, params, client_state)
            if result.success or last or not retry.on_unsuccess:
                return result
        except (ConnectionFailed, RequestTimedOut):
            if last or not retry.on_timeout:
                raise
        except HttpStatusError as error:
            if last or not retry.on_timeout or error.status != _REQUEST_TIMEOUT:
                raise
        left -= 1
        await asyncio.sleep(retry.wait_s)
