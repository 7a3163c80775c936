"""Whether the results of a race may be used: rules for the finished record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pacenote.model import driver_health
from pacenote.model.messages import DEFECT
from pacenote.model.overhead_rules import overhead_reasons
from pacenote.model.race_record import DocumentCheck, RaceRecord, Verdict
from pacenote.model.result import Percentile, TaskResult
from pacenote.units import format_count

LATENESS_SHARE = 0.10
"""Highest acceptable lateness of a paced task as a fraction of its service time, compared at each percentile
of `_COMPARED`. Above this limit, the measurements include the driver's own delays.
"""

_COMPARED = (50.0, 99.0)
"""Percentiles at which lateness and service time are compared."""

UNSENT_SHARE = 0.01
"""Highest acceptable share of planned operations that were not sent: above it, a task did not run at its
target rate.
"""

PLUGIN_SHARE = 0.01
"""Highest acceptable share of planned operations that a plug-in did not execute because it failed."""

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


def determine_verdict(record: RaceRecord) -> Verdict:
    """Returns the verdict on a race that has ended, successfully or not.

    A race is void if an error rate, of the measured operations or of all, is above `max_error_rate`, if
    nothing was measured of a reported task, if it was aborted, interrupted or did not finish, if plug-ins
    failed to execute too many operations, if the driver's counts do not add up, if acknowledged documents are
    missing, or if the machine was suspended.

    It is suspect in test mode, and after late or unsent requests, failures of plug-ins, slow parameter
    sources, lost samples, a driver that was saturated or waited for a core, an unreliable clock or machine,
    additional documents, or documents that could not be counted. Percentiles without enough samples are
    ignored.
    """
    void = tuple(_void_reasons(record))
    suspect = tuple(_suspect_reasons(record))
    if void:
        return Verdict("void", void + suspect)
    return Verdict("suspect", suspect) if suspect else Verdict("valid")


def _void_reasons(record: RaceRecord) -> Iterator[str]:
    if record.aborted:
        yield f"aborted: {record.aborted}"
    if record.interrupted:
        yield "interrupted"
    for task in record.tasks:
        if task.ended_by == "aborted" and not record.aborted:
            yield f"aborted in task '{task.task}'"
        yield from _excessive_error_rate(task, record.max_error_rate)
        if not (record.aborted or record.interrupted or task.task in record.unreported):
            yield from _not_measured(task)
        if not _is_tolerable(task):
            yield _plugin_failures(task)
    if not (record.complete or record.aborted or record.interrupted):
        yield "the race has not finished"
    yield from driver_health.void_reasons(record.driver)
    for check in record.documents:
        if check.is_missing_documents:
            yield _document_difference(check)


def _suspect_reasons(record: RaceRecord) -> Iterator[str]:
    if record.options.test_mode:
        yield "test mode: not a measurement"
    for task in record.tasks:
        yield from _unsent(task)
        yield from (f"task '{task.task}': {reason}" for reason in overhead_reasons(task))
    yield from disturbances(record.tasks, record.driver)
    yield from driver_health.host_reasons(record.driver)
    for check in record.documents:
        if check.difference_expected or check.acknowledged is None:
            continue
        if check.counted is None:
            problem = check.count_problem or "the reason was not recorded"
            yield f"index '{check.index}': documents could not be counted: {problem}"
        elif check.counted > check.acknowledged:
            yield _document_difference(check)


def _document_difference(check: DocumentCheck) -> str:
    return (
        f"index '{check.index}': the engine acknowledged {check.acknowledged} documents "
        f"but counts {check.counted}"
    )


def disturbances(tasks: Iterable[TaskResult], driver: Mapping[str, object]) -> Iterator[str]:
    """Yields the reasons why something other than the engine may have affected the measurements of `tasks`:
    the driver (`driver` in `race.json`), Python code, a slow disk, or the machine.

    Each makes a race suspect, and a measurement of `saturate` void.
    """
    for task in tasks:
        yield from _late(task)
        if _failed_in_plugins(task) and _is_tolerable(task):
            yield _plugin_failures(task)
        yield from _underrun(task)
        yield from _driver_time(task)
        yield from _python_delay(task)
        yield from _lost_samples(task)
        yield from _paused(task, driver)
    yield from driver_health.suspect_reasons(driver)


def _paused(task: TaskResult, driver: Mapping[str, object]) -> Iterator[str]:
    """Reports a task during which the driver did not run: what was due then was sent late, by all clients,
    and the operations that waited behind it are not late themselves.
    """
    paused_s = driver_health.paused_s(driver, task.started_s, task.started_s + task.duration_s)
    share = driver_health.PAUSED_SHARE
    # A long gap is reported with its time and length.
    least_s = max(driver_health.MIN_PAUSED_IN_TASK_S, share * task.duration_s)
    if paused_s > least_s and not driver_health.has_gaps(driver):
        yield (
            f"task '{task.task}': the driver did not run for {paused_s:.2g} s of its {task.duration_s:.3g} s "
            f"(limit {share * 100:.0f} %): its process was stopped, or its virtual machine was paused; "
            "repeat the race"
        )


def _planned(task: TaskResult) -> int:
    """Returns the number of operations that a task should have sent."""
    return task.accounting.operations + task.accounting.unsent


def _failed_in_plugins(task: TaskResult) -> int:
    """Returns the number of operations that failed because a plug-in, or a built-in operation that runs in
    Python, raised an exception.
    """
    return sum(group.count for group in task.errors if group.error_class == "plugin")


def _is_tolerable(task: TaskResult) -> bool:
    """Returns whether plug-ins executed nearly all operations of a task.

    A parameter source that fails cannot go on, so the rest of its operations are unsent.
    """
    failed = _failed_in_plugins(task)
    return not failed or failed + task.accounting.unsent <= PLUGIN_SHARE * _planned(task)


def _plugin_failures(task: TaskResult) -> str:
    unsent = task.accounting.unsent
    return (
        f"task '{task.task}': {_failed_in_plugins(task):,} of {_planned(task):,} planned operations failed "
        f"{_cause_of_failures(task)}{f', and {unsent:,} were not sent' if unsent else ''}"
    )


def _cause_of_failures(task: TaskResult) -> str:
    defects = sum(group.count for group in task.errors if group.is_defect)
    if not defects:
        return "in a plug-in of the track"
    text = f"because of {DEFECT} in an operation, which its error describes"
    own = _failed_in_plugins(task) - defects
    return f"{text} ({defects:,}), or in a plug-in of the track ({own:,})" if own else text


def _excessive_error_rate(task: TaskResult, limit: float) -> Iterator[str]:
    """Reports the error rate of the measured operations or, if that is acceptable, of all operations: a
    warm-up that fails leaves the engine without the data or the caches that are to be measured.
    """
    measured, overall = task.error_rate or 0.0, task.accounting.failed_share
    if measured > limit:
        kind, rate = "error rate", measured
    elif overall > limit:
        kind, rate = "error rate of all operations, warm-up included,", overall
    else:
        return
    yield f"task '{task.task}': {kind} {rate * 100:.4g} % is above the limit of {limit * 100:.4g} %"


def _not_measured(task: TaskResult) -> Iterator[str]:
    """Reports a task without a measured operation, unless another task ended it."""
    if task.accounting.normal or task.ended_by == "completed-by":
        return
    if task.accounting.warmup:
        count = f"{task.accounting.warmup:,}"
        yield (
            f"task '{task.task}': nothing was measured, because it ended in its warm-up, after {count} "
            "operations: shorten the warm-up, or give the task more to do"
        )
    else:
        yield f"task '{task.task}': nothing was measured: no operation ended"


def _unsent(task: TaskResult) -> Iterator[str]:
    """Reports a task that did not send all operations of its schedule."""
    unsent, planned = task.accounting.unsent, _planned(task)
    # After a failure in a plug-in, the engine is not the reason.
    if unsent > UNSENT_SHARE * planned and not _failed_in_plugins(task):
        cause = "the engine is slower than the schedule: use a lower target rate or more clients"
        if _waits_for_source(task):
            cause = "the parameter source or the engine is slower than the schedule: make the source faster"
        elif _explains_unsent(task):
            cause = (
                f"they waited {task.scheduler_delay_s:.3g} s for the scheduler or its parameter source in "
                "Python, which is slower than the schedule: make it faster"
            )
        elif any(_python_delay(task)):
            cause = "the track's Python code or the engine is slower than the schedule"
        yield (
            f"task '{task.task}': {unsent:,} of {planned:,} planned operations were not sent before its end, "
            f"because {cause}"
        )


def _explains_unsent(task: TaskResult) -> bool:
    """Returns whether a task waited for its scheduler as long as its unsent operations would have taken."""
    if task.service_time is None or not task.scheduler_delay_s:
        return False
    return task.scheduler_delay_s * 1000 >= task.accounting.unsent * task.service_time.mean_ms


def _driver_time(task: TaskResult) -> Iterator[str]:
    """Reports a task whose clients spend much of their time in the driver: it may limit the load."""
    driver = task.driver_time
    if driver and driver.operations >= MIN_DRIVER_OPERATIONS and driver.share > DRIVER_TIME_SHARE:
        yield (
            f"task '{task.task}': the driver's own work took {driver.mean_ms:.3g} ms per operation, more "
            f"than {DRIVER_TIME_SHARE * 100:.0f} % of the mean service time {driver.service_ms:.3g} ms, so "
            "the driver may have been the bottleneck: give it more threads and cores"
        )


def _python_delay(task: TaskResult) -> Iterator[str]:
    """Reports a task whose operations waited because code of plug-ins did not let others run."""
    delay = task.python_delay
    if delay is None or delay.operations < MIN_DRIVER_OPERATIONS or delay.mean_ms < MIN_PYTHON_DELAY_MS:
        return
    if delay.share > PYTHON_DELAY_SHARE:
        yield (
            f"task '{task.task}': its operations waited {delay.mean_ms:.3g} ms on average for the track's "
            "Python code, which runs for one operation at a time, more than "
            f"{PYTHON_DELAY_SHARE * 100:.0f} % of the mean service time {delay.service_ms:.3g} ms: let "
            "plug-ins compute less and wait only with await, or use fewer clients"
        )


def _waits_for_source(task: TaskResult) -> bool:
    """Returns whether the clients of a task waited too long for their parameter source."""
    return task.underrun_s > UNDERRUN_SHARE * task.clients * task.duration_s


def _underrun(task: TaskResult) -> Iterator[str]:
    """Reports clients that waited for Python: they generated less load than the track requires."""
    if _waits_for_source(task):
        yield (
            f"task '{task.task}': its clients waited {task.underrun_s:.3g} s for a parameter source written "
            f"in Python, more than {UNDERRUN_SHARE * 100:.0f} % of their time: make the source faster"
        )


def _lost_samples(task: TaskResult) -> Iterator[str]:
    """Reports lost samples: a disk that is too slow for them may also slow down the engine."""
    samples = task.samples
    if samples.lost:
        yield (
            f"task '{task.task}': {samples.lost:,} of {samples.kept + samples.lost + samples.left_out:,} "
            "samples were lost, because the disk was too slow for them or full (keep fewer with --samples), "
            "or because another program changed their file"
        )


def _excessive_lateness(task: TaskResult) -> Iterator[tuple[Percentile, Percentile]]:
    """Yields the percentiles of lateness above the limit, each with that of the service time."""
    if task.lateness is None or task.service_time is None:
        return
    for q in _COMPARED:
        late, service = task.lateness.at(q), task.service_time.at(q)
        if late is None or service is None or not (late.supported and service.supported):
            continue
        if late.ms > LATENESS_SHARE * service.ms:
            yield late, service


def _late(task: TaskResult) -> Iterator[str]:
    for late, service in _excessive_lateness(task) if task.paced else ():
        yield (
            f"task '{task.task}': p{late.q:g} lateness {late.ms:.4g} ms is more than "
            f"{LATENESS_SHARE * 100:.0f} % of the p{late.q:g} service time {service.ms:.4g} ms, so "
            f"{_cause_of_lateness(task, late.q)}"
        )


def _cause_of_lateness(task: TaskResult, q: float) -> str:
    """Returns why a percentile of a task's lateness is above the limit, and what to do."""
    if _waits_for_python(task):
        return (
            "requests were sent too late, because operations waited for the track's Python code: let "
            "plug-ins compute less and wait only with await, or use fewer clients"
        )
    if _waits_for_scheduler(task):
        return (
            "requests were sent too late, because operations waited for the scheduler or its parameter "
            "source in Python: make it faster"
        )
    accounting = task.accounting
    if accounting.reconnects and 100 * accounting.reconnects >= (100 - q) * accounting.operations:
        reopened = format_count(accounting.reconnects, "connection")
        return (
            f"requests were sent too late; {reopened} had to be opened again, for which they waited: find "
            "out what closes the connections, and leave a core to the driver"
        )
    return "the driver sent requests too late: leave a core to it"


def _waits_for_scheduler(task: TaskResult) -> bool:
    """Returns whether waits for the scheduler are at least half of a task's lateness."""
    if task.lateness is None or not task.scheduler_delay_s:
        return False
    return task.scheduler_delay_s * 1000 >= task.accounting.operations * task.lateness.mean_ms / 2


def _waits_for_python(task: TaskResult) -> bool:
    """Returns whether waits for the code of other operations are at least half of a task's lateness."""
    if task.python_delay is None or task.lateness is None:
        return False
    return task.python_delay.mean_ms >= task.lateness.mean_ms / 2
