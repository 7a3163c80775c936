"""The check that nothing was lost: documents the engine acknowledged against documents it counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pacenote.model.race_record import DocumentCheck
from pacenote.model.result import TaskResult
from pacenote.model.work import ActionInFile, ActionLine, Bulk, BulkFile, PythonRunner, PythonSource, TaskWork
from pacenote.operations.registry import find_type
from pacenote.plan.document import Plan, PlannedTask
from pacenote.telemetry.device import Get
from pacenote.telemetry.document_counts import count_documents


def check_documents(
    plan: Plan, results: Sequence[TaskResult], get: Get
) -> tuple[tuple[DocumentCheck, ...], tuple[str, ...]]:
    """Checks every index that the plan adds documents to, and sentences on what could not be counted.

    The driver knows how much of a task's work was acknowledged, not into which index. Where a task has sent
    all its documents and none failed, that is the number of documents in its files; otherwise its indices
    are checked together. Documents that come again under ids that came before are acknowledged like new
    ones, so the engine may have fewer: how many, the driver does not say.
    """
    groups = _joined(_groups(plan, results))
    indices = dict.fromkeys(index for names in groups for index in names)
    if not indices:
        return (), ()
    counted, problems = count_documents(get, indices)
    filled = "" if _starts_empty(plan) else "the race does not delete its indices before it fills them"
    if any(map(_writes_unseen, plan.tasks)):
        filled = "operations of the track's plug-in may add and delete documents, too"
    repeated = _repeated(plan)
    checks = []
    for names, acknowledged in groups.items():
        known = [counted[name] for name in names if name in counted]
        total = sum(known) if len(known) == len(names) else None
        expected = filled or next((repeated[name] for name in names if name in repeated), "")
        checks.append(DocumentCheck(",".join(names), acknowledged, total, expected))
    return tuple(checks), problems


def _joined(groups: Iterable[tuple[tuple[str, ...], int]]) -> dict[tuple[str, ...], int]:
    """Groups that share an index as one, since the engine counts an index only as a whole."""
    joined: dict[tuple[str, ...], int] = {}
    for names, acknowledged in groups:
        if names in joined:
            joined[names] += acknowledged
            continue
        shared = [known for known in joined if set(known) & set(names)]
        together = tuple(dict.fromkeys(index for known in (*shared, names) for index in known))
        joined[together] = acknowledged + sum(joined.pop(known) for known in shared)
    return joined


def _groups(plan: Plan, results: Sequence[TaskResult]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Indices with the documents acknowledged for them, one group per bulk task or, where known, per file."""
    by_name = {result.task: result for result in results}
    for task in plan.tasks:
        result = by_name.get(task.name)
        if not isinstance(task.work, Bulk) or result is None:
            continue
        targets = [_index(file) for file in task.work.files]
        if any(target is None for target in targets):
            continue  # Only the engine knows the indices.
        names = tuple(str(target) for target in targets)
        if _sent_everything(task.work, result):
            for name, file in zip(names, task.work.files, strict=True):
                yield (name,), file.documents
        else:
            yield tuple(dict.fromkeys(names)), result.work.done


def _sent_everything(work: Bulk, result: TaskResult) -> bool:
    planned = sum(file.documents for file in work.files)
    return not work.looped and result.work.failed == 0 and result.work.done == planned


def _index(file: BulkFile) -> str | None:
    if isinstance(file.action, ActionInFile):
        return None
    if isinstance(file.action, ActionLine):
        action = json.loads(file.action.line)
        return str(next(iter(action.values()))["_index"])
    return file.action.index


def _repeated(plan: Plan) -> dict[str, str]:
    """Indices that get documents under ids that came before, each with a sentence that says so."""
    tasks: dict[str, list[PlannedTask]] = {}
    for task in plan.tasks:
        if isinstance(task.work, Bulk) and task.work.conflicts is not None:
            for index in dict.fromkeys(map(_index, task.work.files)):
                tasks.setdefault(str(index), []).append(task)
    repeated = {}
    for index, writers in tasks.items():
        if any(_repeats(task.work) for task in writers):
            names = ", ".join(f"'{task.name}'" for task in writers if _repeats(task.work))
            repeated[index] = f"task {names} sends documents under ids that came before"
        elif len(writers) > 1:
            names = " and ".join(f"'{task.name}'" for task in writers)
            repeated[index] = f"tasks {names} give the same ids"
    return repeated


def _repeats(work: TaskWork) -> bool:
    return (
        isinstance(work, Bulk)
        and work.conflicts is not None
        and (work.looped or work.conflicts.probability > 0)
    )


def _starts_empty(plan: Plan) -> bool:
    """Whether the first bulk task comes after a task that deletes indices."""
    kinds = [_kind(task) for task in plan.tasks]
    first_bulk = kinds.index("bulk") if "bulk" in kinds else len(kinds)
    return "delete-index" in kinds[:first_bulk]


def _writes_unseen(task: PlannedTask) -> bool:
    """Whether code of a plug-in may write documents, which the plan does not tell."""
    if isinstance(task.work, PythonRunner):
        return find_type(task.operation_type) is None
    return isinstance(task.work, PythonSource) and task.operation_type == "bulk"


def _kind(task: PlannedTask) -> str:
    return task.operation_type
