"""Rules for what the clients of a task did besides its operations, and what they received unasked."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.result import CleanUps, TaskResult
from pacenote.units import format_count

OVERHEAD_SHARE = 0.10
"""Highest acceptable share of time that the clients of a closed loop spend opening connections and cleaning
up: no service time contains it, but they generate less load meanwhile.
"""

_SHOWN_SHARE = 0.01
"""Share of time from which it is worth mentioning."""

CLEANUP_FAILURE_SHARE = 0.01
"""Highest acceptable share of requests that clean up and fail: what they were to free stays in the engine."""


def overhead_reasons(task: TaskResult) -> Iterator[str]:
    """Yields the reasons why the overhead of a task makes a race suspect, without the name of the task."""
    yield from _hidden_time(task)
    yield from _failed_cleanup(task.cleanup)
    if task.unsolicited.bytes:
        yield (
            f"the server sent {task.unsolicited.bytes:,} bytes that no request asked for, on "
            f"{format_count(task.unsolicited.arrivals, 'connection')}: find out what answers twice or too "
            "long, the engine or a proxy"
        )


def failed_cleanup_text(cleanup: CleanUps) -> str:
    """Returns the failures of requests that clean up, by class, or an empty string if there are none."""
    if not cleanup.all_failed:
        return ""
    by_class = ", ".join(f"{count:,} × {name}" for name, count in sorted(cleanup.failed.items()))
    requests = format_count(cleanup.requests, "request")
    return f"{cleanup.all_failed:,} of {requests} that clean up failed ({by_class})"


def _failed_cleanup(cleanup: CleanUps) -> Iterator[str]:
    if cleanup.all_failed > CLEANUP_FAILURE_SHARE * cleanup.requests:
        yield (
            f"{failed_cleanup_text(cleanup)}: scrolls, cursors or other state of operations stay in the "
            "engine; see its log"
        )


def _hidden_time(task: TaskResult) -> Iterator[str]:
    """Reports clients of a closed loop that do something else than their operations."""
    available_s = task.clients * task.duration_s
    connecting_s, cleanup_s = task.connecting_s, task.cleanup.duration_s
    if task.paced or not available_s or connecting_s + cleanup_s <= OVERHEAD_SHARE * available_s:
        return
    shares = (
        (f"{time_s / available_s * 100:.0f} %", what)
        for what, time_s in (
            ("opening connections", connecting_s),
            ("in requests that clean up", cleanup_s),
        )
        if time_s >= _SHOWN_SHARE * available_s
    )
    spent = " and ".join(f"{share} of their time {what}" for share, what in shares)
    yield (
        f"its clients spent {spent}, which no service time contains (limit {OVERHEAD_SHARE * 100:.0f} %): "
        f"{_cause(task)}"
    )


def _cause(task: TaskResult) -> str:
    reconnects = task.accounting.reconnects
    if task.cleanup.duration_s > task.connecting_s:
        return f"{format_count(task.cleanup.requests, 'request')} cleaned up; see the log of the engine"
    if 2 * task.accounting.failed >= reconnects > 0:
        return "a connection is opened again after a failure; find out why operations fail"
    if 2 * reconnects >= task.accounting.requests:
        return "the server closes them after each reply; keep connections alive in the engine or the proxy"
    reopened = format_count(reconnects, "connection")
    return f"{reopened} had to be opened again; find out what closes them, or makes opening them slow"
