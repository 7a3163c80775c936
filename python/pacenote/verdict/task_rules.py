"""Rules for the results of tasks. Each yields findings, one for all tasks with the same problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.model.driver_scheduling import FREE_CORE, core_advice
from pacenote.model.finding import EVERYTHING, Cause, Finding, by_doubt
from pacenote.model.measured_window import MeasuredWindow, measured_window
from pacenote.model.messages import DEFECT
from pacenote.model.result import Percentile, TaskResult
from pacenote.model.task_kinds import indexes
from pacenote.units import format_count, format_excess, format_range, format_rate, format_seconds
from pacenote.verdict import driver_health, driver_pauses

LATENESS_SHARE = 0.10
"""Highest acceptable lateness of a paced task as a fraction of its service time, compared at each percentile
of `_COMPARED`. Above this limit, the measurements include the driver's own delays.
"""

_COMPARED = (50.0, 99.0)
"""Percentiles at which lateness and service time are compared."""

_REPORTED = (50.0, 90.0, 99.0)
"""Percentiles of which a late task may make some doubtful."""

PLUGIN_SHARE = 0.01
"""Highest acceptable share of planned operations that plug-ins did not execute because they failed."""

DRIVER_TIME_SHARE = 0.10
"""Highest acceptable duration of the driver's own work on an operation as a fraction of its service time."""

MIN_DRIVER_OPERATIONS = 100
"""Number of operations from which the driver's own work is judged."""

PYTHON_DELAY_SHARE = 0.10
"""Highest acceptable mean wait of an operation for the Python code of other operations, as a fraction of its
mean service time.
"""

MIN_PYTHON_DELAY_MS = 0.5
"""Mean wait in milliseconds from which it is judged: Pacenote itself and the client of the engine cause
shorter ones.
"""

UNDERRUN_SHARE = 0.01
"""Highest acceptable share of time that clients wait for a parameter source in Python."""

SILENT_S = 5.0
"""Seconds without the end of an operation from which progress shows them, and from which a race that ended
early says that a task was waiting for a reply.
"""

LESS_RETURNED = "let the runner return less, because all that it returns is kept with its sample"
"""What to do about long work of the driver on what a runner returned."""
_LESS_PYTHON = "let plug-ins compute less and wait only with await, or use fewer clients"


class _Delay(Struct, frozen=True):
    """What requests that were sent late had waited for."""

    text: str
    """The text of the finding; `{reopened}` is the number of connections that were opened again, `{waited}`
    and `{worked}` for how long the driver waited for a core and had one.
    """

    cause: Cause
    """What caused it."""

    advice: str
    """What to do about it."""


_DRIVER_DELAY = _Delay(
    "the driver sent late", "driver", "give the driver more cores, or run the engine on another host"
)
_CORE_DELAY = _Delay(
    "the driver sent late, because it waited for a core",
    "machine",
    FREE_CORE,
)
_PYTHON_DELAY = _Delay(
    "operations waited for the track's Python code and were sent late", "code", _LESS_PYTHON
)
_RUNNER_DELAY = _Delay(
    "Python's own work before the request of a runner made it late",
    "code",
    "use a built-in operation type if the runner only wraps one request, or judge by service time",
)
_SCHEDULER_DELAY = _Delay(
    "operations waited for the scheduler or its parameter source in Python and were sent late",
    "code",
    "make it faster",
)
_SOURCE_DELAY = _Delay(
    "operations waited for a parameter source in Python and were sent late", "code", "make the source faster"
)
_RECONNECT_DELAY = _Delay(
    "{reopened} had to be opened again, and operations that waited for this were sent late",
    "engine",
    "find out what closes the connections, and leave a core to the driver",
)


def excessive_error_rates(tasks: Sequence[TaskResult], limit: float) -> Iterator[Finding]:
    """Yields findings about the error rate of the measured operations or, if that is acceptable, of all
    operations: a warm-up that fails leaves the engine without the data or the caches that are to be measured.
    Tasks that indexed nothing come first, because those after them lack their documents.
    """
    failing = [task for task in tasks if (task.error_rate or 0.0) > limit]
    overall = [task for task in tasks if task not in failing and task.accounting.failed_share > limit]
    if empty := list(filter(_indexed_nothing, failing)):
        rates = (task.error_rate or 0.0 for task in empty)
        finding = _error_finding("of the operations failed", rates, empty, limit)
        yield structs.replace(
            finding, text=f"{finding.text}: no document was indexed, so later tasks lacked them"
        )
    if measured := [task for task in failing if task not in empty]:
        rates = (task.error_rate or 0.0 for task in measured)
        yield _error_finding("of the operations failed", rates, measured, limit)
    if overall:
        rates = (task.accounting.failed_share for task in overall)
        yield _error_finding("of all operations failed, warm-up included", rates, overall, limit)


def caught_failures(tasks: Iterable[TaskResult], limit: float) -> Iterator[Finding]:
    """Yields findings about requests that failed in operations which their runners count as successes."""
    affected = [task for task in tasks if task.caught_failures > limit * task.accounting.requests]
    if affected:
        failed, requests = (
            sum(task.caught_failures for task in affected),
            sum(task.accounting.requests for task in affected),
        )
        yield Finding(
            f"{failed:,} of {format_count(requests, 'request')} failed in operations that count as successes "
            f"(limit {limit * 100:.4g} %)",
            "engine",
            "let the runner raise the error or return success: false, or accept it with --max-error-rate",
            names(affected),
            EVERYTHING,
        )


def _indexed_nothing(task: TaskResult) -> bool:
    return indexes(task) and not task.work.done and not task.accounting.succeeded


def _error_finding(what: str, rates: Iterable[float], tasks: Sequence[TaskResult], limit: float) -> Finding:
    share = format_range(rates, lambda rate: format_excess(rate, limit, ".4g"))
    label, is_defect = _most_frequent(tasks)
    cause: Cause = "track" if label == "plugin" else "engine"
    mostly = f", mostly {label}" if label else ""
    return Finding(
        f"{share} {what} (limit {limit * 100:.4g} %){mostly}",
        "pacenote" if is_defect else cause,
        "correct the cause, which the errors of the report show, or accept them with --max-error-rate",
        names(tasks),
    )


def _most_frequent(tasks: Sequence[TaskResult]) -> tuple[str, bool]:
    """Returns the label of the most frequent failures, and whether they are a defect of Pacenote. Groups
    count documents in some tasks and operations in others, so each is taken as its part of the failed
    operations of its task.
    """
    operations: dict[tuple[str, bool], float] = {}
    for task in tasks:
        whole = sum(group.count for group in task.errors)
        for group in task.errors:
            key = group.label, group.is_defect
            part = max(task.accounting.failed, 1) * group.count / max(whole, 1)
            operations[key] = operations.get(key, 0.0) + part
    return max(operations, key=lambda key: operations[key], default=("", False))


def not_measured(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about tasks without a measured operation, unless another task ended them."""
    empty = [task for task in tasks if not task.accounting.normal and task.ended_by != "completed-by"]
    if behind := [task for task in empty if task.accounting.warmup and task.accounting.unsent]:
        yield Finding(
            "nothing was measured: all operations that were sent until the end were due in the warm-up, and "
            f"{sum(task.accounting.unsent for task in behind):,} later ones were not sent",
            advice="use a lower rate",
            tasks=names(behind),
        )
    if warming := [task for task in empty if task.accounting.warmup and not task.accounting.unsent]:
        yield Finding(
            f"nothing was measured: the warm-up took all {sum(task.accounting.warmup for task in warming):,} "
            "operations",
            "track",
            "shorten the warm-up, or give the task more to do",
            names(warming),
        )
    if idle := [task for task in empty if not task.accounting.warmup]:
        yield Finding("nothing was measured: no operation ended", tasks=names(idle))


def unanswered(tasks: Iterable[TaskResult], wall_s: float) -> Iterator[Finding]:
    """Yields findings about tasks that were waiting for replies when the race ended early, `wall_s` after its
    start, and had not received any for long.
    """
    for task in tasks:
        silent_s = wall_s - task.started_s - task.duration_s
        if task.accounting.unanswered and silent_s >= SILENT_S:
            count = format_count(task.accounting.unanswered, "operation")
            verb = "was" if task.accounting.unanswered == 1 else "were"
            yield Finding(
                f"{count} {verb} unanswered when the race ended, without any reply for "
                f"{format_seconds(round(silent_s))}",
                tasks=(task.task,),
            )


def plugin_failures(tasks: Iterable[TaskResult], *, tolerable: bool) -> Iterator[Finding]:
    """Yields findings about tasks in which plug-ins failed, either tolerably or not."""
    failing = [task for task in tasks if _failed_in_plugins(task) and _is_tolerable(task) == tolerable]
    if own := [task for task in failing if _failed_in_plugins(task) > _defects(task)]:
        failed = sum(_failed_in_plugins(task) - _defects(task) for task in own)
        missing = sum(map(unsent_by_plugins, own))
        and_unsent = f", and {missing:,} were not sent" if missing else ""
        yield Finding(
            f"{failed:,} of {sum(map(planned, own)):,} planned operations failed in a plug-in of the track"
            f"{and_unsent}",
            "track",
            "correct the plug-in: the errors of the report state file and line",
            names(own),
        )
    if defective := [task for task in failing if _defects(task)]:
        failed, of_all = sum(map(_defects, defective)), sum(map(planned, defective))
        yield Finding(
            f"{failed:,} of {of_all:,} planned operations failed because of {DEFECT} in an operation",
            "pacenote",
            "report this bug, with the errors of the report",
            names(defective),
        )


def late(tasks: Iterable[TaskResult], driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields findings about requests that were sent late, by cause and by the percentiles that it affects."""
    groups: dict[tuple[_Delay, tuple[float, ...], float], list[tuple[TaskResult, float]]] = {}
    for task in tasks:
        if above := tuple(_excessive_lateness(task)):
            percentiles = tuple(lateness.q for lateness, _ in above)
            delay = _delay(task, percentiles[0])
            core_times = driver_health.core_times(driver, task)
            if delay is _DRIVER_DELAY and core_times.mostly_waited:
                delay = replace(_CORE_DELAY, text=_waited_text(core_times), advice=core_advice(driver))
            doubtful_from = min(lateness.q for lateness, _ in _excessive_lateness(task, _REPORTED))
            key = (delay, percentiles, doubtful_from)
            groups.setdefault(key, []).append((task, above[-1][0].ms))
    for (delay, percentiles, doubtful_from), delays in groups.items():
        doubtful = " and ".join(f"p{q:g}" for q in percentiles)
        others = "" if 50.0 in percentiles else ", p50 is not"
        times = format_range((delay_ms for _, delay_ms in delays), _milliseconds)
        reopened = format_count(sum(task.accounting.reconnects for task, _ in delays), "connection")
        what = delay.text.format(reopened=reopened)
        yield Finding(
            f"{what} (p{percentiles[-1]:g} {times}, over "
            f"{LATENESS_SHARE * 100:.0f} % of service time): {doubtful} "
            f"{'is' if len(percentiles) == 1 else 'are'} doubtful{others}",
            delay.cause,
            delay.advice,
            names(task for task, _ in delays),
            doubtful_from,
        )


def _waited_text(times: driver_health.CoreTimes) -> str:
    waited, worked = format_seconds(times.waited_s), format_seconds(times.worked_s)
    return f"{_CORE_DELAY.text} for {waited} {times.when}, and had one for {worked}"


def paused(tasks: Iterable[TaskResult], driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields findings about tasks in whose measured window the driver did not run: what was due then was sent
    late, by all clients, and the operations that waited behind it are not late themselves. A long gap is
    reported with its time and length instead.
    """
    by_name: dict[str, MeasuredWindow] = {}
    shares: dict[str, float] = {}
    for task in tasks:
        if driver_pauses.is_paused(driver, task):
            window = measured_window(task)
            by_name[task.task] = window
            shares[task.task] = (
                driver_pauses.paused_s(driver, window.began_s, window.ended_s) / window.length_s
            )
    for alike, doubtful_from in by_doubt(shares):
        spans = _spans(by_name[name] for name in alike)
        total_s = sum(driver_pauses.paused_s(driver, begin_s, end_s) for begin_s, end_s in spans)
        of_s = sum(end_s - begin_s for begin_s, end_s in spans)
        yield Finding(
            f"the driver did not run for about {_two_digits(total_s)} s of {format_rate(of_s)} s (limit "
            f"{driver_pauses.PAUSED_SHARE * 100:.0f} %): {driver_pauses.NOT_RUNNING}",
            "machine",
            driver_pauses.REPEAT_IDLE,
            alike,
            doubtful_from,
        )


def _spans(windows: Iterable[MeasuredWindow]) -> list[tuple[float, float]]:
    """Returns the times in which at least one of these tasks was measured, which may have run side by side:
    begin and end of each, in seconds since the first step began.
    """
    spans: list[tuple[float, float]] = []
    for window in sorted(windows, key=lambda window: window.began_s):
        begin_s, end_s = window.began_s, window.ended_s
        if spans and begin_s <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end_s))
        else:
            spans.append((begin_s, end_s))
    return spans


def underruns(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about clients that waited for a source in Python: they generated less load than the
    track requires.
    """
    if waiting := [task for task in tasks if waits_for_source(task)]:
        waited_s = sum(task.underrun_s for task in waiting)
        yield Finding(
            f"clients waited {format_rate(waited_s)} s for a parameter source in Python, over "
            f"{UNDERRUN_SHARE * 100:.0f} % of their time",
            "code",
            "make the source faster",
            names(waiting),
            EVERYTHING,
        )


def driver_times(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about tasks whose clients spend much of their time in the driver: it may limit the
    load.
    """
    busy = [(task, task.driver_time) for task in tasks if _works_long(task)]
    for has_runner, on, advice in (
        (False, "", "give the driver more threads and cores"),
        (True, " on what the runner returned", LESS_RETURNED),
    ):
        affected = [(task, time) for task, time in busy if time and _has_runner(task) == has_runner]
        if affected:
            taken = format_range((time.mean_ms for _, time in affected), _milliseconds)
            yield Finding(
                f"the driver's own work{on} took {taken} per operation, over "
                f"{DRIVER_TIME_SHARE * 100:.0f} % of service time: it may have been the bottleneck",
                "driver",
                advice,
                names(task for task, _ in affected),
                EVERYTHING,
            )


def python_delays(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about operations that waited because code of plug-ins did not let others run."""
    waiting = [task for task in tasks if _waits_for_python(task)]
    if delays := [task.python_delay.mean_ms for task in waiting if task.python_delay]:
        yield Finding(
            f"operations waited {format_range(delays, _milliseconds)} on average for the track's Python "
            f"code, which runs for one at a time, over {PYTHON_DELAY_SHARE * 100:.0f} % of service time",
            "code",
            _LESS_PYTHON,
            names(waiting),
            EVERYTHING,
        )


def lost_samples(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about lost samples: a disk that is too slow for them may also slow down the engine."""
    if lossy := [task for task in tasks if task.samples.lost]:
        lost = sum(task.samples.lost for task in lossy)
        total = lost + sum(task.samples.kept + task.samples.left_out for task in lossy)
        yield Finding(
            f"{lost:,} of {format_count(total, 'sample')} were lost: the disk was too slow or full, or "
            "another program changed the file",
            "machine",
            "use a faster disk, or keep fewer samples with --samples",
            names(lossy),
        )


def names(tasks: Iterable[TaskResult]) -> tuple[str, ...]:
    """Returns the names of tasks."""
    return tuple(task.task for task in tasks)


def planned(task: TaskResult) -> int:
    """Returns the number of operations that a task should have sent."""
    return task.accounting.operations + task.accounting.unsent


def waits_for_source(task: TaskResult) -> bool:
    """Returns whether the clients of a task waited too long for their parameter source."""
    return task.underrun_s > UNDERRUN_SHARE * task.clients * task.duration_s


def _waits_for_python(task: TaskResult) -> bool:
    delay = task.python_delay
    if delay is None or delay.operations < MIN_DRIVER_OPERATIONS or delay.mean_ms < MIN_PYTHON_DELAY_MS:
        return False
    return delay.share > PYTHON_DELAY_SHARE


def _delay(task: TaskResult, q: float) -> _Delay:
    """Returns what requests of a task that were sent late had waited for, from percentile `q` of lateness."""
    lateness_ms = task.lateness.mean_ms if task.lateness else 0.0
    operations, reconnects = task.accounting.operations, task.accounting.reconnects
    # At least half of the lateness.
    python_ms = task.python_delay.mean_ms if task.python_delay else 0.0
    if python_ms >= max(MIN_PYTHON_DELAY_MS, lateness_ms / 2):
        return _PYTHON_DELAY
    if task.scheduler_delay_s and task.scheduler_delay_s * 1000 >= operations * lateness_ms / 2:
        return _SCHEDULER_DELAY
    if task.underrun_s and task.underrun_s * 1000 >= operations * lateness_ms / 2:
        return _SOURCE_DELAY
    if reconnects and 100 * reconnects >= (100 - q) * operations:
        return _RECONNECT_DELAY
    return _RUNNER_DELAY if runner_work_ms(task) >= lateness_ms / 2 else _DRIVER_DELAY


def runner_work_ms(task: TaskResult) -> float:
    """Returns the mean work of a runner in Python before its first and after its last request, in
    milliseconds, with the wait for Python; 0 if no runner executed the task. The driver's own work is the
    mean of fewer operations, so it may be longer than the rest, which also gives 0.
    """
    if task.python_delay is None or task.processing_time is None or task.service_time is None:
        return 0.0
    driver_ms = task.driver_time.mean_ms if task.driver_time else 0.0
    return max(0.0, task.processing_time.mean_ms - task.service_time.mean_ms - driver_ms)


def _works_long(task: TaskResult) -> bool:
    """Returns whether the driver's own work is a large part of the service time of a task."""
    own = task.driver_time
    return own is not None and own.operations >= MIN_DRIVER_OPERATIONS and own.share > DRIVER_TIME_SHARE


def _has_runner(task: TaskResult) -> bool:
    """Returns whether a runner in Python executed operations of a task that were measured."""
    return task.python_delay is not None


def waits_for_returned(task: TaskResult) -> bool:
    """Returns whether the driver's own work on what the runner of a task returned was long, and explains at
    least half of the waits for Python: each client may wait for this work for all others.
    """
    own, delay = task.driver_time, task.python_delay
    if own is None or delay is None or not _works_long(task):
        return False
    return own.mean_ms * (task.clients - 1) >= delay.mean_ms / 2


def _failed_in_plugins(task: TaskResult) -> int:
    """Returns the number of operations that failed because a plug-in, or a built-in operation that runs in
    Python, raised an exception.
    """
    return sum(group.count for group in task.errors if group.error_class == "plugin")


def _defects(task: TaskResult) -> int:
    """Returns how many of these were built-in operations with a defect."""
    return sum(group.count for group in task.errors if group.is_defect)


def _is_tolerable(task: TaskResult) -> bool:
    """Returns whether plug-ins executed nearly all operations of a task that they were to execute."""
    return _failed_in_plugins(task) + unsent_by_plugins(task) <= PLUGIN_SHARE * planned(task)


def unsent_by_plugins(task: TaskResult) -> int:
    """Returns how many operations of a task may be unsent because parameter sources or schedulers failed: at
    most the shares of their clients. Clients that share a schedule send it while one of them is left.
    """
    failed = min(task.failed_sources, task.clients)
    if task.open_loop and failed < task.clients:
        return 0
    return min(task.accounting.unsent, math.ceil(planned(task) * failed / task.clients))


def backlog(task: TaskResult) -> int:
    """Returns how many operations of a task are unsent for another reason."""
    return task.accounting.unsent - unsent_by_plugins(task)


def _excessive_lateness(
    task: TaskResult, compared: tuple[float, ...] = _COMPARED
) -> Iterator[tuple[Percentile, Percentile]]:
    """Yields the percentiles of lateness above the limit, each with that of the service time, unless latency
    is hardly longer than service time at the same percentile: then other operations are late than those which
    are slow. Latency includes lateness, and is also longer if clients were not free.
    """
    if not task.paced or task.lateness is None or task.service_time is None:
        return
    for q in compared:
        delay, service = task.lateness.at(q), task.service_time.at(q)
        if delay is None or service is None or not (delay.supported and service.supported):
            continue
        latency = task.latency.at(q) if task.latency is not None else None
        longest_ms = (1 + LATENESS_SHARE) * service.ms
        if delay.ms > LATENESS_SHARE * service.ms and (latency is None or latency.ms > longest_ms):
            yield delay, service


def _milliseconds(value: float) -> str:
    return format_seconds(value / 1000.0)


def _two_digits(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else format_rate(value)


TASK_RULES: tuple[Callable[[Sequence[TaskResult]], Iterator[Finding]], ...] = (
    lambda tasks: plugin_failures(tasks, tolerable=True),
    underruns,
    driver_times,
    python_delays,
    lost_samples,
)
"""The rules that find measurements which something other than the engine may have affected."""
