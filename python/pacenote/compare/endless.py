"""Percentiles of latency that do not decide, because they are those of operations without a latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pacenote.compare.estimate import Measured
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Cause, Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.unserved import UNSERVED, is_endless
from pacenote.verdict.determine import schedule_findings


def endless_percentiles(measured: Iterable[Measured]) -> Iterator[Finding]:
    """Yields which percentiles of latency that are to decide cannot, because they have no end in a race."""
    tasks_of: dict[tuple[float, Cause], dict[str, None]] = {}
    for measurement in measured:
        metric = measurement.metric.metric
        if measurement.metric.role == "primary" and measurement.is_endless and not measurement.is_void:
            cause = _cause([race.record for race in measurement.races.all], metric.task, metric.q)
            tasks_of.setdefault((metric.q, cause), {})[metric.task] = None
    for (q, cause), tasks in tasks_of.items():
        text = f"p{q:g} of latency does not decide: more than {100 - q:.3g} % of the operations {UNSERVED}"
        yield Finding(f"{text} in a race", cause, "compare their throughput", tuple(tasks))


def _cause(records: Iterable[RaceRecord], task: str, q: float) -> Cause:
    """Returns why a percentile of the latency of a task is endless; unknown if races differ in it."""
    causes = {
        cause
        for record in records
        for result in record.tasks
        if result.task == task and is_endless(result, q)
        for cause in _causes_in(record, result)
    }
    return causes.pop() if len(causes) == 1 else "unknown"


def _causes_in(record: RaceRecord, task: TaskResult) -> set[Cause]:
    """Returns why operations of a task have no latency: of those that were not sent, if they are the most,
    what the rules of the verdict say, which tell an engine that did not reply from a driver or a track.
    """
    counts = task.accounting
    if counts.unsent <= counts.failed + counts.unanswered:
        failures = Counter[Cause]({"engine": counts.unanswered})
        for group in task.errors:
            if group.counted == "operation":
                failures[_cause_of(group)] += group.count
        return {failures.most_common(1)[0][0]}
    schedules = schedule_findings(record)
    findings = (*schedules.missed, *schedules.unsent)
    said: set[Cause] = {finding.cause for finding in findings if task.task in finding.tasks}
    return said or {"unknown"}


def _cause_of(failures: FailureGroup) -> Cause:
    if failures.is_defect:
        return "pacenote"
    return "track" if failures.error_class == "plugin" else "engine"
