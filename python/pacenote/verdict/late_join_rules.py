"""Rules for tasks without a target rate whose clients were still in another task when others began them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pacenote.model.driver_facts import late_joins
from pacenote.model.finding import Finding
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import late_share
from pacenote.units import format_range

LATE_SHARE = 0.10
"""Highest acceptable share of the measured time of all clients that passed without operations because some
joined late: as much as their overhead may take (`overhead_rules`), since both lower the load.
"""


def late_join_findings(tasks: Iterable[TaskResult], driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields a finding about tasks that had fewer clients than the track declares, which no schedule shows.

    Their figures are those of the engine with that load. Of a task with a target rate, it is judged whether
    it missed it (`schedule_rules`).
    """
    shares = {}
    for task in tasks:
        joins = None if task.paced or task.ended_by == "aborted" else late_joins(driver, task.index)
        if joins is not None and (share := late_share(task, joins)) > LATE_SHARE:
            shares[task.task] = share
    if shares:
        yield Finding(
            f"{format_range(list(shares.values()), _percent)} of the time of the clients is missing, because "
            "some were still busy in another part of the parallel element: throughput is that of fewer",
            "track",
            "give the parallel element as many clients as its tasks have together",
            tuple(shares),
        )


def _percent(share: float) -> str:
    return f"{share * 100.0:.0f} %"
