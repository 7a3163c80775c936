"""Requests of Python operations, which the driver sends; their responses arrive as events."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from pacenote._core import (
    ClientId,
    OperationExecuted,
    PythonBridge,
    RequestFailed,
    ResponseReceived,
    RunnerRequest,
)
from pacenote.model.work import Headers


@dataclass(frozen=True, slots=True)
class Owner:
    """The operation to which requests belong."""

    client: ClientId
    """The client that executes it."""

    query_id: int
    """The driver's query for it."""


OWNER: ContextVar[Owner | None] = ContextVar("pacenote_owner", default=None)
"""The operation that is running; inherited by tasks that a runner starts, which may outlive it."""

_BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
"""Headers that describe the encoded body; the body is passed on decoded and decompressed."""

_Answer = TypeVar("_Answer", ResponseReceived, OperationExecuted)


@dataclass(frozen=True, slots=True)
class RunnerResponse:
    """A response of any status."""

    status: int
    """HTTP status."""

    headers: Headers
    """Header fields, without those that describe the encoded body."""

    body: bytes
    """The decompressed body."""


class NoResponse(Exception):
    """A request failed without a response. `kind` is connect, tls, reset, timeout or protocol."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class RequestRouter:
    """Sends requests through the bridge and routes answers to the coroutines that wait for them.

    It may only be used on the thread of the event loop. Requests belong to the operation that sends them.
    """

    def __init__(self, bridge: PythonBridge) -> None:
        self._bridge = bridge
        self._responses: dict[int, asyncio.Future[ResponseReceived]] = {}
        self._executions: dict[int, asyncio.Future[OperationExecuted]] = {}
        self._in_flight: Counter[ClientId] = Counter()

    async def request(self, cluster: str, request: RunnerRequest) -> RunnerResponse:
        """Sends a request to a cluster.

        Raises `NoResponse`, and `CoreError` for a request that cannot be written as HTTP.
        """
        request_id = self._bridge.request(_query_id(), cluster, request)
        response = await self._answer(self._responses, request_id)
        headers = tuple(
            (name, value) for name, value in response.headers if name.lower() not in _BODY_HEADERS
        )
        return RunnerResponse(response.status, headers, response.body)

    async def execute(self, cluster: str, operation: str, body: bytes | None) -> OperationExecuted:
        """Executes a supplied operation in the driver.

        Raises `CoreError` for an operation that cannot be written as HTTP.
        """
        request_id = self._bridge.execute(_query_id(), cluster, operation, body)
        return await self._answer(self._executions, request_id)

    def count_retry(self) -> None:
        """Counts a request that repeats an earlier one of the operation that is running."""
        query_id = _query_id()
        if query_id is not None:
            self._bridge.count_retry(query_id)

    def in_flight(self, client: ClientId) -> int:
        """Returns the number of requests that a client's operations have sent and that have not ended."""
        return self._in_flight[client]

    async def _answer(self, waiting: dict[int, asyncio.Future[_Answer]], request_id: int) -> _Answer:
        # Events are read on this thread, so the answer cannot have been processed yet.
        future: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        waiting[request_id] = future
        owner = OWNER.get()
        if owner is not None:
            self._in_flight[owner.client] += 1
        try:
            return await future
        finally:
            waiting.pop(request_id, None)
            if owner is not None:
                self._in_flight[owner.client] -= 1

    def on_answer(self, event: ResponseReceived | RequestFailed | OperationExecuted) -> None:
        """Resumes the coroutine that waits for this answer."""
        match event:
            case ResponseReceived():
                _resolve(self._responses, event.request_id, event)
            case OperationExecuted():
                _resolve(self._executions, event.request_id, event)
            case RequestFailed():
                future = self._responses.pop(event.request_id, None)
                if future is not None and not future.done():
                    future.set_exception(NoResponse(event.kind, event.reason))


def _query_id() -> int | None:
    owner = OWNER.get()
    return None if owner is None else owner.query_id


def _resolve(waiting: dict[int, asyncio.Future[_Answer]], request_id: int, answer: _Answer) -> None:
    future = waiting.pop(request_id, None)
    if future is not None and not future.done():
        future.set_result(answer)
