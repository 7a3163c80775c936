"""The check for lost documents: compares the acknowledged documents with those in the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pacenote.model.engine import GetJson
from pacenote.model.race_record import DocumentCheck
from pacenote.model.result import TaskResult
from pacenote.model.work import (
    ActionInFile,
    ActionLine,
    BulkFile,
    BulkWork,
    PythonRunner,
    PythonSource,
    Request,
    TaskWork,
    requests_of,
)
from pacenote.operations.base import OperationType
from pacenote.operations.registry import find_type
from pacenote.plan.document import Plan, PlannedTask
from pacenote.race.document_counts import count_documents

_INDEX_PATH = re.compile(r"/(?:_all|[^_/?][^/?]*)(?:\?.*)?")
"""The path of a request to indices themselves, such as `/logs-*?timeout=1m`."""


_CHANGES_DOCUMENTS = frozenset({
    *("_bulk", "_doc", "_create", "_update"),
    *("_delete_by_query", "_update_by_query", "_reindex", "_restore"),
})
"""Parts of the paths of requests that add or delete documents, unless their method only reads."""

_READING_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class DocumentChecks:
    """The checks of all indices that a race adds documents to."""

    checks: tuple[DocumentCheck, ...] = ()
    """One check per index, or per group of indices whose acknowledged documents are counted together."""

    problems: tuple[str, ...] = ()
    """A message for each index that could not be counted."""


@dataclass(frozen=True, slots=True)
class _Acknowledged:
    """Documents that the engine has acknowledged for one or several indices together."""

    indices: tuple[str, ...]
    documents: int


@dataclass(frozen=True, slots=True)
class _Explanation:
    """Why the engine may count a different number of documents than it acknowledged; empty if it must not."""

    any_number: str = ""
    """Why it may count fewer or more."""

    more: str = ""
    """Why it may count more, but not fewer."""


def check_documents(plan: Plan, results: Sequence[TaskResult], get: GetJson) -> DocumentChecks:
    """Checks every index that the plan adds documents to; `get` reads from the cluster.

    The driver counts how many documents of a task were acknowledged, but not for which index. If a task has
    sent all its documents and none failed, that is the number of documents in its files; otherwise its
    indices are checked together. The engine acknowledges a document whose id was used before like a new one,
    so it may contain fewer documents than it acknowledged; the driver does not count such ids.
    """
    groups = _merge(_acknowledged(plan, results))
    indices = dict.fromkeys(index for group in groups for index in group.indices)
    if not indices:
        return DocumentChecks()
    counted = count_documents(get, indices)
    explanation = _explain_difference(plan)
    repeated = _repeated_ids(plan)
    checks = []
    for group in groups:
        counts = [counted.counts[index] for index in group.indices if index in counted.counts]
        total = sum(counts) if len(counts) == len(group.indices) else None
        ids = next((repeated[index] for index in group.indices if index in repeated), "")
        if total is not None and total < group.documents:
            # Earlier documents explain only additional ones, and repeated ids leave at least one document.
            expected = explanation.any_number or (ids if total else "")
        else:
            expected = explanation.any_number or explanation.more or ids
        checks.append(DocumentCheck(",".join(group.indices), group.documents, total, expected))
    return DocumentChecks(tuple(checks), counted.problems)


def _merge(groups: Iterable[_Acknowledged]) -> list[_Acknowledged]:
    """Joins groups that share an index, because the engine counts an index only as a whole."""
    merged: dict[tuple[str, ...], int] = {}
    for group in groups:
        if group.indices in merged:
            merged[group.indices] += group.documents
            continue
        overlapping = [indices for indices in merged if set(indices) & set(group.indices)]
        union = tuple(dict.fromkeys(index for indices in (*overlapping, group.indices) for index in indices))
        merged[union] = group.documents + sum(merged.pop(indices) for indices in overlapping)
    return [_Acknowledged(indices, documents) for indices, documents in merged.items()]


def _acknowledged(plan: Plan, results: Sequence[TaskResult]) -> Iterator[_Acknowledged]:
    """Yields the acknowledged documents, per file if they are known per file, otherwise per bulk task."""
    by_name = {result.task: result for result in results}
    for task in plan.tasks:
        result = by_name.get(task.name)
        if not isinstance(task.work, BulkWork) or result is None:
            continue
        targets = [_index(file) for file in task.work.files]
        if any(target is None for target in targets):
            continue  # The action lines of the file name the indices.
        names = tuple(str(target) for target in targets)
        if _sent_everything(task.work, result):
            for name, file in zip(names, task.work.files, strict=True):
                yield _Acknowledged((name,), file.documents)
        else:
            yield _Acknowledged(tuple(dict.fromkeys(names)), result.work.done)


def _sent_everything(work: BulkWork, result: TaskResult) -> bool:
    planned = sum(file.documents for file in work.files)
    return not work.looped and result.work.failed == 0 and result.work.done == planned


def _index(file: BulkFile) -> str | None:
    """Returns the index that a file is sent to, or None if action lines in the file name the indices."""
    if isinstance(file.action, ActionInFile):
        return None
    if isinstance(file.action, ActionLine):
        action = json.loads(file.action.line)
        return str(next(iter(action.values()))["_index"])
    return file.action.index


def _repeated_ids(plan: Plan) -> dict[str, str]:
    """Returns the indices that receive documents under ids that were used before, each with the reason."""
    tasks: dict[str, list[PlannedTask]] = {}
    for task in plan.tasks:
        if isinstance(task.work, BulkWork) and task.work.conflicts is not None:
            for index in dict.fromkeys(map(_index, task.work.files)):
                tasks.setdefault(str(index), []).append(task)
    repeated = {}
    for index, writers in tasks.items():
        if any(_repeats_ids(task.work) for task in writers):
            names = ", ".join(f"'{task.name}'" for task in writers if _repeats_ids(task.work))
            repeated[index] = f"task {names} sends documents under ids that were used before"
        elif len(writers) > 1:
            names = " and ".join(f"'{task.name}'" for task in writers)
            repeated[index] = f"tasks {names} use the same ids"
    return repeated


def _repeats_ids(work: TaskWork) -> bool:
    return (
        isinstance(work, BulkWork)
        and work.conflicts is not None
        and (work.looped or work.conflicts.probability > 0)
    )


def _explain_difference(plan: Plan) -> _Explanation:
    """Returns why the numbers may differ for every index.

    The name in a request may be an alias of any index, so requests are not assigned to indices.
    """
    filled = emptied = False
    more = ""
    for task in plan.tasks:
        found = find_type(task.operation_type)
        if _hides_changes(found, task.work):
            return _Explanation(
                f"task '{task.name}' may also add and delete documents: the plan does not show its requests"
            )
        if request := next(filter(_changes_documents, requests_of(task.work)), None):
            path = request.path.partition("?")[0]
            return _Explanation(f"task '{task.name}' also adds or deletes documents: {request.method} {path}")
        if found is not None and (_deletes_indices(task.work) or found.deletes_indices):
            if filled:
                return _Explanation(f"task '{task.name}' deletes indices after documents were added")
            emptied = True
        filled = filled or (found is not None and found.indexes_documents)
        if filled and not emptied:
            more = "the race does not delete its indices before it fills them"
    return _Explanation(more=more)


def _deletes_indices(work: TaskWork) -> bool:
    """Returns whether a request of the work deletes indices. Types that delete templates delete the matching
    indices only if their parameters require it.
    """
    return any(
        request.method == "DELETE" and _INDEX_PATH.fullmatch(request.path) for request in requests_of(work)
    )


def _changes_documents(request: Request) -> bool:
    parts = request.path.partition("?")[0].split("/")
    return request.method not in _READING_METHODS and not _CHANGES_DOCUMENTS.isdisjoint(parts)


def _hides_changes(operation_type: OperationType | None, work: TaskWork) -> bool:
    """Returns whether the plan does not show the requests of an operation that may change documents; the type
    is None for one of a plug-in.
    """
    if not isinstance(work, PythonSource | PythonRunner):
        return False
    return operation_type is None or operation_type.indexes_documents or operation_type.may_change_documents
