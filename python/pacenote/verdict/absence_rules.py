"""Rules for tasks without a target rate that some clients left long before others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pacenote.model.driver_facts import late_joins
from pacenote.model.finding import Finding
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import late_share, mean_service_s
from pacenote.units import format_range
from pacenote.verdict.late_join_rules import LATE_SHARE


def absence_findings(tasks: Iterable[TaskResult], driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields a finding about tasks of whose clients some were not measured while others were, by as much as
    may be missing because of clients that join late, which are not counted here.

    The window of iterations, or of data that ends, lasts from the first measured request of any client to the
    last reply, as with Rally. If clients are not equally fast, those that are done do nothing for the rest of
    it, and its throughput is that of the others. Of a task with a target rate, it is judged whether it missed
    it (`schedule_rules`).
    """
    shares = {}
    for task in tasks:
        if task.paced or task.ended_by in ("aborted", "stopped") or not task.window_s:
            continue
        share = _absent_share(task, driver)
        if share > LATE_SHARE:
            shares[task.task] = share
    if shares:
        yield Finding(
            f"{format_range(list(shares.values()), _percent)} of the time of the clients is missing, because "
            "some were done, or not measured yet, while others were measured: throughput is that of fewer",
            "unknown",
            "use a time-period in place of iterations, or fewer clients",
            tuple(shares),
        )


def _absent_share(task: TaskResult, driver: Mapping[str, object]) -> float:
    """Returns which share of the time of all clients is missing, without what chance explains: clients whose
    operations are equally long are done at times that differ by up to one of them.
    """
    chance_s = task.clients * mean_service_s(task)
    share = (task.absent_s - chance_s) / (task.clients * task.window_s)
    joins = late_joins(driver, task.index)
    return share if joins is None else share - late_share(task, joins)


def _percent(share: float) -> str:
    return f"{share * 100.0:.0f} %"
