"""What the tasks of a report do: what their operation types do, of which this package knows the names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult

WorkKind = Literal["indexing", "searching", "waiting", "other"]
"""What a task does."""

COMPOSITE = "composite"
"""The operation type whose kind is that of its sub-operations."""

KINDS: Mapping[str, WorkKind] = {
    "bulk": "indexing",
    **dict.fromkeys(("search", "paginated-search", "scroll-search", "composite-agg"), "searching"),
    **dict.fromkeys(("sql", "esql", "esql-profile"), "searching"),
    **dict.fromkeys(("submit-async-search", "get-async-search"), "searching"),
    "sleep": "waiting",
    # Their names and units are like those of types that search or index.
    **dict.fromkeys(("delete-async-search", "wait-for-transform", COMPOSITE), "other"),
}
"""What built-in operation types do; of the others, the name and the unit say that they do something else."""

_DOCUMENTS = "docs"

_BULK = "bulk"
"""The word in the name of a type of a plug-in that indexes."""

_SEARCHES = frozenset({"search", "msearch", "query", "queries", "searches", "sql", "agg", "aggs"})
"""Last words of the names of types of plug-ins that search."""

_CHANGES = frozenset({"by", "cancel", "clear", "close", "create", "delete", "put", "register", "update"})
"""Words in the names of types that do not search although their last word is one of `_SEARCHES`."""

_SENT_SHARE = 1 / 20
"""A runner of a plug-in that counts documents does not index them if it sent less than this share of the
bytes that it received: the reply to a bulk has about 200 bytes for each document, while a scan receives
documents.
"""

_WORDS = re.compile("[^a-z0-9]+")


def reported_tasks(record: RaceRecord) -> tuple[TaskResult, ...]:
    """Returns the tasks that reports show: administrative ones only if they failed."""
    return tuple(task for task in record.tasks if task.task not in record.unreported or has_failed(task))


def has_failed(task: TaskResult) -> bool:
    """Returns whether an operation of the task failed."""
    return bool(task.error_rate or task.accounting.failed)


def work_kind(task: TaskResult) -> WorkKind:
    """Returns what a task does. A composite searches if one of its sub-operations does, and what a runner of
    a plug-in does is derived from the name of its type and from the bytes that it sent.
    """
    if task.operation_type == COMPOSITE:
        return "searching" if _any_searches(part.operation_type for part in task.parts) else "other"
    if (known := KINDS.get(task.operation_type)) is not None:
        return known
    words = _WORDS.split(task.operation_type.lower())
    if _names_search(words):
        return "searching"
    is_sent = _BULK in words or task.content_out >= _SENT_SHARE * task.content_in
    return "indexing" if task.unit == _DOCUMENTS and is_sent else "other"


def _any_searches(operation_types: Iterable[str]) -> bool:
    return any(KINDS.get(name) == "searching" for name in operation_types)


def _names_search(words: list[str]) -> bool:
    return words[-1] in _SEARCHES and _CHANGES.isdisjoint(words)


def indexes(task: TaskResult) -> bool:
    """Returns whether a task indexes documents."""
    return work_kind(task) == "indexing"


def searches(task: TaskResult) -> bool:
    """Returns whether a task searches."""
    return work_kind(task) == "searching"


def runs_once(task: TaskResult) -> bool:
    """Returns whether a task has so few operations that a rate says nothing, such as a force merge, or sends
    none, however often it waits.
    """
    kind = work_kind(task)
    is_other = kind == "other" and not task.paced
    return kind == "waiting" or (is_other and task.accounting.operations <= task.clients)


def diagnosed_tasks(record: RaceRecord) -> tuple[TaskResult, ...]:
    """Returns the tasks that are diagnosed: those of the report that were measured and do not run once."""
    return tuple(task for task in reported_tasks(record) if task.window_s > 0 and not runs_once(task))
