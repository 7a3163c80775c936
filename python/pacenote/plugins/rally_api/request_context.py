"""Which operation a piece of a plug-in's code belongs to, wherever it is awaited."""

from __future__ import annotations

import time
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Self


@dataclass(slots=True)
class Call:
    """One operation that Python carries out, for the client `owner` (task, client).

    `raw` replies are handed over as bytes. What was marked as `request_start` and `request_end` is in seconds
    of `time.perf_counter`.
    """

    owner: tuple[int, int] | None
    raw: bool = False
    request_start: float | None = None
    request_end: float | None = None


CURRENT: ContextVar[Call | None] = ContextVar("pacenote_call", default=None)
"""The operation under way, inherited by tasks that a runner starts."""


class RequestContextManager:
    """A span of requests within an operation, nested in the one around it."""

    def __init__(self, holder: object) -> None:
        self.ctx_holder = holder
        self._around: Call | None = None
        self._call = Call(owner=None)
        self._token: Token[Call | None] | None = None

    @property
    def request_start(self) -> float | None:
        """When the first request of the span began."""
        return self._call.request_start

    @property
    def request_end(self) -> float | None:
        """When the last request of the span ended."""
        return self._call.request_end

    def __enter__(self) -> Self:
        self._around = CURRENT.get()
        self._call = Call(self._around.owner if self._around else None)
        self._token = CURRENT.set(self._call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            CURRENT.reset(self._token)
        if self._around is not None:
            if self._around.request_start is None:
                self._around.request_start = self._call.request_start
            self._around.request_end = self._call.request_end


class RequestContextHolder:
    """What Rally's client offers to plug-ins that mark the beginning and the end of requests themselves.

    Marks are kept for the plug-in; times in results are those of the driver, which sees the requests.
    """

    request_context: ClassVar[ContextVar[Call | None]] = CURRENT

    def new_request_context(self) -> RequestContextManager:
        """A span of requests."""
        return RequestContextManager(self)

    @classmethod
    def on_request_start(cls) -> None:
        """Marks the beginning of the first request."""
        call = CURRENT.get()
        if call is not None and call.request_start is None:
            call.request_start = time.perf_counter()

    @classmethod
    def on_request_end(cls) -> None:
        """Marks the end of the last request."""
        call = CURRENT.get()
        if call is not None:
            call.request_end = time.perf_counter()

    @classmethod
    def return_raw_response(cls) -> None:
        """Lets the operation's replies be bytes that nobody parses."""
        call = CURRENT.get()
        if call is not None:
            call.raw = True

    on_client_request_start: ClassVar[Any] = on_request_start
    on_client_request_end: ClassVar[Any] = on_request_end
