"""Requests of Python operations on their way through the driver, and their replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacenote.model.work import Headers
from pacenote.plugins.rally_api.request_context import CURRENT
from pacenote.python_tasks.protocol import Lane

_HEADERS_OF_A_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
"""What a reply says of its body on the wire; whoever reads it is given the body decoded and decompressed."""


@dataclass(frozen=True, slots=True)
class WireReply:
    """A reply of any status."""

    status: int
    headers: Headers
    body: bytes


class NoReply(Exception):
    """A request that got no reply. `kind` is connect, tls, reset, timeout or protocol."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request; timeout in seconds, None for the race's own."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes | None = None
    timeout_s: float | None = None


class Wire:
    """Sends through a lane, from its event loop only; requests belong to the operation that sends them."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def request(self, cluster: str, request: WireRequest) -> WireReply:
        """Sends a request to a cluster. Raises `NoReply`."""
        try:
            ticket = self._lane.request(
                _owner(),
                cluster,
                request.method,
                request.target,
                request.headers,
                request.body,
                request.timeout_s,
            )
        except RuntimeError as error:
            raise NoReply("protocol", str(error)) from None
        reply: WireReply = await self._answer(ticket)
        return reply

    async def execute(self, cluster: str, operation: str, body: bytes | None) -> Mapping[str, Any]:
        """Has a `Supply` document carried out by the driver; returns what became of it. Raises `NoReply`."""
        try:
            ticket = self._lane.execute(_owner(), cluster, operation, body)
        except RuntimeError as error:
            raise NoReply("protocol", str(error)) from None
        outcome: Mapping[str, Any] = await self._answer(ticket)
        return outcome

    def replied(self, ticket: int, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """A reply has come."""
        kept = tuple((name, value) for name, value in headers if name.lower() not in _HEADERS_OF_A_BODY)
        self._settle(ticket, WireReply(status, kept, body))

    def failed(self, ticket: int, kind: str, reason: str) -> None:
        """A request has got no reply."""
        future = self._waiting.pop(ticket, None)
        if future is not None and not future.done():
            future.set_exception(NoReply(kind, reason))

    def came_out(self, ticket: int, document: str) -> None:
        """An operation was carried out."""
        self._settle(ticket, json.loads(document))

    async def _answer(self, ticket: int) -> Any:
        # Events are taken on this loop's thread, so none can come between the call and this.
        future = self._waiting[ticket] = asyncio.get_running_loop().create_future()
        try:
            return await future
        finally:
            self._waiting.pop(ticket, None)

    def _settle(self, ticket: int, answer: object) -> None:
        future = self._waiting.pop(ticket, None)
        if future is not None and not future.done():
            future.set_result(answer)


def _owner() -> tuple[int, int] | None:
    call = CURRENT.get()
    return None if call is None else call.owner
