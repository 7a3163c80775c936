"""The numbers of acknowledged and counted documents are compared."""

from __future__ import annotations

import time
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.model.document_checks import DocumentCheck, UncheckedDocuments
from pacenote.model.failure_group import FailureGroup
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
from pacenote.net.reply import FailedStatus
from pacenote.plan.document import DriverSettings, OnError, Plan, PlannedTask, Target, TimePeriod, Unpaced
from pacenote.race.conclusion import checked_documents
from pacenote.race.document_check import check_documents, unchecked_documents
from pacenote.store.race_store import RaceStore
from support.records import record, task


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


def with_clients(plan: Plan, clients: int) -> Plan:
    return replace(plan, tasks=tuple(replace(task, clients=clients) for task in plan.tasks))


def result(number: int, done: int, failed: int = 0) -> TaskResult:
    return structs.replace(task(f"task{number}"), work=WorkTotals(done=done, failed=failed))


def engine(counts: dict[str, int]):
    def get(path: str) -> dict[str, Any]:
        _, index, action = path.split("/")
        return {"count": counts[index], "_shards": {"failed": 0}} if action == "_count" else {}

    return get


DELETE = ("delete-index", Sleep(0))


def test_a_task_without_rejections_is_checked_index_by_index():
    work = bulk(file("a", 10), file("b", 20), file("a", 5))
    checks = check_documents(plan(DELETE, ("bulk", work)), [result(1, 35)], engine({"a": 15, "b": 19}))
    assert checks == (DocumentCheck("a", 15, 15), DocumentCheck("b", 20, 19))


def test_a_task_with_rejections_is_checked_as_a_whole():
    work = bulk(file("a", 10), file("b", 20))
    tasks = plan(DELETE, ("bulk", work))
    checks = check_documents(tasks, [result(1, 28, failed=2)], engine({"a": 9, "b": 19}))
    assert checks == (DocumentCheck("a,b", 28, 28),)


def test_a_race_with_many_data_streams_is_stored_and_read_with_the_first_names(tmp_path):
    names = [f"{number:02}-logs-of-a-quite-usual-length" for number in range(40)]
    work = bulk(*(file(name, 10) for name in names))
    counts = dict.fromkeys(names, 10)
    (check,) = check_documents(plan(DELETE, ("bulk", work)), [result(1, 398, failed=2)], engine(counts))
    store = RaceStore(tmp_path)
    store.create(record(complete=False)).finish(record(documents=(check,)))
    race = store.load("race-1")
    assert race.documents == (check,)
    assert race.telemetry_errors == record().telemetry_errors
    assert check.index.startswith(", ".join(names[:8]))
    assert check.index.endswith(" and 32 more")
    assert check.label == check.index
    assert (check.names, check.unnamed) == (tuple(names[:8]), 32)
    # Earlier versions stored all names: their figures have the same label.
    assert DocumentCheck(",".join(names), 398, 400).label == check.label


UNANSWERED = [
    FailureGroup("timeout", "no complete response within 1 s", None, 40, 0.0, 1.0, "documents"),
    FailureGroup("reset", "connection closed", None, 20, 0.0, 1.0, "documents"),
    FailureGroup("http-status", "bad gateway", 502, 10, 0.0, 1.0, "documents"),
]
REFUSED = [
    FailureGroup("bulk-item", "mapper_parsing_exception", 400, 5, 0.0, 1.0, "documents"),
    FailureGroup("http-status", "rejected", 429, 4, 0.0, 1.0, "documents"),
    FailureGroup("connect", "refused", None, 1, 0.0, 1.0, "documents"),
]


@pytest.mark.parametrize(
    ("counted", "is_missing", "is_additional"),
    [(889, True, False), (890, False, False), (930, False, False), (980, False, False), (981, False, True)],
)
def test_documents_of_bulks_without_a_reply_may_be_in_the_index_or_not(counted, is_missing, is_additional):
    counts = structs.replace(task("task1").accounting, unanswered=2)
    sent = structs.replace(result(1, 890, failed=80), errors=(*UNANSWERED, *REFUSED), accounting=counts)
    sends = with_clients(plan(DELETE, ("bulk", bulk(file("a", 1_000)))), 2)
    (check,) = check_documents(sends, [sent], engine({"a": counted}))
    # 70 in bulks that failed without a reply, and at most 10 in each of those that were cut off.
    assert check == DocumentCheck("a", 890, counted, unknown=90)
    assert (check.is_missing_documents, check.has_additional_documents) == (is_missing, is_additional)


def test_a_name_of_too_many_indices_is_not_counted():
    asked = []

    def get(path: str) -> dict[str, Any]:
        asked.append(path)
        if path.startswith("/all/_settings"):
            return {f"i{number}": {"settings": {}} for number in range(1_001)}
        return {} if "_settings" in path else {"count": 10}

    tasks = plan(DELETE, ("bulk", bulk(file("all", 10), file("b", 10))))
    problem = "all: it refers to 1,001 indices, and Pacenote counts at most 1,000"
    assert check_documents(tasks, [result(1, 20)], get) == (
        DocumentCheck("all", 10, None, "", problem, "pacenote"),
        DocumentCheck("b", 10, 10),
    )
    assert len(asked) == 4


def test_the_time_of_the_check_is_a_limit_of_pacenote_and_a_refusal_one_of_the_engine(
    monkeypatch: pytest.MonkeyPatch,
):
    now_s = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)

    def get(path: str) -> dict[str, Any]:
        nonlocal now_s
        if path == "/a/_refresh":
            raise EngineError("closed")
        now_s += 300.0 if path == "/b/_refresh" else 0.0
        return {"count": 10}

    tasks = plan(DELETE, ("bulk", bulk(*(file(name, 10) for name in "abc"))))
    checks = check_documents(tasks, [result(1, 30)], get)
    over = "the time for counting, 126 s, was over"
    assert [(check.count_problem, check.problem_cause) for check in checks] == [
        ("a: closed", "engine"),
        (f"b: {over}", "pacenote"),
        (f"c: {over}", "pacenote"),
    ]


def test_documents_are_not_explained_by_what_was_not_read_in_time(monkeypatch: pytest.MonkeyPatch):
    """A pipeline that could not be read for another reason may have dropped them."""
    now_s = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)  # Two minutes of replies.

    def get(path: str) -> dict[str, Any]:
        nonlocal now_s
        now_s += 300.0 if path == "/a/_count" else 0.0
        return settings("a", default_pipeline="p") if "_settings" in path else {"count": 3}

    tasks = plan(DELETE, ("bulk", bulk(file("a", 10))))
    over = "the time for counting, 122 s, was over"
    assert check_documents(tasks, [result(1, 10)], get) == (
        DocumentCheck("a", 10, None, "", over, "pacenote"),
    )


def test_an_error_of_the_check_is_a_problem_of_all_indices():
    def defective(_path: str) -> dict[str, Any]:
        raise ZeroDivisionError("division by zero")

    tasks = plan(DELETE, ("bulk", bulk(file("a", 10), file("b", 10))))
    (check,) = checked_documents(tasks, [result(1, 20)], defective)
    assert check.is_unchecked
    assert check.count_problem == "a defect of Pacenote: ZeroDivisionError: division by zero"
    assert check.problem_cause == "pacenote"
    # Without an error, the result is that of the check.
    assert checked_documents(tasks, [result(1, 20)], engine({"a": 10, "b": 10})) == (
        DocumentCheck("a", 10, 10),
        DocumentCheck("b", 10, 10),
    )


@pytest.mark.parametrize("deletion", ["delete-index", "delete-data-stream"])
def test_lost_documents_are_reported_if_the_target_was_deleted_first(deletion):
    tasks = plan((deletion, Sleep(0)), ("bulk", bulk(file("a", 10))))
    (check,) = check_documents(tasks, [result(1, 10)], engine({"a": 9}))
    assert (check.acknowledged, check.counted, check.difference_expected) == (10, 9, "")


@pytest.mark.parametrize(
    ("path", "deletes"),
    [("/logs-*", True), ("/a,b?timeout=1m", True), ("/_template/logs", False), ("/a/_doc/1", False)],
)
def test_deleting_templates_empties_the_indices_only_if_matching_indices_are_deleted(path, deletes):
    deletion = CallSequence((Request("DELETE", "/_index_template/x"), Request("DELETE", path)))
    tasks = plan(("delete-composable-template", deletion), ("bulk", bulk(file("a", 10))))
    (check,) = check_documents(tasks, [result(1, 10)], engine({"a": 11}))
    assert bool(check.difference_expected) is not deletes


def test_additional_documents_are_not_expected_in_a_cluster_that_was_empty():
    tasks = plan(("bulk", bulk(file("a", 10))))
    for counted in (10, 11):
        (check,) = check_documents(tasks, [result(0, 10)], engine({"a": counted}), starts_empty=True)
        assert (check.counted, check.difference_expected) == (counted, "")
        assert check_documents(tasks, [result(0, 10)], engine({"a": counted}))[0].difference_expected


def test_a_difference_is_expected_if_the_index_is_deleted_only_after_indexing():
    tasks = plan(("bulk", bulk(file("a", 10))), ("delete-data-stream", Sleep(0)))
    (check,) = check_documents(tasks, [result(0, 10)], engine({"a": 11}))
    assert check.difference_expected


def test_an_index_that_is_not_deleted_first_must_contain_what_was_acknowledged():
    tasks = plan(("bulk", bulk(file("a", 3))))
    (check,) = check_documents(tasks, [result(0, 3)], engine({"a": 0}))
    assert (check.acknowledged, check.counted, check.difference_expected) == (3, 0, "")


def test_an_index_that_is_not_deleted_first_may_contain_more_documents():
    checks = check_documents(plan(("bulk", bulk(file("a", 10)))), [result(0, 10)], engine({"a": 99}))
    (check,) = checks
    assert (check.acknowledged, check.counted) == (10, 99)
    assert check.difference_expected


def test_tasks_that_share_an_index_are_checked_together():
    both = plan(DELETE, ("bulk", bulk(file("a", 10), file("b", 20))), ("bulk", bulk(file("b", 5))))
    checks = check_documents(both, [result(1, 28, failed=2), result(2, 5)], engine({"a": 9, "b": 24}))
    assert checks == (DocumentCheck("a,b", 33, 33),)


def test_files_with_action_lines_and_tasks_that_did_not_run_are_left_out():
    both = plan(DELETE, ("bulk", bulk(file(None, 10))), ("bulk", bulk(file("a", 10))))
    assert check_documents(both, [result(1, 10)], engine({})) == ()


@pytest.mark.parametrize(
    ("kind", "work", "unit", "reason"),
    [
        ("bulk", bulk(file(None, 10)), "docs", "the action lines of its files name the indices"),
        ("bulk", bulk(file("a", 7), file(None, 3)), "docs", "the action lines of its files name the indices"),
        ("bulk", PythonSource(4), "docs", "a parameter source written in Python supplies its bulks"),
        ("bulk", PythonRunner(), "docs", "a runner written in Python sends them"),
        ("own-runner", PythonRunner(), "docs", "a runner written in Python sends them"),
        ("own-runner", PythonRunner(), "ops", ""),
        ("search", PythonSource(4), "ops", ""),
        ("bulk", bulk(file("a", 10)), "docs", ""),
    ],
)
def test_documents_whose_index_the_plan_does_not_show_are_said_to_be_unchecked(kind, work, unit, reason):
    tasks = plan(DELETE, (kind, work))
    results = [structs.replace(result(1, 10), unit=unit, operation_type=kind)]
    expected = [UncheckedDocuments("task1", 10, reason)] if reason else []
    assert list(unchecked_documents(tasks, results)) == expected
    assert list(unchecked_documents(tasks, [])) == []
    assert list(unchecked_documents(tasks, [structs.replace(result(1, 0), unit=unit)])) == []
    checked = bool(check_documents(tasks, results, engine({"a": 10})))
    assert checked == (not reason and kind == "bulk")


def test_action_lines_in_files_may_change_the_documents_of_every_index():
    tasks = plan(DELETE, ("bulk", bulk(file("a", 5))), ("bulk", bulk(file(None, 3))))
    (check,) = check_documents(tasks, [result(1, 5), result(2, 3)], engine({"a": 4}))
    assert check.difference_expected == (
        "task 'task2' may also add and delete documents: its files contain action lines"
    )


def test_documents_with_repeated_ids_may_be_missing():
    def with_ids(probability: float, *, looped: bool = False) -> BulkWork:
        conflicts = ConflictSettings(IdOrder.SEQUENTIAL, probability, OnConflict.INDEX, 0.0)
        files = (BulkFile("/a.json", 10, ActionWithId("a")),)
        return replace(bulk(*files, looped=looped), conflicts=conflicts)

    def reason(*works: BulkWork, counted: int) -> str:
        tasks = plan(DELETE, *(("bulk", work) for work in works))
        done = [result(number, 10) for number in range(1, len(works) + 1)]
        (check,) = check_documents(tasks, done, engine({"a": counted}))
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
    (check,) = check_documents(tasks, [result(1, 5)], engine({"a": 9}))
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
        (check,) = check_documents(tasks, [result(1, 5)], engine({"a": 4}))
        assert (check.acknowledged, check.counted) == (5, 4)
        expected = f"task 'task2' also adds or deletes documents: {method} {path.partition('?')[0]}"
        assert check.difference_expected == (expected if changes else "")


def test_a_difference_is_expected_if_indices_are_deleted_after_indexing():
    work = bulk(file("a", 10))
    tasks = plan(DELETE, ("bulk", work), DELETE, ("bulk", work))
    (check,) = check_documents(tasks, [result(1, 10), result(3, 10)], engine({"a": 10}))
    assert (check.acknowledged, check.counted) == (20, 10)
    assert check.difference_expected == "task 'task2' deletes indices after documents were added"


class FakeEngine:
    """Answers from a table of replies by path; a reply that is an error is raised."""

    def __init__(self, replies: dict[str, Any]) -> None:
        self.replies = replies

    def get(self, path: str) -> Any:
        name = path.partition("?")[0]
        reply = self.replies.get(name, {} if name.endswith("_refresh") else missing(name))
        if isinstance(reply, Exception):
            raise reply
        return {"count": reply, "_shards": {"failed": 0}} if isinstance(reply, int) else reply


def missing(path: str) -> FailedStatus:
    return FailedStatus(f"GET {path} failed with status 404: no such index", 404)


def settings(*indices: str, **values: str) -> dict[str, Any]:
    """Returns a reply about the settings of indices; `values` are the pipelines of each."""
    own = {f"index.{name}": value for name, value in values.items()}
    return {index: {"settings": {"index.uuid": "u", **own}} for index in indices}


def checks_of(replies: dict[str, Any], *works: BulkWork, first: Any = DELETE) -> tuple[DocumentCheck, ...]:
    """Returns the checks of bulk tasks whose documents were all acknowledged."""
    results = [
        result(number, sum(each.documents for each in work.files)) for number, work in enumerate(works, 1)
    ]
    return check_documents(plan(first, *(("bulk", work) for work in works)), results, FakeEngine(replies).get)


def test_an_alias_and_its_index_are_counted_once_and_together():
    replies = {
        "/alias/_settings": settings("logs-1"),
        "/logs-1/_settings": settings("logs-1"),
        "/logs-1/_count": 12,
    }
    work = bulk(file("alias", 10), file("logs-1", 5))
    assert checks_of(replies, work) == (DocumentCheck("alias,logs-1", 15, 12),)


def test_the_indices_of_a_data_stream_are_counted_together():
    names = (".ds-logs-1", ".ds-logs-2")
    replies = {"/logs/_settings": settings(*names), "/.ds-logs-1/_count": 6, "/.ds-logs-2/_count": 4}
    assert checks_of(replies, bulk(file("logs", 10))) == (DocumentCheck("logs", 10, 10),)


DROP = {"p": {"processors": [{"set": {"field": "a", "value": 1}}, {"drop": {"if": "ctx.a == 1"}}]}}
SET = {"p": {"processors": [{"set": {"field": "a", "value": 1}}]}}


@pytest.mark.parametrize("setting", ["default_pipeline", "final_pipeline"])
@pytest.mark.parametrize(("definition", "explains"), [(DROP, True), (SET, False)])
def test_a_pipeline_of_an_index_that_drops_documents_explains_fewer_in_that_index(
    setting, definition, explains
):
    replies = {
        "/a/_settings": settings("a", **{setting: "p"}),
        "/b/_settings": settings("b", **{setting: "_none"}),
        "/_ingest/pipeline/p": definition,
        "/a/_count": 3,
        "/b/_count": 4,
    }
    a, b = checks_of(replies, bulk(file("a", 10), file("b", 10)))
    expected = "pipeline 'p' may drop documents or send them to another index" if explains else ""
    assert (a.counted, a.difference_expected) == (3, expected)
    assert (b.counted, b.difference_expected) == (4, "")


def test_a_pipeline_that_bulks_select_explains_fewer_documents_of_their_indices():
    replies = {"/_ingest/pipeline/p": DROP, "/a/_count": 3, "/b/_count": 4}
    selecting = replace(bulk(file("a", 10)), path="/_bulk?pipeline=p&timeout=1m")
    a, b = checks_of(replies, selecting, replace(bulk(file("b", 10)), path="/_bulk?pipeline=_none"))
    assert a.difference_expected
    assert not b.difference_expected


def test_a_pipeline_that_sends_documents_elsewhere_explains_more_in_other_indices():
    replies = {
        "/a/_settings": settings("a", default_pipeline="p"),
        "/_ingest/pipeline/p": {"p": {"processors": [{"reroute": {"dataset": "b"}}]}},
        "/a/_count": 3,
        "/b/_count": 17,
    }
    a, b = checks_of(replies, bulk(file("a", 10), file("b", 10)))
    assert a.difference_expected
    assert b.difference_expected == "pipeline 'p' may send documents of other indices here"


def test_an_index_that_cannot_be_counted_has_no_explanation():
    refused = EngineError("GET /a/_count failed with status 403: no permission")
    # The race does not delete the index first, which explains only additional documents.
    (check,) = checks_of({"/a/_count": refused}, bulk(file("a", 10)), first=("sleep", Sleep(0)))
    assert check == DocumentCheck("a", 10, None, "", f"a: {refused.message}")
    (check,) = checks_of({}, bulk(file("a", 10)), first=("sleep", Sleep(0)))
    assert check.count_problem == "a: GET /a/_count failed with status 404: no such index"


def test_an_index_that_is_deleted_at_the_end_need_not_exist():
    tasks = plan(("bulk", bulk(file("a", 10))), DELETE)
    (check,) = check_documents(tasks, [result(0, 10)], FakeEngine({}).get)
    assert check.difference_expected == "task 'task1' deletes indices after documents were added"
    refused = {"/a/_count": EngineError("closed")}
    (check,) = check_documents(tasks, [result(0, 10)], FakeEngine(refused).get)
    assert (check.difference_expected, check.count_problem) == ("", "a: closed")


def test_fewer_documents_under_a_name_with_a_date_are_not_taken_for_lost():
    name = "<logs-{now/d}>"
    work = bulk(BulkFile("/f.json", 10, ActionWithId(name)))
    path = "/%3Clogs-%7Bnow%2Fd%7D%3E"
    assert checks_of({f"{path}/_count": 10}, work)[0].counted == 10
    (check,) = checks_of({f"{path}/_settings": settings("logs-2"), "/logs-2/_count": 4}, work)
    assert (check.counted, check.difference_expected) == (None, "")
    assert check.count_problem == f"the name {name} refers to a different index when the date changes"


def with_another_task(replies: dict[str, Any], method: str, path: str) -> DocumentCheck:
    """Returns the check of index `a`, which has lost documents, after a race with this request."""
    other = ("raw-request" if method != "DELETE" else "delete-index", CallSequence((Request(method, path),)))
    tasks = plan(DELETE, ("bulk", bulk(file("a", 10))), other)
    known = {"/a/_settings": settings("a"), "/a/_count": 4}
    (check,) = check_documents(tasks, [result(1, 10)], FakeEngine({**known, **replies}).get)
    return check


@pytest.mark.parametrize(
    ("path", "explains"),
    [
        ("/a/_doc/1", True),
        ("/a*/_delete_by_query", True),
        ("/alias/_doc/1", True),
        ("/hidden/_doc/1", True),
        ("/b,alias/_update_by_query", True),
        ("/<a-{now}>/_doc", True),
        ("/*,-a/_delete_by_query", True),
        ("/b/_bulk", True),
        ("/_reindex", True),
        ("/b/_doc/1", False),
        ("/b/_delete_by_query?conflicts=proceed", False),
        ("/gone/_doc/1", False),
    ],
)
def test_a_request_explains_a_difference_only_of_indices_that_it_may_change(path, explains):
    replies = {
        "/alias/_settings": settings("a"),
        "/b/_settings": settings("b"),
        "/hidden/_settings": EngineError("no permission"),
    }
    assert bool(with_another_task(replies, "POST", path).difference_expected) is explains


@pytest.mark.parametrize(
    ("path", "explains"),
    [("/a", True), ("/b,a?timeout=1m", True), ("/*", True), ("/_all", True), ("/b", False)],
)
def test_the_deletion_of_another_index_explains_no_difference(path, explains):
    assert bool(with_another_task({}, "DELETE", path).difference_expected) is explains


def test_the_deletion_of_an_index_may_explain_the_difference_of_an_alias():
    replies = {"/a/_settings": settings("a-2"), "/a-2/_count": 4}
    assert with_another_task(replies, "DELETE", "/a-1").difference_expected


@pytest.mark.parametrize("character", ["i", "é", "\ud800", "😀"])
def test_an_index_with_a_name_that_engines_refuse_is_not_counted(character: str) -> None:
    name = character * 300_000
    engine = FakeEngine({"/logs/_settings": settings(name)})
    work = bulk(file("logs", 10))
    (check,) = check_documents(plan(DELETE, ("bulk", work)), [result(1, 10)], engine.get)
    assert check.count_problem == "logs: the engine names an index of more than 255 bytes"
    assert check.problem_cause == "pacenote"
    assert check.counted is None


def test_a_problem_of_any_length_is_stored_short() -> None:
    replies = {"/logs/_settings": settings("logs"), "/logs/_count": EngineError("x" * 300_000)}
    (check,) = checks_of(replies, bulk(file("logs", 10)))
    assert len(check.count_problem) == 2_000


@pytest.mark.parametrize("name", ["p" * 300_000, "{{" * 300_000])
def test_a_pipeline_with_a_long_name_is_not_requested_and_shown_short(name: str) -> None:
    replies = {"/logs/_settings": settings("logs", default_pipeline=name), "/logs/_count": 4}
    (check,) = checks_of(replies, bulk(file("logs", 10)))
    assert check.difference_expected.endswith("…' may drop documents or send them to another index")
    assert len(check.difference_expected) < 400
