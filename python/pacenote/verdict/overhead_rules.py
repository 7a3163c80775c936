"""Rules for what the clients of a task did besides its operations, and what they received unasked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pacenote.model.finding import Finding
from pacenote.model.result import CleanUps, TaskResult
from pacenote.units import format_count, format_range
from pacenote.verdict.task_rules import names

OVERHEAD_SHARE = 0.10
"""Highest acceptable share of time that the clients of a closed loop spend opening connections and cleaning
up: no service time contains it, but they generate less load meanwhile.
"""

_SHOWN_SHARE = 0.01
"""Share of time from which it is worth mentioning."""

CLEANUP_FAILURE_SHARE = 0.01
"""Highest acceptable share of requests that clean up and fail: what they were to free stays in the engine."""


class _Overhead(Struct, frozen=True):
    """A reason why clients do something else than their operations."""

    text: str
    """The text of the finding; `{cleaned_up}` is the number of requests that clean up, `{reopened}` that of
    connections that were opened again.
    """

    advice: str
    """What to do about it."""


_CLEANUP = _Overhead("{cleaned_up} cleaned up", "see the log of the engine")
_OPENING = _Overhead("opening them took so long, or failed", "find out what makes opening connections slow")
_FAILURES = _Overhead("a connection is opened again after a failure", "find out why operations fail")
_CLOSING = _Overhead(
    "the server closes them after each reply", "keep connections alive in the engine or the proxy"
)
_REOPENING = _Overhead(
    "{reopened} had to be opened again", "find out what closes them, or makes opening them slow"
)


def overhead_findings(tasks: Sequence[TaskResult]) -> Iterator[Finding]:
    """Yields findings about the overhead of tasks that makes a race suspect."""
    yield from _hidden_time(tasks)
    yield from _failed_cleanup(tasks)
    if asking := [task for task in tasks if task.unsolicited.bytes]:
        received = sum(task.unsolicited.bytes for task in asking)
        arrivals = sum(task.unsolicited.arrivals for task in asking)
        yield Finding(
            f"the server sent {received:,} bytes that no request asked for, on "
            f"{format_count(arrivals, 'connection')}",
            "engine",
            "find out what answers twice or too long, the engine or a proxy",
            names(asking),
        )


def failed_cleanup_text(cleanup: CleanUps) -> str:
    """Returns the failures of requests that clean up, by class, or an empty string if there are none."""
    if not cleanup.all_failed:
        return ""
    by_class = ", ".join(f"{count:,} × {name}" for name, count in sorted(cleanup.failed.items()))
    requests = format_count(cleanup.requests, "request")
    return f"{cleanup.all_failed:,} of {requests} that clean up failed ({by_class})"


def _failed_cleanup(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    failing = [
        task for task in tasks if task.cleanup.all_failed > CLEANUP_FAILURE_SHARE * task.cleanup.requests
    ]
    if failing:
        failed: Counter[str] = Counter()
        for task in failing:
            failed.update(task.cleanup.failed)
        everything = CleanUps(sum(task.cleanup.requests for task in failing), failed)
        yield Finding(
            f"{failed_cleanup_text(everything)}: scrolls, cursors or other state of operations stay in the "
            "engine",
            "engine",
            "see the log of the engine",
            names(failing),
        )


def _hidden_time(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Reports clients of closed loops that do something else than their operations."""
    groups: dict[_Overhead, list[TaskResult]] = {}
    for task in tasks:
        hidden_s = task.connecting_s + task.cleanup.duration_s
        if not task.paced and hidden_s > OVERHEAD_SHARE * _available_s(task) > 0:
            groups.setdefault(_overhead(task), []).append(task)
    for overhead, group in groups.items():
        shares = (
            ("opening connections", [task.connecting_s / _available_s(task) for task in group]),
            ("in requests that clean up", [task.cleanup.duration_s / _available_s(task) for task in group]),
        )
        spent = " and ".join(
            f"{format_range((share * 100 for share in each), _percent)} of their time {what}"
            for what, each in shares
            if max(each) >= _SHOWN_SHARE
        )
        reopened = format_count(sum(task.accounting.reconnects for task in group), "connection")
        cleaned_up = format_count(sum(task.cleanup.requests for task in group), "request")
        yield Finding(
            f"clients spent {spent}, which no service time contains (limit {OVERHEAD_SHARE * 100:.0f} %): "
            f"{overhead.text.format(reopened=reopened, cleaned_up=cleaned_up)}",
            "engine",
            overhead.advice,
            names(group),
        )


def _overhead(task: TaskResult) -> _Overhead:
    reconnects = task.accounting.reconnects
    if task.cleanup.duration_s > task.connecting_s:
        return _CLEANUP
    if not reconnects:
        return _OPENING
    if 2 * task.accounting.failed >= reconnects:
        return _FAILURES
    return _CLOSING if 2 * reconnects >= task.accounting.requests else _REOPENING


def _available_s(task: TaskResult) -> float:
    return task.clients * task.duration_s


def _percent(value: float) -> str:
    return f"{value:.0f} %"
