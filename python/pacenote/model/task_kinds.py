"""What the tasks of a report do. Reports do not know operation types, only their names and units."""

from __future__ import annotations

from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult

_DOCUMENTS = "docs"
_SEARCH_WORDS = ("search", "sql", "agg")
"""Parts of the names of the operation types that search."""


def reported_tasks(record: RaceRecord) -> tuple[TaskResult, ...]:
    """Returns the tasks that reports show: administrative ones only if they failed."""
    return tuple(task for task in record.tasks if task.task not in record.unreported or has_failed(task))


def has_failed(task: TaskResult) -> bool:
    """Returns whether an operation of the task failed."""
    return bool(task.error_rate or task.accounting.failed)


def indexes(task: TaskResult) -> bool:
    """Returns whether a task indexes documents."""
    return task.unit == _DOCUMENTS


def searches(task: TaskResult) -> bool:
    """Returns whether a task searches."""
    named = any(word in task.operation_type for word in _SEARCH_WORDS)
    return named and not indexes(task) and not task.operation_type.startswith("delete-")


def runs_once(task: TaskResult) -> bool:
    """Returns whether a task has so few operations that a rate says nothing, such as a force merge."""
    return not (indexes(task) or searches(task) or task.paced) and task.accounting.operations <= task.clients


def diagnosed_tasks(record: RaceRecord) -> tuple[TaskResult, ...]:
    """Returns the tasks that are diagnosed: those of the report that were measured and do not run once."""
    return tuple(task for task in reported_tasks(record) if task.window_s > 0 and not runs_once(task))
