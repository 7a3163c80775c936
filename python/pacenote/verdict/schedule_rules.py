"""Rules for tasks that did not keep to their schedules. Each yields findings, one for all tasks with the same
reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pacenote.model.driver_scheduling import FREE_CORE, core_advice
from pacenote.model.finding import EVERYTHING, Cause, Finding
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import TargetRate, achieved_rate, missing_share
from pacenote.units import format_range, format_rate
from pacenote.verdict import driver_health, driver_pauses
from pacenote.verdict.task_rules import (
    LESS_RETURNED,
    backlog,
    names,
    planned,
    runner_work_ms,
    unsent_by_plugins,
    waits_for_returned,
)

UNSENT_SHARE = 0.01
"""Highest acceptable share of planned operations that were not sent: above it, a task did not run at its
target rate.
"""

EXPLAINED_SHARE = 0.5
"""Smallest part of the time that a task lacked for its schedule which what held its clients explains."""


LACKED_SHARE = 0.10
"""Share of the processor time that the engine could have used from which on it may be the reason that others
had it.
"""


@dataclass(frozen=True, slots=True)
class Delays:
    """What may have kept tasks from their schedules, beside their own results."""

    driver: Mapping[str, object]
    """The driver's report about itself (`driver` in `race.json`)."""

    lacked_shares: Mapping[str, float] = field(default_factory=dict)
    """By task: what other programs and guests had at most while the engine waited for a core, or at least if
    only that is known, as a share of the processor time that it could have used.
    """


@dataclass(frozen=True, slots=True)
class _Slowness:
    """A reason why a task did not keep to its schedule."""

    text: str
    """The reason."""

    cause: Cause
    """What caused it."""

    advice: str
    """What to do about it."""

    @property
    def doubtful_from(self) -> float | None:
        """What it makes doubtful (`Finding.doubtful_from`): what the engine cannot keep is a result."""
        return None if self.cause == "engine" else EVERYTHING


_ALL_FAILED = _Slowness("all operations failed", "unknown", "correct the cause of the failures")
_NO_ANSWER = _Slowness("no operation was answered", "engine", "look for the reason in the log of the engine")
_ENGINE_SLOW = _Slowness(
    "the engine is saturated, and latency is mostly waiting time",
    "engine",
    "use a lower rate or more clients; `pacenote saturate` with --task and the track of this race finds the "
    "highest rate that it sustains",
)
_ENGINE_WITHOUT_CORE = _Slowness(
    "the engine waited for a core that other programs or virtual machines had",
    "machine",
    "stop them, or give the engine cores of its own, and repeat the race",
)
_NOT_RUNNING = _Slowness(
    f"the driver did not run for part of the time ({driver_pauses.NOT_RUNNING})",
    "machine",
    driver_pauses.REPEAT_IDLE,
)
_WITHOUT_CORE = _Slowness(
    "the driver could not send more, because it waited for a core", "machine", FREE_CORE
)
_DRIVER_SLOW = _Slowness(
    "the driver could not send more", "driver", "leave cores to the driver, or give it more"
)
_RETURNED_SLOW = _Slowness(
    "the driver's own work on what the runner returned took too long", "driver", LESS_RETURNED
)
_PYTHON_SLOW = _Slowness(
    "the track's Python code was too slow", "track", "make schedulers, parameter sources and runners faster"
)
_PYTHON_FAILED = _Slowness(
    "parameter sources or schedulers of clients failed",
    "track",
    "correct them: the errors of the report state file and line",
)


def missed_targets(
    tasks: Iterable[TaskResult], targets: Mapping[str, TargetRate], delays: Delays
) -> Iterator[Finding]:
    """Yields findings about tasks that missed their target rates; `targets` has the rate of each."""
    groups: dict[_Slowness, list[TaskResult]] = {}
    for task in tasks:
        if unsent_by_plugins(task) > backlog(task):
            slowness = _PYTHON_FAILED
        else:
            slowness = _slowness(task, missing_share(task, targets[task.task]), delays)
        groups.setdefault(slowness, []).append(task)
    for slowness, group in groups.items():
        rates = [(achieved_rate(task, targets[task.task]), targets[task.task]) for task in group]
        if len(rates) == 1:
            ((achieved, target),) = rates
            what = f"{format_rate(achieved)} of {format_rate(target.value)} {target.unit}/s"
        else:
            kept = (achieved / target.value * 100.0 for achieved, target in rates)
            what = f"{format_range(kept, _whole_percent)} of their target rates"
        text = f"{what}: {slowness.text}"
        yield Finding(text, slowness.cause, slowness.advice, names(group), slowness.doubtful_from)


def unsent(tasks: Iterable[TaskResult], delays: Delays) -> Iterator[Finding]:
    """Yields findings about tasks that did not send all operations of their schedules, without those of
    clients whose plug-ins failed.
    """
    groups: dict[_Slowness, list[TaskResult]] = {}
    for task in tasks:
        missing = backlog(task) / max(1, planned(task))
        if missing > UNSENT_SHARE:
            groups.setdefault(_slowness(task, missing, delays), []).append(task)
    for slowness, group in groups.items():
        count, total = sum(map(backlog, group)), sum(map(planned, group))
        yield Finding(
            f"{count:,} of {total:,} planned operations were not sent: {slowness.text}",
            slowness.cause,
            slowness.advice,
            names(group),
            slowness.doubtful_from,
        )


def uncounted_backlogs(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about tasks of which more operations may be unsent than were counted."""
    if found := [task for task in tasks if task.unsent_is_least]:
        least = sum(task.accounting.unsent for task in found)
        yield Finding(
            f"how many operations were not sent is unknown (at least {least:,}), "
            "because the scheduler could not be asked for all of them",
            "track",
            "let the scheduler answer quickly, and return times that do not decrease",
            names(found),
        )


def _slowness(task: TaskResult, missing: float, delays: Delays) -> _Slowness:
    """Returns what slowed a task of which the share `missing` of its operations was not done in time.

    The clients lacked the same share of their time. What held them for half of this time or more is the
    reason; if it was not the machine, Python code or the driver, they waited for the engine,
    which may have waited for the machine in turn.
    """
    explained, driver = EXPLAINED_SHARE * missing, delays.driver
    if _paused_share(task, driver) >= explained:
        return _NOT_RUNNING
    if _share_of_clients(task, _plugins_s(task)) >= explained:
        return _PYTHON_SLOW
    if _share_of_clients(task, _plugins_s(task) + _delay_s(task)) >= explained:
        return _RETURNED_SLOW if waits_for_returned(task) else _PYTHON_SLOW
    if _share_of_clients(task, _driver_s(task)) >= explained:
        waited = driver_health.core_times(driver, task).mostly_waited
        return replace(_WITHOUT_CORE, advice=core_advice(driver)) if waited else _DRIVER_SLOW
    if task.accounting.succeeded:
        lacked = delays.lacked_shares.get(task.task, 0.0)
        return _ENGINE_WITHOUT_CORE if _explains(lacked, missing) else _ENGINE_SLOW
    return _ALL_FAILED if task.accounting.failed else _NO_ANSWER


def _explains(lacked: float, missing: float) -> bool:
    """Returns whether the share `lacked` of the processor time that an engine could have used would have been
    enough for half of the share `missing` of its operations: with the rest, it did the others.
    """
    if not LACKED_SHARE <= lacked < 1:
        return lacked >= 1
    return (1 - missing) * lacked / (1 - lacked) >= EXPLAINED_SHARE * missing


def _paused_share(task: TaskResult, driver: Mapping[str, object]) -> float:
    """Returns the share of a task for which the driver did not run."""
    return driver_pauses.stopped_s(driver, task) / task.duration_s if task.duration_s else 0.0


def _share_of_clients(task: TaskResult, held_s: float) -> float:
    """Returns the share of the time of all clients of a task in which `held_s` seconds passed."""
    available_s = task.clients * task.duration_s
    return held_s / available_s if available_s else 0.0


def _plugins_s(task: TaskResult) -> float:
    """Returns the time for which the clients waited for schedulers and parameter sources, in seconds."""
    return task.scheduler_delay_s + task.underrun_s


def _delay_s(task: TaskResult) -> float:
    """Returns the time for which the clients waited for the Python code of others, in seconds."""
    delay_ms = task.python_delay.mean_ms if task.python_delay else 0.0
    return delay_ms * task.accounting.operations / 1000.0


def _driver_s(task: TaskResult) -> float:
    """Returns the time for which the driver held the clients, in seconds: operations were sent late although
    they waited neither for a connection nor for Python, or the driver worked on them, which overlaps.
    """
    operations = task.accounting.operations
    lateness_ms = (task.lateness.mean_ms if task.lateness else 0.0) - runner_work_ms(task)
    late_s = lateness_ms * operations / 1000.0 - task.connecting_s - _plugins_s(task)
    worked_ms = task.driver_time.mean_ms if task.driver_time else 0.0
    return max(late_s, worked_ms * operations / 1000.0)


def _whole_percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 1 else "less than 1 %"
