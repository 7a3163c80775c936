"""Rules for tasks without a target rate that some clients left long before others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pacenote.model.finding import Finding
from pacenote.model.result import TaskResult
from pacenote.units import format_range
from pacenote.verdict.late_join_rules import LATE_SHARE


def absence_findings(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields a finding about tasks of whose clients some were not measured while others were, for whatever
    reason, by as much as may be missing because of clients that join late.

    The window of iterations, or of data that ends, lasts from the first measured request of any client to the
    last reply, as with Rally. If clients are not equally fast, or have unequal parts of the data, those that
    are done do nothing for the rest of it, and its throughput is that of the others. Of a task with a target
    rate, it is judged whether it missed it (`schedule_rules`).
    """
    shares = {}
    for task in tasks:
        if task.paced or task.ended_by == "aborted" or not task.window_s:
            continue
        share = task.absent_s / (task.clients * task.window_s)
        if share > LATE_SHARE:
            shares[task.task] = share
    if shares:
        yield Finding(
            f"{format_range(list(shares.values()), _percent)} of the time of the clients is missing, because "
            "some were done, or not measured yet, while others were measured: throughput is that of fewer",
            "unknown",
            "use a time-period in place of iterations, or give the clients equal parts of the data",
            tuple(shares),
        )


def _percent(share: float) -> str:
    return f"{share * 100.0:.0f} %"
