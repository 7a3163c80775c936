"""Whether the tasks of two races do the same: those of one name, by operation type, unit, target rate,
documents and, if times decide, by the work of an operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from pacenote.compare.deciding import is_scheduled
from pacenote.compare.operation_work import differs
from pacenote.compare.task_validity import MAX_DATA_CHANGE
from pacenote.model.driving_options import target_text
from pacenote.model.imported import imported_tasks
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import operation_work
from pacenote.model.task_kinds import indexes, reported_tasks
from pacenote.units import format_count, format_rate

_BOUNDED = ("iterations", "source")
"""Ends of tasks whose number of documents is that of the track, not that of the engine's speed."""


class TaskWork(Struct, frozen=True):
    """What a task of a race does; what is not known is empty."""

    operation_type: str
    """The operation type."""

    unit: str
    """The unit of its work."""

    documents: int | None
    """The documents that it was to index, whether they failed or not; None unless the track alone determines
    them, so that a time that ended does not.
    """

    target: str = ""
    """Its target rate, or that it has none."""

    operation_work: float | None = None
    """The mean work of an operation if its throughput is that of its schedule, so that times decide: they are
    those of operations of this work. None otherwise.
    """


def task_works(record: RaceRecord) -> Mapping[str, TaskWork]:
    """Returns what the reported tasks of a race do, by name."""
    if record.imported is not None:
        tasks = imported_tasks(record.imported.values)
        return {task.task: TaskWork("", task.unit, None) for task in tasks}
    return {
        task.task: TaskWork(
            task.operation_type,
            task.unit,
            task.work.done + task.work.failed if indexes(task) and task.ended_by in _BOUNDED else None,
            _target(task, record),
            operation_work(task) if is_scheduled(task, record) else None,
        )
        for task in reported_tasks(record)
    }


def other_work(own: Mapping[str, TaskWork], usual: Mapping[str, TaskWork]) -> str:
    """Returns what the first of the tasks does that does something else than the usual one of its name; empty
    if all that both have do the same.
    """
    common = (name for name in own if name in usual)
    texts = (f"{name} {text}" for name in common for text in _differences(own[name], usual[name]))
    return next(texts, "")


def _target(task: TaskResult, record: RaceRecord) -> str:
    """Returns the target rate of a task; empty if a scheduler, or a rate that was not recorded, paces it."""
    target = record.targets.get(task.task)
    return "" if target is None and task.paced else target_text(target)


def _differences(own: TaskWork, usual: TaskWork) -> Iterator[str]:
    for what in ("operation_type", "unit"):
        value, expected = getattr(own, what), getattr(usual, what)
        if value and expected and value != expected:
            yield f"has the {what.replace('_', ' ')} {value} instead of {expected}"
    if own.target and usual.target and own.target != usual.target:
        rate = own.target if own.target == target_text(None) else f"the target rate {own.target}"
        yield f"has {rate} instead of {usual.target}"
    if own.operation_work and usual.operation_work and differs(own.operation_work, usual.operation_work):
        work = f"{format_rate(own.operation_work)} {own.unit}"
        yield f"has operations of {work} instead of {format_rate(usual.operation_work)}"
    if own.documents and usual.documents and _differ(own.documents, usual.documents):
        count = format_count(own.documents, "document")
        yield f"indexes {count} instead of {usual.documents:,}"


def _differ(first: int, second: int) -> bool:
    return 1 - min(first, second) / max(first, second) > MAX_DATA_CHANGE
