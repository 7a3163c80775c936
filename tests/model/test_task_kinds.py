"""What the tasks of a report do."""

import pytest

from pacenote.model.headline import headline, slowest_task
from pacenote.model.result import OperationTotals, Throughput, WorkTotals
from pacenote.model.task_kinds import COMPOSITE, runs_once, searches, work_kind
from pacenote.operations.registry import find_type, known_types
from support.records import bulk, part, record, task, times

_QUERIES = {"sql", "esql", "esql-profile", "submit-async-search", "get-async-search"}
"""Built-in types that search with something else than a request of the search API that the track writes."""

_ONCE = OperationTotals(1, 1, 0, 0, 0, 0, 1, 1)


def test_each_built_in_type_has_the_kind_that_the_registry_says() -> None:
    kinds = {}
    for name in known_types():
        operation_type = find_type(name)
        assert operation_type is not None
        searching = operation_type.searches or name in _QUERIES
        other = "waiting" if name == "sleep" else "other"
        kinds[name] = "indexing" if operation_type.indexes_documents else "searching" if searching else other
    assert set(kinds.values()) == {"indexing", "searching", "waiting", "other"}
    # Whatever they send and receive, also in units that others share.
    for name, kind in kinds.items():
        for unit in {"ops", find_type(name).unit}:  # type: ignore[union-attr]
            own = task(operation_type=name, unit=unit)
            assert work_kind(own) == kind, name
    assert {name for name in _QUERIES if kinds.get(name) != "searching"} == set()


@pytest.mark.parametrize("unit", ["docs", "pages", "ops"])
def test_a_built_in_type_that_polls_does_not_index_whatever_its_unit(unit: str) -> None:
    own = task(operation_type="wait-for-transform", unit=unit, content_out=900, content_in=100)
    assert work_kind(own) == "other"


@pytest.mark.parametrize(
    ("operation_type", "kind"),
    [
        *((name, "searching") for name in ("vector-search", "knn-query", "knn_query", "Term-Search")),
        *((name, "other") for name in ("mount-searchable-snapshot", "aggregate-snapshots", "mysqlite")),
        *((name, "other") for name in ("delete-by-query", "put-search-pipeline", "delete-search")),
        ("bulk-vector-data-set", "other"),
    ],
)
def test_whole_words_say_what_a_type_of_a_plugin_does(operation_type: str, kind: str) -> None:
    assert work_kind(task(operation_type=operation_type)) == kind


@pytest.mark.parametrize(
    ("operation_type", "sent", "received", "kind"),
    [
        ("own", 2_000, 2_000, "indexing"),
        ("own", 8_000, 17_000, "indexing"),
        ("scan", 100, 100_000, "other"),
        ("own", 0, 0, "indexing"),
        ("own", 40, 200, "indexing"),
        ("bulk-vector-data-set", 0, 0, "indexing"),
        ("vector-search", 2_000, 1_000, "searching"),
    ],
)
def test_a_runner_that_counts_documents_indexes_them_if_it_sends_them(
    operation_type: str, sent: int, received: int, kind: str
) -> None:
    own = task(operation_type=operation_type, unit="docs", content_out=sent, content_in=received)
    assert work_kind(own) == kind


def test_a_composite_searches_if_one_of_its_parts_does() -> None:
    pit = part("pit", operation_type="open-point-in-time")
    assert searches(task(operation_type=COMPOSITE, parts=(pit, part("page"))))
    assert not searches(task(operation_type=COMPOSITE, parts=(pit,)))


def test_a_transform_is_not_the_indexing_of_a_race() -> None:
    transform = task(
        "transform",
        operation_type="wait-for-transform",
        unit="docs",
        throughput=Throughput(60_000.0, 60_000.0, 60_000.0, 60_000.0),
        work=WorkTotals(1_480_000, 0),
    )
    assert headline(record("a", tasks=(bulk(), transform))).endswith("docs/s")
    assert headline(record("a", tasks=(bulk(), transform))) == headline(record("a", tasks=(bulk(),)))


def test_a_task_that_only_waits_is_not_the_slowest() -> None:
    pause = task("pause", operation_type="sleep", unit="ops", service_time=times(3, 60_000.0, 60_000.0))
    assert runs_once(pause)
    assert slowest_task([pause, task("term")]).task == "term"  # type: ignore[union-attr]


def test_the_slowest_task_is_any_that_does_not_index_or_run_once() -> None:
    mount = task(
        "mount", operation_type="mount-searchable-snapshot", service_time=times(1, 35_000.0, 35_000.0)
    )
    mount = task(
        "mount", operation_type=mount.operation_type, service_time=mount.service_time, accounting=_ONCE
    )
    dashboard = task("dashboard", operation_type="raw-request", service_time=times(p50=40.0))
    assert runs_once(mount)
    assert slowest_task([bulk(), task(), dashboard, mount]) is dashboard
