"""Operations that run in Python: their client, its errors, and their results."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import DriverError
from pacenote.model.decoding import ReplyTooLarge, parse_reply
from pacenote.model.failure_group import OVERLOAD
from pacenote.model.printable import single_line
from pacenote.model.problems import preview
from pacenote.model.work import Headers, Request, RetryPolicy
from pacenote.units import OPS, format_count

_REQUEST_TIMEOUT = 408

NO_SUCCESS = "no success"
"""The reason of a result without success that states none."""

_MAX_BUSY_REPLIES = 10
"""Replies in a row with a busy status after which a poll goes on, or an operation is retried until it
succeeds.
"""

MAX_WEIGHT = 2**53
"""Largest work of one operation: larger numbers are not exact in the record."""

MAX_FIGURE = 1e200
"""Largest number that is recorded: the sum of larger ones may be infinite."""

_MAX_SHOWN_BYTES = 60
"""Bytes of a body that are shown if it is not JSON."""


class DriverResponse(Struct, frozen=True):
    """A response with status 2xx, or with a status that the request ignores."""

    status: int
    """The HTTP status."""

    headers: Headers
    """The headers, with names in lower case."""

    body: bytes
    """The decompressed body."""

    def json(self) -> Any:
        """Returns the parsed body. Raises `UnexpectedResponse` if it is not JSON, or too large."""
        try:
            return parse_reply(self.body)
        except ReplyTooLarge as cause:
            raise UnexpectedResponse(f"the response {cause}") from cause
        except (ValueError, RecursionError) as cause:
            cut = "…" if len(self.body) > _MAX_SHOWN_BYTES else ""
            text = self.body[:_MAX_SHOWN_BYTES].decode(errors="replace") + cut
            raise UnexpectedResponse(f"the response is not JSON: {text!r}") from cause

    def json_object(self) -> dict[str, Any]:
        """Returns the parsed body. Raises `UnexpectedResponse` if it is not a JSON object."""
        body = self.json()
        if not isinstance(body, dict):
            raise UnexpectedResponse(f"the response is {preview(body)}, but must be an object")
        return body


class RunnerError(DriverError):
    """A request or an operation failed. The operation fails unless its runner handles the error."""

    def add(self, text: str) -> None:
        """Adds a text to the end of the message."""
        self.message += text
        self.args = (self.message,)


class HttpStatusError(RunnerError):
    """A response has a status that is neither 2xx nor ignored.

    `reason` is the engine's reason in one line.
    """

    def __init__(self, status: int, body: bytes, reason: str) -> None:
        super().__init__(f"HTTP status {status}: {reason}" if reason else f"HTTP status {status}")
        self.status = status
        self.body = body
        self.reason = reason

    def add(self, text: str) -> None:
        """Adds a text to the end of the message and of the engine's reason."""
        super().add(text)
        self.reason += text


class ConnectionFailed(RunnerError):
    """No complete response arrived, although the request had not timed out.

    `error_class` is the driver's class of the failure: `connect`, `tls`, `reset` or `protocol`.
    """

    def __init__(self, message: str, error_class: str = "connect") -> None:
        super().__init__(message)
        self.error_class = error_class


class RequestTimedOut(RunnerError):
    """No response arrived within the timeout."""


class UnexpectedResponse(RunnerError):
    """A response lacks what the operation needs to continue."""


class OperationFailed(RunnerError):
    """The operation ended without success, and a retry would not help."""


class OperationDefect(RunnerError):
    """The code of an operation type raised an error that is neither one of the engine nor of a plug-in."""


@contextmanager
def expected_form(what: str) -> Generator[None, None, None]:
    """Raises `UnexpectedResponse` if the block finds `what`, a part of a response, in a different form than
    it expects.

    The block must only read the response: its errors are those of the engine.
    """
    try:
        yield
    except KeyError as missing:
        raise UnexpectedResponse(f"{what} lacks {missing}") from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        text = f"{type(error).__name__}: {single_line(str(error))}"
        raise UnexpectedResponse(f"{what} has an unexpected form ({text})") from error


class DriverClient(Protocol):
    """Sends requests through the driver, which measures them."""

    async def send(self, request: Request) -> DriverResponse:
        """Sends `method`, `path`, `headers` and `body` of a request with its `timeout_ms`.

        A response with an ignored status is returned, not raised. Other fields of the request are for the
        driver and have no effect.

        Raises `HttpStatusError`, `ConnectionFailed`, `RequestTimedOut`.
        """


class BuiltinResult(Struct, frozen=True):
    """Result of one execution of an operation."""

    weight: int = 1
    """The work that was done, in `unit`."""

    unit: str = OPS
    """The unit of work."""

    success: bool = True
    """Whether the operation succeeded."""

    completes_task: bool = False
    """Whether the client's task is complete (only types with `completes_task`)."""

    reason: str = ""
    """The reason why the operation did not succeed, or empty if it did."""

    engine_ms: float | None = None
    """Milliseconds that the engine itself reports for the work, or None. The throughput of the task is then
    the work divided by this time, because the operation only waits for work that began before it.
    """

    values: Mapping[str, int | float] = field(default_factory=dict)
    """Further numbers that the engine reports about the work, under Rally's names."""

    def returned(self) -> dict[str, Any]:
        """Returns the dictionary that Rally's runner of the type would return."""
        returned: dict[str, Any] = {
            "weight": self.weight,
            "unit": self.unit,
            "success": self.success,
            **self.values,
        }
        if self.engine_ms is not None and self.engine_ms > 0:
            returned["throughput"] = self.weight / self.engine_ms * 1000
        return returned


def check_figures(result: BuiltinResult) -> BuiltinResult:
    """Returns the result, whose figures may have been read from a response.

    Raises `UnexpectedResponse` if one is not a number, or if the weight is not a whole number from 0 to
    `MAX_WEIGHT`.
    """
    weight, figures = result.weight, (*result.values.values(), result.engine_ms or 0)
    if type(weight) is not int or not 0 <= weight <= MAX_WEIGHT:
        raise UnexpectedResponse(f"the weight {preview(weight)} is not a whole number from 0 to 2^53")
    for figure in figures:
        if type(figure) not in (int, float) or not abs(figure) <= MAX_FIGURE:
            raise UnexpectedResponse(f"{preview(figure)} is not a number")
    return result


class Runner(Protocol):
    """An operation in Python; `client_state` is shared by all executions of a client in a task."""

    async def __call__(
        self, client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
    ) -> BuiltinResult:
        """Runs the operation once with the parameters of the track. Raises `RunnerError`."""


class BusyReplies:
    """Counts the replies in a row by which an engine, or a proxy in front of it, refuses a request for the
    moment. They say nothing about the work that a request asks about.
    """

    def __init__(self) -> None:
        self._in_row = 0

    def ignores(self, status: int) -> bool:
        """Counts a reply without success. Returns whether it is to be ignored: it has a busy status, and few
        before it in a row had.
        """
        self._in_row = self._in_row + 1 if status in OVERLOAD else 0
        return 0 < self._in_row <= _MAX_BUSY_REPLIES

    def end_row(self) -> None:
        """Starts to count again, after another outcome."""
        self._in_row = 0


async def poll(client: DriverClient, request: Request, pause_s: float) -> DriverResponse:
    """Sends a request that asks about work in the engine, again after `pause_s` while the engine is too busy
    to answer. Raises the error of the eleventh such reply in a row, and any other one.
    """
    import asyncio  # Slow to import, and only needed when an operation runs.

    busy = BusyReplies()
    while True:
        try:
            return await client.send(request)
        except HttpStatusError as error:
            if not busy.ignores(error.status):
                raise
        await asyncio.sleep(pause_s)


async def run_with_retry(
    runner: Runner,
    retry: RetryPolicy,
    client: DriverClient,
    params: Mapping[str, Any],
    client_state: dict[str, Any],
) -> BuiltinResult:
    """Runs an operation with the retries that `retry` allows, and raises the last error.

    It is retried after a connection error, a timeout or status 408, and, depending on `retry`, after a
    result without success or a few replies in a row that say that the engine is busy. One that is retried
    until it succeeds is given up at the limit of `retry`, which its reason then states.
    """
    import asyncio  # Slow to import, and only needed when an operation runs.

    busy = BusyReplies()
    began, attempts = time.monotonic(), 0

    def was_last() -> bool:
        if retry.until_success:
            return time.monotonic() - began + retry.wait_s > retry.limit_s
        return attempts > retry.retries

    def given_up() -> str:
        seconds = int(time.monotonic() - began)
        return f" (given up after {format_count(attempts, 'attempt')} in {seconds} s)"

    while True:
        attempts += 1
        try:
            result = await runner(client, params, client_state)
        except RunnerError as error:
            if not _may_retry(error, retry, busy):
                raise
            if was_last():
                if retry.until_success:
                    error.add(given_up())
                raise
        else:
            busy.end_row()
            if result.success or not retry.on_unsuccess:
                return result
            if was_last():
                given_up_text = given_up() if retry.until_success else ""
                return replace(result, reason=f"{result.reason or NO_SUCCESS}{given_up_text}")
        await asyncio.sleep(retry.wait_s)


def _may_retry(error: RunnerError, retry: RetryPolicy, busy: BusyReplies) -> bool:
    """Returns whether a failed attempt is one after which an operation may be tried again."""
    if isinstance(error, HttpStatusError):
        is_ignored = busy.ignores(error.status) and retry.until_success
        return is_ignored or (retry.on_timeout and error.status == _REQUEST_TIMEOUT)
    busy.end_row()
    if isinstance(error, ConnectionFailed):
        # A reply that is not HTTP is not a failure of the connection.
        return retry.on_timeout and error.error_class != "protocol"
    return retry.on_timeout and isinstance(error, RequestTimedOut)
