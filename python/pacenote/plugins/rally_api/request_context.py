"""Rally's request context: times that plug-ins mark at the beginning and the end of their requests."""

from __future__ import annotations

import time
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, ClassVar, Self

from msgspec import Struct


class RequestContext(Struct):
    """Request times of one operation that runs in Python, in seconds of `time.perf_counter`."""

    raw: bool = False
    """Whether responses are returned to the plug-in as bytes."""

    request_start: float | None = None
    """Time at which the first request began, or None if there was none."""

    request_end: float | None = None
    """Time at which the last request ended, or None if there was none."""


CURRENT_CONTEXT: ContextVar[RequestContext | None] = ContextVar("pacenote_request_context", default=None)
"""Context of the operation that is running; inherited by tasks that a runner starts."""


class RequestContextManager:
    """A span of requests within an operation; spans can be nested."""

    def __init__(self, holder: object) -> None:
        self.ctx_holder = holder
        self._outer: RequestContext | None = None
        self._context = RequestContext()
        self._token: Token[RequestContext | None] | None = None

    @property
    def request_start(self) -> float | None:
        """Time at which the first request of the span began, in seconds of `time.perf_counter`."""
        return self._context.request_start

    @property
    def request_end(self) -> float | None:
        """Time at which the last request of the span ended, in seconds of `time.perf_counter`."""
        return self._context.request_end

    def __enter__(self) -> Self:
        self._outer = CURRENT_CONTEXT.get()
        self._context = RequestContext()
        self._token = CURRENT_CONTEXT.set(self._context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            CURRENT_CONTEXT.reset(self._token)
        if self._outer is not None:
            if self._outer.request_start is None:
                self._outer.request_start = self._context.request_start
            self._outer.request_end = self._context.request_end


class RequestContextHolder:
    """The methods of Rally's client for plug-ins that mark the beginning and the end of their requests.

    These times are only for the plug-in; results contain the times that the driver measures.
    """

    request_context: ClassVar[ContextVar[RequestContext | None]] = CURRENT_CONTEXT

    def new_request_context(self) -> RequestContextManager:
        """Returns a span of requests, to be used in a `with` statement."""
        return RequestContextManager(self)

    @classmethod
    def on_request_start(cls) -> None:
        """Marks the beginning of the first request."""
        context = CURRENT_CONTEXT.get()
        if context is not None and context.request_start is None:
            context.request_start = time.perf_counter()

    @classmethod
    def on_request_end(cls) -> None:
        """Marks the end of the last request."""
        context = CURRENT_CONTEXT.get()
        if context is not None:
            context.request_end = time.perf_counter()

    @classmethod
    def return_raw_response(cls) -> None:
        """Makes the client return the responses of this operation as bytes, without parsing them."""
        context = CURRENT_CONTEXT.get()
        if context is not None:
            context.raw = True

    on_client_request_start: ClassVar[Any] = on_request_start
    on_client_request_end: ClassVar[Any] = on_request_end
