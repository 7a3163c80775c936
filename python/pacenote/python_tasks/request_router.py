"""Requests of Python operations, which the driver sends; their responses arrive as events."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection
from contextvars import ContextVar
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from pacenote._core import (
    ClientId,
    OperationExecuted,
    PythonBridge,
    RequestFailed,
    ResponseReceived,
    RunnerRequest,
)
from pacenote.model.work import Headers
from pacenote.python_tasks.delays import ReplyWaits


class Owner(Struct, frozen=True):
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


class _ReadAnswer(Struct, Generic[_Answer], frozen=True):
    """An answer of the driver."""

    event: _Answer
    """The event that the driver has sent."""

    read_s: float
    """When it was read, in seconds of `time.perf_counter`."""


_Waiting: TypeAlias = dict[int, asyncio.Future[_ReadAnswer[_Answer]]]
"""What waits for answers, by request."""


class RunnerResponse(Struct, frozen=True):
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
        self._responses: _Waiting[ResponseReceived] = {}
        self._executions: _Waiting[OperationExecuted] = {}
        self._in_flight: Counter[ClientId] = Counter()
        self._sent: dict[int, ClientId] = {}
        self._answered_s: dict[ClientId, float] = {}
        self._waits: dict[Owner, ReplyWaits] = {}

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
        """Returns the number of requests for which a client's operations wait."""
        return self._in_flight[client]

    def unanswered(self, client: ClientId) -> int:
        """Returns the number of requests that a client's operations have sent while they ran, and that have
        not ended in the driver, whether or not anything still waits for them.
        """
        return sum(sender == client for sender in self._sent.values())

    def end_tasks(self, tasks: Collection[int]) -> None:
        """Drops the requests of tasks that have ended, given by their positions in the plan."""
        self._sent = {number: client for number, client in self._sent.items() if client.task not in tasks}

    def answered_s(self, client: ClientId) -> float:
        """Returns when a request of a client's operations last ended, in seconds of `time.perf_counter`; 0 if
        none has.
        """
        return self._answered_s.get(client, 0.0)

    async def _answer(self, waiting: _Waiting[_Answer], request_id: int) -> _Answer:
        # Events are read on this thread, so the answer cannot have been processed yet.
        future: asyncio.Future[_ReadAnswer[_Answer]] = asyncio.get_running_loop().create_future()
        waiting[request_id] = future
        owner = OWNER.get()
        if owner is not None:
            self._in_flight[owner.client] += 1
            if owner in self._waits:
                self._sent[request_id] = owner.client
        try:
            answer = await future
            if owner is not None and (waits := self._waits.get(owner)) is not None:
                waits.add(answer.read_s - answer.event.waited_s, time.perf_counter())
            return answer.event
        finally:
            waiting.pop(request_id, None)
            if owner is not None:
                self._in_flight[owner.client] -= 1
                self._answered_s[owner.client] = time.perf_counter()

    def begin_operation(self, owner: Owner) -> None:
        """Adds up the waits of the replies of an operation from now on."""
        self._waits[owner] = ReplyWaits()

    def end_operation(self, owner: Owner) -> float:
        """Returns for how many seconds an operation's replies waited until its code received them."""
        return self._waits.pop(owner, ReplyWaits()).total_s

    def on_answer(self, event: ResponseReceived | RequestFailed | OperationExecuted) -> None:
        """Resumes the coroutine that waits for this answer."""
        read_s = time.perf_counter()
        self._sent.pop(event.request_id, None)
        match event:
            case ResponseReceived():
                _resolve(self._responses, event.request_id, _ReadAnswer(event, read_s))
            case OperationExecuted():
                _resolve(self._executions, event.request_id, _ReadAnswer(event, read_s))
            case RequestFailed():
                future = self._responses.pop(event.request_id, None)
                if future is not None and not future.done():
                    future.set_exception(NoResponse(event.kind, event.reason))


def _query_id() -> int | None:
    owner = OWNER.get()
    return None if owner is None else owner.query_id


def _resolve(waiting: _Waiting[_Answer], request_id: int, answer: _ReadAnswer[_Answer]) -> None:
    future = waiting.pop(request_id, None)
    if future is not None and not future.done():
        future.set_result(answer)
