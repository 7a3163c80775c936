"""The check for lost documents: compares the acknowledged documents with those in the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from urllib.parse import parse_qs, unquote

from msgspec import Struct

from pacenote.model.document_checks import DocumentCheck, UncheckedDocuments, index_label
from pacenote.model.engine import GetJson
from pacenote.model.finding import Cause
from pacenote.model.printable import shortened
from pacenote.model.result import TaskResult
from pacenote.model.task_kinds import indexes
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
from pacenote.plan.client_documents import client_documents, largest_bulk
from pacenote.plan.document import Plan, PlannedTask
from pacenote.race.document_counts import CheckStopped, DocumentCounts, LimitedReads, count_documents
from pacenote.race.index_names import NO_PIPELINE, ResolvedName, depends_on_date, resolve_names
from pacenote.race.ingest_pipelines import removing_pipeline

_INDEX_PATH = re.compile(r"/(?:_all|[^_/?][^/?]*)(?:\?.*)?")
"""The path of a request to indices themselves, such as `/logs-*?timeout=1m`."""


_CHANGES_DOCUMENTS = frozenset({
    *("_bulk", "_doc", "_create", "_update"),
    *("_delete_by_query", "_update_by_query", "_reindex", "_restore"),
})
"""Parts of the paths of requests that add or delete documents, unless their method only reads."""

_NAMES_OTHER_INDICES = frozenset({"_bulk", "_reindex", "_restore"})
"""Parts of the paths of requests whose bodies may name the indices."""

_READING_METHODS = ("GET", "HEAD")

_MAX_TEXT = 2_000
"""Characters of a problem or an explanation: `race.json` has each several times."""


class _Acknowledged(Struct, frozen=True):
    """Documents that the engine has acknowledged for one or several names together."""

    names: tuple[str, ...]
    """Names of indices, aliases and data streams, as the bulks contain them."""

    documents: int

    pipelines: frozenset[str] = frozenset()
    """The ingest pipelines that the bulks select."""

    unknown: int = 0
    """Further documents, at most, that were sent in bulks without a reply."""


class _Change(Struct, frozen=True):
    """A request that adds or deletes documents other than those that the engine has acknowledged."""

    reason: str
    """The sentence that explains a difference."""

    names: tuple[str, ...] = ()
    """The names and patterns in its path; empty if they are not known."""

    deletes_indices: bool = False
    """Whether it deletes the indices, so that the engine cannot say any more what the names referred to."""


class _Explanation(Struct, frozen=True):
    """Why the engine may count a different number of documents than it acknowledged."""

    changes: tuple[_Change, ...] = ()
    """Why it may count fewer or more."""

    more: str = ""
    """Why it may count more, but not fewer; empty if it must not."""


def check_documents(
    plan: Plan, results: Sequence[TaskResult], get: GetJson, *, starts_empty: bool = False
) -> tuple[DocumentCheck, ...]:
    """Checks every index that the plan adds documents to; `get` reads from the cluster. `starts_empty` is
    whether the cluster had no indices before the race.

    Returns a check per name in the bulks, or per group of names whose documents can only be counted together.
    The driver counts how many documents of a task were acknowledged, but not for which index. If a task has
    sent all its documents and none failed, that is the number of documents in its files; otherwise its
    indices are checked together. The engine acknowledges a document whose id was used before like a new one,
    so it may contain fewer documents than it acknowledged; the driver does not count such ids. It may have
    indexed those of a bulk that has no reply, so any number from none to all of them is explained. What is
    not read within `CHECK_LIMIT_S`, and `INDEX_LIMIT_S` for each index, is a problem of the checks.
    """
    get = LimitedReads(get)
    acknowledged = list(_acknowledged(plan, results))
    resolved = resolve_names(get, dict.fromkeys(name for group in acknowledged for name in group.names))
    groups = _merge(acknowledged, resolved)
    if not groups:
        return ()
    indices = {
        index
        for resolved_name in resolved.values()
        if not resolved_name.problem
        for index in resolved_name.indices
    }
    get.extend(len(indices))
    comparison = _Comparison(
        get=get,
        resolved=resolved,
        counted=count_documents(get, sorted(indices)),
        explanation=_explain_difference(plan, starts_empty=starts_empty),
        repeated=_repeated_ids(plan),
        pipelines={name for group in groups for name in group.pipelines}.union(
            *(resolved_name.pipelines for resolved_name in resolved.values())
        ),
    )
    return tuple(map(comparison.check, groups))


def unchecked_documents(plan: Plan, results: Sequence[TaskResult]) -> Iterator[UncheckedDocuments]:
    """Yields the tasks whose documents `check_documents` does not check, because the plan does not show to
    which indices they were sent.
    """
    by_name = {result.task: result for result in results}
    for task in plan.tasks:
        result = by_name.get(task.name)
        if result is not None and result.work.done and (reason := _why_unchecked(task, result)):
            yield UncheckedDocuments(task.name, result.work.done, reason)


def _why_unchecked(task: PlannedTask, result: TaskResult) -> str:
    """Returns why the documents of a task cannot be checked; empty if they can, or if there are none."""
    if isinstance(task.work, BulkWork):
        return "the action lines of its files name the indices" if _has_own_actions(task.work) else ""
    operation_type = find_type(task.operation_type)
    sends = indexes(result) if operation_type is None else operation_type.indexes_documents
    if sends and isinstance(task.work, PythonSource):
        return "a parameter source written in Python supplies its bulks"
    return "a runner written in Python sends them" if sends and isinstance(task.work, PythonRunner) else ""


class _Comparison(Struct, frozen=True):
    """Everything that is known about the indices after a race."""

    get: GetJson
    resolved: Mapping[str, ResolvedName]
    counted: DocumentCounts
    explanation: _Explanation
    repeated: Mapping[str, str]
    """Indices that receive documents under ids that were used before, each with the reason."""
    pipelines: Set[str]
    """The ingest pipelines of all indices and bulks."""

    def check(self, group: _Acknowledged) -> DocumentCheck:
        """Compares the documents of a group with those that the engine counts. A difference is neither
        explained nor a fault if the time for reading what may explain it was over.
        """
        try:
            return self._compared(group)
        except CheckStopped as error:
            return _check_of(group, None, problem=error.message, cause="pacenote")

    def _compared(self, group: _Acknowledged) -> DocumentCheck:
        if name := next((name for name in group.names if self.resolved[name].problem), ""):
            problem = f"{name}: {self.resolved[name].problem}"
            return _check_of(group, None, self._change(group), problem=problem, cause="pacenote")
        indices = _indices(group, self.resolved)
        uncounted = sorted(indices - self.counted.counts.keys())
        if uncounted:
            # What the engine refuses says more than that the time was over for others.
            first = next((index for index in uncounted if index not in self.counted.stopped), uncounted[0])
            problem = f"{first}: {self.counted.problems[first]}"
            cause: Cause = "pacenote" if first in self.counted.stopped else "engine"
            # Only the absence of an index may be explained; what exists can be counted.
            absent = self.counted.missing.issuperset(uncounted)
            expected = self._why_fewer(group, 0) if absent else ""
            if expected:
                return _check_of(group, None, expected)
            return _check_of(group, None, problem=problem, cause=cause)
        total = sum(self.counted.counts[index] for index in indices)
        if total < group.documents and (dated := next(filter(depends_on_date, group.names), "")):
            problem = f"the name {dated} refers to a different index when the date changes"
            return _check_of(group, None, self._change(group), problem=problem)
        expected = self._why_fewer(group, total) if total < group.documents else self._why_more(group, total)
        return _check_of(group, total, expected)

    def _why_fewer(self, group: _Acknowledged, total: int) -> str:
        """Returns why an index may have fewer documents than were acknowledged, or an empty string."""
        # Earlier documents explain only additional ones, and repeated ids leave at least one document.
        if reason := self._change(group) or (self._repeated_ids(group) if total else ""):
            return reason
        pipelines = group.pipelines.union(*(self.resolved[name].pipelines for name in group.names))
        pipeline = removing_pipeline(self.get, pipelines)
        return pipeline and f"pipeline '{pipeline}' may drop documents or send them to another index"

    def _why_more(self, group: _Acknowledged, total: int) -> str:
        """Returns why an index may have more documents than were acknowledged, or an empty string. Repeated
        ids explain only fewer documents; if the number is as it should be, they are still mentioned.
        """
        if reason := self._change(group) or self.explanation.more:
            return reason
        if total <= group.documents + group.unknown:
            return self._repeated_ids(group)
        # Any pipeline may send documents here.
        pipeline = removing_pipeline(self.get, self.pipelines)
        return pipeline and f"pipeline '{pipeline}' may send documents of other indices here"

    def _change(self, group: _Acknowledged) -> str:
        """Returns the request that may change documents of a group, or an empty string."""
        return next(
            (change.reason for change in self.explanation.changes if self._affects(change, group)), ""
        )

    def _affects(self, change: _Change, group: _Acknowledged) -> bool:
        names = {*group.names, *_indices(group, self.resolved)}
        if not change.names or any(fnmatchcase(name, pattern) for name in names for pattern in change.names):
            return True
        if change.deletes_indices:
            # An alias or a data stream may have had a deleted index.
            return not all(self.resolved[name].is_index(name) for name in group.names)
        resolutions = resolve_names(self.get, change.names).values()
        return not all(
            resolution.is_known and names.isdisjoint(resolution.indices) for resolution in resolutions
        )

    def _repeated_ids(self, group: _Acknowledged) -> str:
        return next((self.repeated[name] for name in group.names if name in self.repeated), "")


def _check_of(
    group: _Acknowledged,
    counted: int | None,
    expected: str = "",
    *,
    problem: str = "",
    cause: Cause = "engine",
) -> DocumentCheck:
    label = index_label(group.names)
    problem, expected = shortened(problem, _MAX_TEXT), shortened(expected, _MAX_TEXT)
    return DocumentCheck(label, group.documents, counted, expected, problem, cause, group.unknown)


def _merge(groups: Iterable[_Acknowledged], resolved: Mapping[str, ResolvedName]) -> list[_Acknowledged]:
    """Joins groups that share an index, because the engine counts an index only as a whole."""
    merged: list[_Acknowledged] = []
    for group in groups:
        indices = _indices(group, resolved)
        overlapping = [other for other in merged if indices & _indices(other, resolved)]
        joined = (*overlapping, group)
        union = _Acknowledged(
            tuple(dict.fromkeys(name for part in joined for name in part.names)),
            sum(part.documents for part in joined),
            frozenset().union(*(part.pipelines for part in joined)),
            sum(part.unknown for part in joined),
        )
        position = merged.index(overlapping[0]) if overlapping else len(merged)
        merged[position:] = [union, *(other for other in merged[position:] if other not in overlapping)]
    return merged


def _indices(group: _Acknowledged, resolved: Mapping[str, ResolvedName]) -> set[str]:
    return {index for name in group.names for index in resolved[name].indices}


def _acknowledged(plan: Plan, results: Sequence[TaskResult]) -> Iterator[_Acknowledged]:
    """Yields the acknowledged documents, per file if they are known per file, otherwise per bulk task."""
    by_name = {result.task: result for result in results}
    for task in plan.tasks:
        result = by_name.get(task.name)
        if not isinstance(task.work, BulkWork) or result is None:
            continue
        if _has_own_actions(task.work):
            continue
        names = tuple(str(_index(file)) for file in task.work.files)
        pipelines = frozenset(parse_qs(task.work.path.partition("?")[2]).get("pipeline", ())) - {NO_PIPELINE}
        if _sent_everything(task.work, result):
            for name, file in zip(names, task.work.files, strict=True):
                yield _Acknowledged((name,), file.documents, pipelines)
        else:
            unknown = _unknown_documents(task.work, task.clients, result)
            yield _Acknowledged(tuple(dict.fromkeys(names)), result.work.done, pipelines, unknown)


def _sent_everything(work: BulkWork, result: TaskResult) -> bool:
    planned = sum(file.documents for file in work.files)
    return not work.looped and result.work.failed == 0 and result.work.done == planned


def _unknown_documents(work: BulkWork, clients: int, result: TaskResult) -> int:
    """Returns how many documents of a task were sent, at most, without a reply that says what became of them:
    those of failed bulks, and those of bulks that the end of the task or of the race cut off, of which a
    client has one.
    """
    failed = sum(group.count for group in result.errors if group.has_unknown_outcome)
    if not all(file.documents for file in work.files):
        return failed + result.accounting.unanswered * work.bulk_size
    parts = (client_documents(work, client, clients) for client in range(clients))
    largest = sorted((largest_bulk(part, work.bulk_size) for part in parts), reverse=True)
    return failed + sum(largest[: result.accounting.unanswered])


def _has_own_actions(work: TaskWork) -> bool:
    """Returns whether action lines in the files of a bulk name the indices, which the plan does not show."""
    return isinstance(work, BulkWork) and any(_index(file) is None for file in work.files)


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


def _explain_difference(plan: Plan, *, starts_empty: bool) -> _Explanation:
    """Returns why the numbers may differ."""
    filled = emptied = False
    changes: list[_Change] = []
    more = ""
    for task in plan.tasks:
        operation_type = find_type(task.operation_type)
        changes += _changes(task, operation_type)
        if operation_type is not None and (_deletes_indices(task.work) or operation_type.deletes_indices):
            if filled:
                reason = f"task '{task.name}' deletes indices after documents were added"
                changes.append(_Change(reason, _deleted_names(task.work), deletes_indices=True))
            emptied = True
        filled = filled or (operation_type is not None and operation_type.indexes_documents)
        if filled and not emptied and not starts_empty:
            more = "the race does not delete its indices before it fills them"
    return _Explanation(tuple(changes), more)


def _changes(task: PlannedTask, operation_type: OperationType | None) -> Iterator[_Change]:
    """Yields the changes of a task that are not those of its bulks."""
    if _hides_changes(operation_type, task.work):
        yield _Change(
            f"task '{task.name}' may also add and delete documents: the plan does not show its requests"
        )
    if _has_own_actions(task.work):
        yield _Change(f"task '{task.name}' may also add and delete documents: its files contain action lines")
    for request in filter(_changes_documents, requests_of(task.work)):
        path = request.path.partition("?")[0]
        yield _Change(
            f"task '{task.name}' also adds or deletes documents: {request.method} {path}",
            () if _NAMES_OTHER_INDICES.intersection(path.split("/")) else _names(request),
        )


def _deleted_names(work: TaskWork) -> tuple[str, ...]:
    """Returns the names of the indices that a work deletes, or nothing if they are not all known."""
    deletions = [request for request in requests_of(work) if request.method == "DELETE"]
    names = [_names(request) for request in deletions if _INDEX_PATH.fullmatch(request.path)]
    return tuple(name for names_of_request in names for name in names_of_request) if all(names) else ()


def _names(request: Request) -> tuple[str, ...]:
    """Returns the names and patterns of indices in a path, or nothing if they are not known."""
    first = unquote(request.path.partition("?")[0].split("/")[1])
    if request.placeholder or first.startswith("_"):
        return ()
    names = tuple(first.split(","))
    return () if any(not name or name.startswith("-") or "<" in name for name in names) else names


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
