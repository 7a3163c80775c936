"""The record of a race that runs or was killed: what it is with the results of its journal."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from pacenote.model.finding import Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult, in_plan_order
from pacenote.verdict.determine import determine_verdict


def with_journal(record: RaceRecord, results: Iterable[TaskResult], damage: str) -> RaceRecord:
    """Returns a record with the results of tasks that it does not contain yet, and its new verdict. `damage`
    says what of the journal could not be read; empty if nothing.
    """
    stored = {task.task for task in record.tasks}
    added = tuple(result for result in results if result.task not in stored)
    if not (added or damage):
        return record
    record = replace(record, tasks=in_plan_order(record.tasks + added))
    verdict = determine_verdict(record)
    if damage:
        verdict = replace(verdict, findings=(*verdict.findings, Finding(damage, "machine")))
    return replace(record, verdict=verdict)
