"""Rules for the time for which a CPU quota stopped the driver's control group (`driver.throttling` in
`race.json`).

The kernel stops only threads that are scheduled normally: those with real-time priority run on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from pacenote.model.driver_facts import number, part
from pacenote.model.driver_scheduling import demoted_tasks, keeps_running
from pacenote.model.finding import Finding, by_doubt, doubtful_after
from pacenote.model.result import TaskResult
from pacenote.units import format_excess, format_rate, format_share

THROTTLED_SHARE = 0.05
"""Longest acceptable time for which a CPU quota stops threads, as a share of the race."""


def quota_findings(driver: Mapping[str, object], tasks: Sequence[TaskResult]) -> Iterator[Finding]:
    """Judges the time for which a CPU quota stopped the group of the driver as if all of it were on one core:
    on which of them its threads ran is not known, and another program of the group may have run on others.

    Threads with real-time priority were not stopped: then only those of `tasks` are judged that threads
    without it worked for, as if they had been stopped whenever they did.
    """
    throttling = part(driver, "throttling")
    share = number(throttling, "share")
    if share <= THROTTLED_SHARE:
        return
    most = min(share, 1.0)
    finding = Finding(
        _stopped_text(throttling),
        "machine",
        "raise the quota of its container or control group",
        doubtful_from=doubtful_after(most),
    )
    if not keeps_running(driver):
        yield finding
        return
    shares = {task: min(most, stoppable) for task, stoppable in _stoppable_shares(driver, tasks).items()}
    for names, doubtful_from in by_doubt(shares):
        yield replace(finding, tasks=names, doubtful_from=doubtful_from)


def harmless_quota_text(driver: Mapping[str, object], tasks: Sequence[TaskResult]) -> str:
    """Returns for how long a CPU quota stopped the group of the driver although it stopped no thread that
    worked for `tasks`; empty if it did not, or not for long.
    """
    throttling = part(driver, "throttling")
    is_short = number(throttling, "share") <= THROTTLED_SHARE
    if is_short or not keeps_running(driver) or _stoppable_shares(driver, tasks):
        return ""
    return (
        f"{_stopped_text(throttling)}: it stopped no thread with real-time priority, so that measured times "
        "are not affected, except by stops of an engine in this group"
    )


def _stoppable_shares(driver: Mapping[str, object], tasks: Sequence[TaskResult]) -> dict[str, float]:
    """Returns the tasks for which threads without real-time priority worked, by name, with the share of their
    time for which these may have: all of it for tasks in Python, whose threads never have it.
    """
    demoted = {task.index: task.share for task in demoted_tasks(driver)}
    shares: dict[str, float] = {}
    for task in tasks:
        share = 1.0 if _waits_for_python(task) else demoted.get(task.index, 0.0)
        if share > 0:
            shares[task.task] = max(share, shares.get(task.task, 0.0))
    return shares


def _waits_for_python(task: TaskResult) -> bool:
    """Returns whether a runner in Python executed operations of a task, or some of them waited for a
    parameter source or a scheduler in Python.
    """
    waited = task.underruns or task.underrun_s or task.scheduler_delay_s
    return task.python_delay is not None or bool(waited)


def _stopped_text(throttling: Mapping[str, object]) -> str:
    throttled_s = format_rate(number(throttling, "throttled_s"))
    return (
        f"a CPU quota stopped {_group(throttling)} for {throttled_s} s, added over its cores: "
        f"{_of_race(throttling)} of the race (limit {THROTTLED_SHARE * 100:.0f} %)"
    )


def _of_race(throttling: Mapping[str, object]) -> str:
    """Returns the part of the race in which the group was stopped: the least if it was stopped on all cores
    at once. Earlier versions did not record their number.
    """
    share, cores = number(throttling, "share"), number(throttling, "cores")
    most = min(share, 1.0)
    text = format_excess(most, THROTTLED_SHARE)
    if cores > 1:
        return f"at least {format_share(share / cores)} and at most {text}"
    return f"up to {text}" if share > most else text


def _group(throttling: Mapping[str, object]) -> str:
    group = throttling.get("group")
    return f"control group {group} of the driver" if isinstance(group, str) else "the driver"
