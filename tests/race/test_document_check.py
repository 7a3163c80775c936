"""The numbers of acknowledged and counted documents are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pacenote.model.race_record import DocumentCheck
from pacenote.model.result import TaskResult, WorkTotals
from pacenote.model.work import (
    ActionInFile,
    ActionLine,
    ActionWithId,
    BulkFile,
    BulkWork,
    CallSequence,
    Composite,
    ConflictSettings,
    IdOrder,
    IngestShare,
    OnConflict,
    OperationStream,
    PythonRunner,
    PythonSource,
    Request,
    Sleep,
    SubOperation,
)
from pacenote.plan.document import DriverSettings, OnError, Plan, PlannedTask, Target, TimePeriod, Unpaced
from pacenote.race.document_check import DocumentChecks, check_documents
from support.records import task


def bulk(*files: BulkFile, looped: bool = False) -> BulkWork:
    return BulkWork(
        path="/_bulk",
        headers=(),
        files=files,
        bulk_size=10,
        limit=IngestShare(1.0),
        looped=looped,
        conflicts=None,
        retries_on_429=0,
        timeout_ms=None,
    )


def file(index: str | None, documents: int) -> BulkFile:
    action = ActionInFile() if index is None else ActionLine(f'{{"index":{{"_index":"{index}"}}}}')
    return BulkFile(f"/{index}.json", documents, action)


def plan(*works: tuple[str, Any]) -> Plan:
    tasks = tuple(
        PlannedTask(
            name=f"task{number}",
            operation="op",
            operation_type=kind,
            clients=1,
            pacing=Unpaced(),
            bound=TimePeriod(0.0, None),
            ramp_up_s=0.0,
            unit="docs",
            tolerates_errors=False,
            work=work,
        )
        for number, (kind, work) in enumerate(works)
    )
    target = Target(hosts=(), headers=(), timeout_ms=1)
    return Plan("r", 1, target, DriverSettings(0, OnError.CONTINUE), tasks, ())


def result(number: int, done: int, failed: int = 0) -> TaskResult:
    return replace(task(f"task{number}"), work=WorkTotals(done=done, failed=failed))


def engine(counts: dict[str, int]):
    def get(path: str) -> dict[str, Any]:
        _, index, action = path.split("/")
        return {"count": counts[index], "_shards": {"failed": 0}} if action == "_count" else {}

    return get


DELETE = ("delete-index", Sleep(0))


def test_a_task_without_rejections_is_checked_index_by_index():
    work = bulk(file("a", 10), file("b", 20), file("a", 5))
    found = check_documents(plan(DELETE, ("bulk", work)), [result(1, 35)], engine({"a": 15, "b": 19}))
    assert found == DocumentChecks((DocumentCheck("a", 15, 15), DocumentCheck("b", 20, 19)))


def test_a_task_with_rejections_is_checked_as_a_whole():
    work = bulk(file("a", 10), file("b", 20))
    checks = check_documents(
        plan(DELETE, ("bulk", work)), [result(1, 28, failed=2)], engine({"a": 9, "b": 19})
    ).checks
    assert checks == (DocumentCheck("a,b", 28, 28),)


@pytest.mark.parametrize("deletion", ["delete-index", "delete-data-stream"])
def test_lost_documents_are_reported_if_the_target_was_deleted_first(deletion):
    tasks = plan((deletion, Sleep(0)), ("bulk", bulk(file("a", 10))))
    (check,) = check_documents(tasks, [result(1, 10)], engine({"a": 9})).checks
    assert (check.acknowledged, check.counted, check.difference_expected) == (10, 9, "")


@pytest.mark.parametrize(
    ("path", "deletes"),
    [("/logs-*", True), ("/a,b?timeout=1m", True), ("/_template/logs", False), ("/a/_doc/1", False)],
)
def test_deleting_templates_empties_the_indices_only_if_matching_indices_are_deleted(path, deletes):
    deletion = CallSequence((Request("DELETE", "/_index_template/x"), Request("DELETE", path)))
    tasks = plan(("delete-composable-template", deletion), ("bulk", bulk(file("a", 10))))
    (check,) = check_documents(tasks, [result(1, 10)], engine({"a": 11})).checks
    assert bool(check.difference_expected) is not deletes


def test_a_difference_is_expected_if_the_index_is_deleted_only_after_indexing():
    tasks = plan(("bulk", bulk(file("a", 10))), ("delete-data-stream", Sleep(0)))
    (check,) = check_documents(tasks, [result(0, 10)], engine({"a": 11})).checks
    assert check.difference_expected


def test_an_index_that_is_not_deleted_first_must_contain_what_was_acknowledged():
    tasks = plan(("bulk", bulk(file("a", 3))))
    (check,) = check_documents(tasks, [result(0, 3)], engine({"a": 0})).checks
    assert (check.acknowledged, check.counted, check.difference_expected) == (3, 0, "")


def test_an_index_that_is_not_deleted_first_may_contain_more_documents():
    checks = check_documents(plan(("bulk", bulk(file("a", 10)))), [result(0, 10)], engine({"a": 99})).checks
    (check,) = checks
    assert (check.acknowledged, check.counted) == (10, 99)
    assert check.difference_expected


def test_tasks_that_share_an_index_are_checked_together():
    both = plan(DELETE, ("bulk", bulk(file("a", 10), file("b", 20))), ("bulk", bulk(file("b", 5))))
    checks = check_documents(both, [result(1, 28, failed=2), result(2, 5)], engine({"a": 9, "b": 24})).checks
    assert checks == (DocumentCheck("a,b", 33, 33),)


def test_files_with_action_lines_and_tasks_that_did_not_run_are_left_out():
    both = plan(DELETE, ("bulk", bulk(file(None, 10))), ("bulk", bulk(file("a", 10))))
    assert check_documents(both, [result(1, 10)], engine({})) == DocumentChecks()


def test_documents_with_repeated_ids_may_be_missing():
    def with_ids(probability: float, *, looped: bool = False) -> BulkWork:
        conflicts = ConflictSettings(IdOrder.SEQUENTIAL, probability, OnConflict.INDEX, 0.0)
        files = (BulkFile("/a.json", 10, ActionWithId("a")),)
        return replace(bulk(*files, looped=looped), conflicts=conflicts)

    def reason(*works: BulkWork, counted: int) -> str:
        tasks = plan(DELETE, *(("bulk", work) for work in works))
        done = [result(number, 10) for number in range(1, len(works) + 1)]
        (check,) = check_documents(tasks, done, engine({"a": counted})).checks
        assert (check.acknowledged, check.counted) == (10 * len(works), counted)
        return check.difference_expected

    assert reason(with_ids(0.5), counted=7) == "task 'task1' sends documents under ids that were used before"
    assert reason(with_ids(0.0, looped=True), counted=10)
    assert reason(with_ids(0.0), counted=10) == "", "every id is new"
    assert reason(with_ids(0.5), counted=0) == "", "one document has every id"
    both = reason(with_ids(0.0), with_ids(0.0), counted=10)
    assert both == "tasks 'task1' and 'task2' use the same ids"


@pytest.mark.parametrize(
    ("other", "may_change"),
    [
        (("bulk", PythonSource(4)), True),
        (("own-runner", PythonRunner()), True),
        (("raw-request", PythonSource(4)), True),
        (("run-until", PythonRunner()), True),
        (("search", PythonSource(4)), False),
        (("wait-for-transform", PythonRunner()), False),
    ],
)
def test_a_difference_is_expected_if_hidden_requests_may_change_documents(other, may_change):
    tasks = plan(DELETE, ("bulk", bulk(file("a", 5))), other)
    (check,) = check_documents(tasks, [result(1, 5)], engine({"a": 9})).checks
    assert ("does not show" in check.difference_expected) is may_change


@pytest.mark.parametrize(
    ("method", "path", "changes"),
    [
        ("POST", "/a/_delete_by_query?conflicts=proceed", True),
        ("POST", "/_reindex", True),
        ("POST", "/a/_update_by_query", True),
        ("PUT", "/a/_doc/1", True),
        ("DELETE", "/alias/_doc/1", True),
        ("POST", "/_bulk", True),
        ("POST", "/_snapshot/r/s/_restore", True),
        ("GET", "/a/_doc/1", False),
        ("POST", "/a/_search", False),
        ("POST", "/a/_forcemerge", False),
    ],
)
def test_a_difference_is_expected_after_a_request_that_changes_documents(method, path, changes):
    call = Request(method, path)
    streamed = Composite((OperationStream((SubOperation("s", "raw-request", (call,)),)),))
    for calls in ((call,), (Request("GET", "/"), streamed)):
        tasks = plan(DELETE, ("bulk", bulk(file("a", 5))), ("raw-request", CallSequence(calls)))
        (check,) = check_documents(tasks, [result(1, 5)], engine({"a": 4})).checks
        assert (check.acknowledged, check.counted) == (5, 4)
        expected = f"task 'task2' also adds or deletes documents: {method} {path.partition('?')[0]}"
        assert check.difference_expected == (expected if changes else "")


def test_a_difference_is_expected_if_indices_are_deleted_after_indexing():
    work = bulk(file("a", 10))
    tasks = plan(DELETE, ("bulk", work), DELETE, ("bulk", work))
    (check,) = check_documents(tasks, [result(1, 10), result(3, 10)], engine({"a": 10})).checks
    assert (check.acknowledged, check.counted) == (20, 10)
    assert check.difference_expected == "task 'task2' deletes indices after documents were added"
