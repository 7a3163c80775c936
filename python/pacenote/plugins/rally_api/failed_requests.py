"""The requests of an operation that failed, which its runner may handle or ignore."""

from __future__ import annotations

from contextvars import ContextVar

from msgspec import Struct


class FailedRequests(Struct):
    """Counts the requests of one operation that had an error status or no reply."""

    count: int = 0
    """Their number, without those of attempts that `Retry` has repeated."""


FAILED_REQUESTS: ContextVar[FailedRequests | None] = ContextVar("pacenote_failed_requests", default=None)
"""Failed requests of the operation that is running; inherited by tasks that a runner starts."""
