"""Rules for tasks that did not keep to their schedules. Each yields findings, one for all tasks with the same
reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.model.driver_facts import late_joins
from pacenote.model.driver_scheduling import FREE_CORE, core_advice
from pacenote.model.finding import EVERYTHING, Cause, Finding
from pacenote.model.measured_window import measured_window
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import (
    UNSENT_SHARE,
    TargetRate,
    achieved_rate,
    late_share,
    late_share_of_task,
    mean_service_s,
    mean_work,
    missing_share,
    operations_per_s,
    work_per_operation,
)
from pacenote.model.task_kinds import indexes, searches
from pacenote.model.task_observations import POOLS, TaskObservation
from pacenote.units import format_count, format_range, format_rate, format_seconds
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

EXPLAINED_SHARE = 0.5
"""Smallest part of the time that a task lacked for its schedule which what held its clients explains."""

SATURATED_SHARE = 0.90
"""CPU time of the engine, as a share of what it could have had (`TaskObservation.used_share`), from which on
it was limited by it.
"""

SATURATED_QUEUE = 1.0
"""Mean number of requests in the queue of a thread pool from which on its threads were always busy."""

REJECTED_SHARE = 0.01
"""Share of what a task attempted that the engine rejected, above which it could not do more."""

BUSY_SHARE = 0.90
"""Share of its time from which on a client is called always busy."""

EVEN = 1.5
"""How many times as long as the fastest reply the mean one takes at most if nothing but the work for it slows
it.
"""

_REJECTED = 429
"""The HTTP status of a request or a document that an engine rejects because it has too much to do."""

LACKED_SHARE = 0.10
"""Share of the processor time that the engine could have used from which on it may be the reason that others
had it.
"""


class Delays(Struct, frozen=True):
    """What may have kept tasks from their schedules, beside their own results."""

    driver: Mapping[str, object]
    """The driver's report about itself (`driver` in `race.json`)."""

    lacked_shares: Mapping[str, float] = field(default_factory=dict)
    """By task: what other programs and guests had at most while the engine waited for a core, or at least if
    only that is known, as a share of the processor time that it could have used.
    """

    possible_lacked_shares: Mapping[str, float] = field(default_factory=dict)
    """By task: what other programs and guests had of that time, if it is not known whether the engine waited
    for it.
    """

    observed: Mapping[str, TaskObservation] = field(default_factory=dict)
    """By task: what may show whether the engine could do more."""

    accompanied: frozenset[str] = frozenset()
    """The tasks during which another one sent requests."""


class _Slowness(Struct, frozen=True):
    """A reason why a task did not keep to its schedule."""

    text: str
    """The reason; `{replies}` is what is known of the replies."""

    cause: Cause
    """What caused it."""

    advice: str
    """What to do about it."""

    is_result: bool = False
    """Whether the figures are nevertheless those of the engine: neither driver nor machine slowed it."""

    @property
    def doubtful_from(self) -> float | None:
        """What it makes doubtful (`Finding.doubtful_from`): what the engine cannot keep is a result."""
        return None if self.is_result or self.cause == "engine" else EVERYTHING


_ALL_FAILED = _Slowness("all operations failed", "unknown", "correct the cause of the failures")
_NO_ANSWER = _Slowness("no operation was answered", "engine", "look for the reason in the log of the engine")
_SATURATE = (
    "`pacenote saturate` with --task and the track of this race finds the highest rate that it sustains"
)
_SATURATED = _Slowness("the engine is saturated", "engine", f"use a lower rate; {_SATURATE}")
"""Without the signs of it. Tasks with different signs have reasons of their own."""
_FEW_CLIENTS = _Slowness(
    "{replies}",
    "track",
    "use more clients, because these replies are as fast as with one request in flight, or a lower rate",
    is_result=True,
)
_REPLIES_SLOW = _Slowness(
    "{replies}", "engine", f"use more clients, unless the engine is saturated, or a lower rate; {_SATURATE}"
)
_JOINED_LATE = _Slowness(
    "clients were still busy in another part of the parallel element, and skipped what was due until then",
    "track",
    "give the parallel element as many clients as its tasks have together",
    is_result=True,
)
_CONNECTIONS_MISSING = replace(
    _JOINED_LATE,
    text="clients were still busy in another part of the parallel element, and their connections were "
    "missing until then",
)
_ENGINE_WITHOUT_CORE = _Slowness(
    "the engine may have waited for a core that other programs or virtual machines had",
    "machine",
    "stop them, or give the engine cores of its own, and repeat the race",
)
_ENGINE_WAITS_UNKNOWN = _Slowness(
    "other programs or virtual machines had cores of the engine, and whether it waited for them is not known",
    "unknown",
    _ENGINE_WITHOUT_CORE.advice,
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
    "the track's Python code was too slow", "code", "make schedulers, parameter sources and runners faster"
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
        missing = missing_share(task, targets[task.task])
        joins = late_joins(delays.driver, task.index)
        if unsent_by_plugins(task) > backlog(task):
            slowness = _PYTHON_FAILED
        elif joins is not None and late_share(task, joins) >= EXPLAINED_SHARE * missing:
            slowness = _CONNECTIONS_MISSING if task.open_loop else _JOINED_LATE
        else:
            slowness = _slowness(task, missing, delays)
        groups.setdefault(slowness, []).append(task)
    for slowness, group in groups.items():
        rates = [(achieved_rate(task, targets[task.task]), targets[task.task]) for task in group]
        if len(rates) == 1:
            ((achieved, target),) = rates
            what = f"{format_rate(achieved)} of {format_rate(target.value)} {target.unit}/s"
        else:
            kept = (achieved / target.value * 100.0 for achieved, target in rates)
            what = f"{format_range(kept, _whole_percent)} of their target rates"
        asked = {task.task: operations_per_s(task, targets[task.task]) for task in group}
        text = f"{what}: {slowness.text.format(replies=_replies(group, asked))}"
        yield Finding(text, slowness.cause, slowness.advice, names(group), slowness.doubtful_from)


def unsent(tasks: Iterable[TaskResult], delays: Delays) -> Iterator[Finding]:
    """Yields findings about tasks that did not send all operations of their schedules, without those of
    clients whose plug-ins failed.
    """
    groups: dict[_Slowness, list[TaskResult]] = {}
    for task in tasks:
        missing = backlog(task) / max(1, planned(task))
        if missing > UNSENT_SHARE:
            # What clients skip of their own schedules is not unsent.
            joins = late_joins(delays.driver, task.index) if task.open_loop else None
            if joins is not None and late_share_of_task(task, joins) >= EXPLAINED_SHARE * missing:
                slowness = _CONNECTIONS_MISSING
            else:
                slowness = _slowness(task, missing, delays)
            groups.setdefault(slowness, []).append(task)
    for slowness, group in groups.items():
        count, total = sum(map(backlog, group)), sum(map(planned, group))
        asked = {task.task: planned(task) / task.duration_s if task.duration_s else 0.0 for task in group}
        reason = slowness.text.format(replies=_replies(group, asked))
        yield Finding(
            f"{count:,} of {total:,} planned operations were not sent: {reason}",
            slowness.cause,
            slowness.advice,
            names(group),
            slowness.doubtful_from,
        )


def other_work(tasks: Iterable[TaskResult], targets: Mapping[str, TargetRate]) -> Iterator[Finding]:
    """Yields findings about tasks whose operations had other work than their target rates take for
    granted.
    """
    for task in tasks:
        target = targets[task.task]
        expected, had = work_per_operation(target), mean_work(task, target)
        if expected is not None and had is not None:
            yield Finding(
                f"{format_rate(achieved_rate(task, target))} of {format_rate(target.value)} {target.unit}/s: "
                f"the operations of its measured window had {format_rate(had)} {target.unit} each, and those "
                f"of the whole task {format_rate(expected)}",
                "track",
                "state the rate in ops/s, or let the task send all of its data: bulks of small files, and "
                "the last one of a file, are shorter than others",
                names([task]),
            )


def uncounted_backlogs(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about tasks of which more operations may be unsent than were counted."""
    if uncounted := [task for task in tasks if task.unsent_is_least]:
        least = sum(task.accounting.unsent for task in uncounted)
        yield Finding(
            f"how many operations were not sent is unknown (at least {least:,}), "
            "because the scheduler could not be asked for all of them",
            "track",
            "let the scheduler answer quickly, and return times that do not decrease",
            names(uncounted),
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
        if _explains(lacked, missing):
            return _ENGINE_WITHOUT_CORE
        possible = delays.possible_lacked_shares.get(task.task, 0.0)
        return _ENGINE_WAITS_UNKNOWN if _explains(possible, missing) else _slow_replies(task, delays)
    return _ALL_FAILED if task.accounting.failed else _NO_ANSWER


def _slow_replies(task: TaskResult, delays: Delays) -> _Slowness:
    """Returns why the clients waited for replies: that the engine could not do more is only said if there are
    signs of it.
    """
    if signs := " and ".join(_signs(task, delays)):
        return replace(_SATURATED, text=f"{_SATURATED.text}: {signs}")
    is_single = task.clients == 1 and task.task not in delays.accompanied and not _overlaps_itself(task)
    return _FEW_CLIENTS if is_single and _was_always_busy(task) and _is_even(task) else _REPLIES_SLOW


def _overlaps_itself(task: TaskResult) -> bool:
    """Returns whether an operation may have several requests in flight: a composite one, or that of a runner
    in Python that sends more than one.
    """
    sends_more = task.accounting.requests > task.accounting.operations
    return bool(task.parts) or (task.python_delay is not None and sends_more)


def _signs(task: TaskResult, delays: Delays) -> Iterator[str]:
    """Yields what shows that the engine could not do more."""
    observed = delays.observed.get(task.task, TaskObservation())
    if (observed.used_share or 0.0) >= SATURATED_SHARE:
        share = f"{SATURATED_SHARE * 100:.0f} %"
        yield f"on one host, it used at least {share} of the CPU time that it could have had"
    if max(observed.queued.get(pool, 0.0) for pool in _pools(task)) >= SATURATED_QUEUE:
        yield "requests queued for its threads"
    attempted = {
        "operation": task.accounting.operations,
        "document": max(1, task.work.done + task.work.failed),
    }
    rejected: Counter[str] = Counter()
    for group in task.errors:
        if group.status == _REJECTED:
            rejected[group.counted] += group.count
    if any(count > REJECTED_SHARE * attempted[what] for what, count in rejected.items()):
        yield f"it rejected {' and '.join(f'{what}s' for what in sorted(rejected))}"


def _pools(task: TaskResult) -> tuple[str, ...]:
    """Returns the thread pools that do the work of a task; another task may keep the others busy."""
    if indexes(task):
        return ("write",)
    return ("search",) if searches(task) else POOLS


def _replies(tasks: Sequence[TaskResult], asked: Mapping[str, float]) -> str:
    """Returns what is known of replies that clients waited for. If these would have allowed the rate, clients
    that were nearly always busy were not too slow on average, but for a part of the time.
    """
    means_s = [mean_service_s(task) for task in tasks]
    if len(tasks) == 1 and _was_always_busy(tasks[0]) and not _allows(tasks[0], asked):
        task, (mean_s,) = tasks[0], means_s
        verb = "was" if task.clients == 1 else "were"
        return (
            f"its {format_count(task.clients, 'client')} {verb} always busy: replies after "
            f"{format_seconds(mean_s)} allow {format_rate(task.clients / mean_s)} ops/s"
        )
    if len(tasks) > 1 and all(_was_always_busy(task) and not _allows(task, asked) for task in tasks):
        times = format_range(means_s, format_seconds)
        return f"their clients were always busy, with replies after {times}"
    times_ms = [
        times.max_ms
        for task in tasks
        for times in (task.service_time, task.failed_service_time)
        if times is not None
    ]
    longest = f", the longest for {format_seconds(max(times_ms) / 1000)}" if times_ms else ""
    return f"the clients waited for replies{longest}"


def _allows(task: TaskResult, asked: Mapping[str, float]) -> bool:
    """Returns whether the clients of a task could have done what was asked with its mean service time."""
    return task.clients >= asked[task.task] * mean_service_s(task)


def _was_always_busy(task: TaskResult) -> bool:
    """Returns whether the clients of a task waited for replies nearly all the time while it was measured,
    also for those of operations that were due in the warm-up.
    """
    available_s = task.clients * task.window_s
    operations = max(task.window_operations, task.accounting.normal)
    return mean_service_s(task) * operations >= BUSY_SHARE * available_s > 0


def _is_even(task: TaskResult) -> bool:
    """Returns whether the replies took about as long as the fastest one. Of several clients that are always
    busy, this says nothing about replies with few requests in flight: the fastest one waited for others, too.
    """
    times = task.service_time
    return times is not None and times.mean_ms <= EVEN * times.min_ms


def _explains(lacked: float, missing: float) -> bool:
    """Returns whether the share `lacked` of the processor time that an engine could have used would have been
    enough for half of the share `missing` of its operations: with the rest, it did the others.
    """
    if not LACKED_SHARE <= lacked < 1:
        return lacked >= 1
    return (1 - missing) * lacked / (1 - lacked) >= EXPLAINED_SHARE * missing


def _paused_share(task: TaskResult, driver: Mapping[str, object]) -> float:
    """Returns the share of the measured window of a task for which the driver did not run."""
    length_s = measured_window(task).length_s
    return driver_pauses.stopped_s(driver, task) / length_s if length_s else 0.0


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
