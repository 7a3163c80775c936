"""The check that nothing was lost: documents the engine acknowledged against documents it counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pacenote.model.race import DocumentCheck
from pacenote.model.result import TaskResult
from pacenote.model.work import ActionLine, Bulk, BulkFile
from pacenote.plan.document import Plan, PlannedTask
from pacenote.telemetry.device import Get
from pacenote.telemetry.document_counts import count_documents


def check_documents(
    plan: Plan, results: Sequence[TaskResult], get: Get
) -> tuple[tuple[DocumentCheck, ...], tuple[str, ...]]:
    """Checks every index that the plan adds documents to, and sentences on what could not be counted.

    The driver knows how much of a task's work was acknowledged, not into which index. Where a task has sent
    all its documents and none failed, that is the number of documents in its files; otherwise its indices
    are checked together.
    """
    groups = _joined(_groups(plan, results))
    indices = dict.fromkeys(index for names in groups for index in names)
    if not indices:
        return (), ()
    counted, problems = count_documents(get, indices)
    expected = "" if _starts_empty(plan) else "the race does not delete its indices before it fills them"
    checks = []
    for names, acknowledged in groups.items():
        known = [counted[name] for name in names if name in counted]
        total = sum(known) if len(known) == len(names) else None
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
            continue  # Only the engine knows the indices, or how many documents came again.
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
    if not isinstance(file.action, ActionLine):
        return None
    action = json.loads(file.action.line)
    target = next(iter(action.values()))["_index"]
    return str(target)


def _starts_empty(plan: Plan) -> bool:
    """Whether the first bulk task comes after a task that deletes indices."""
    kinds = [_kind(task) for task in plan.tasks]
    first_bulk = kinds.index("bulk") if "bulk" in kinds else len(kinds)
    return "delete-index" in kinds[:first_bulk]


def _kind(task: PlannedTask) -> str:
    return task.operation_type
