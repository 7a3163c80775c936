"""A challenge that needs modules which the engine lacks is told so before the race."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.model.track import Challenge, Index, Operation, Task, Track
from pacenote.race.module_needs import absent_module_warnings


def warnings(*operations: Operation, absent: tuple[str, ...], index: Any = None) -> tuple[str, ...]:
    tasks = tuple(Task(each.name, each) for each in operations)
    challenge = Challenge("c", tasks)
    track = Track("t", Path("/"), (challenge,), indices=(Index("notes", index),))
    return absent_module_warnings(track, challenge, absent, "fake 1.0")


def search(body: object, name: str = "query") -> Operation:
    return Operation(name, "search", {"body": body})


SCRIPT = {"source": "doc['n'].value * 2"}


@pytest.mark.parametrize(
    ("body", "module"),
    [
        ({"query": {"script_score": {"query": {"match_all": {}}, "script": SCRIPT}}}, "lang-painless"),
        ({"script_fields": {"double": {"script": {**SCRIPT, "lang": "painless"}}}}, "lang-painless"),
        ({"sort": [{"_script": {"type": "number", "script": "doc['n'].value"}}]}, "lang-painless"),
        ({"query": {"function_score": {"script": {"source": "n", "lang": "expression"}}}}, "lang-expression"),
        ({"query": {"percolate": {"field": "q", "document": {}}}}, "percolator"),
        ({"query": {"bool": {"must": [{"has_child": {"type": "a"}}]}}}, "parent-join"),
        ({"aggs": {"x": {"auto_date_histogram": {"field": "d"}}}}, "aggregations"),
    ],
)
def test_searches_that_need_a_module_are_named(body: object, module: str) -> None:
    (warning,) = warnings(search(body), absent=(module,))
    assert warning.startswith(f"task 'query' needs the module {module}, which is not published for fake 1.0")
    assert "--exclude-tasks" in warning
    assert warnings(search(body), absent=("other",)) == ()


@pytest.mark.parametrize(
    ("body", "module"),
    [
        ({"mappings": {"properties": {"p": {"type": "scaled_float"}}}}, "mapper-extras"),
        ({"mappings": {"properties": {"o": {"properties": {"g": {"type": "geo_shape"}}}}}}, "legacy-geo"),
        ({"mappings": {"properties": {"g": {"type": "geo_shape"}}}}, "geo"),
        (
            {"mappings": {"properties": {"t": {"type": "text", "fields": {"j": {"type": "join"}}}}}},
            "parent-join",
        ),
        ({"mappings": {"dynamic_templates": [{"x": {"mapping": {"type": "percolator"}}}]}}, "percolator"),
        ({"mappings": {"properties": {"t": {"type": "text", "analyzer": "english"}}}}, "analysis-common"),
        (
            {"settings": {"analysis": {"analyzer": {"a": {"tokenizer": "ngram", "filter": ["lowercase"]}}}}},
            "analysis-common",
        ),
    ],
)
def test_indices_that_need_a_module_are_named_if_the_challenge_creates_them(
    body: object, module: str
) -> None:
    create = Operation("create", "create-index")
    (warning,) = warnings(create, absent=(module,), index=body)
    assert warning.startswith(f"index 'notes' needs the module {module}")
    assert warnings(search({}), absent=(module,), index=body) == ()


@pytest.mark.parametrize(
    ("operation", "module"),
    [
        (Operation("o", "esql", {"query": "FROM a"}), "x-pack-esql"),
        (Operation("o", "sql", {"body": {}}), "opensearch-sql"),
        (Operation("o", "raw-request", {"path": "/_reindex", "method": "POST"}), "reindex"),
        (Operation("o", "raw-request", {"path": "/a/_search/template"}), "lang-mustache"),
        (Operation("o", "put-pipeline", {"id": "p", "body": {"processors": [{"set": {}}]}}), "ingest-common"),
        (
            Operation(
                "o", "composite", {"requests": [{"operation-type": "search", "body": {"script": "1"}}]}
            ),
            "lang-painless",
        ),
    ],
)
def test_operations_that_need_a_module_are_named(operation: Operation, module: str) -> None:
    (warning,) = warnings(operation, absent=(module,))
    assert warning.startswith(f"task 'o' needs the module {module}")


def test_what_the_server_itself_can_do_is_not_named() -> None:
    body = {
        "settings": {"analysis": {"normalizer": {"low": {"type": "custom", "filter": ["lowercase"]}}}},
        "mappings": {"properties": {"type": {"type": "keyword"}, "script": {"type": "text"}}},
    }
    every = ("lang-painless", "analysis-common", "mapper-extras", "aggregations", "reindex", "percolator")
    plain = search({"query": {"term": {"join": "x"}}, "aggs": {"a": {"terms": {"field": "percolator"}}}})
    assert warnings(Operation("create", "create-index"), plain, absent=every, index=body) == ()
    stored = search({"query": {"script": {"script": {"id": "stored"}}}})
    assert warnings(stored, absent=every) == ()


def test_names_of_the_user_are_not_taken_for_clauses() -> None:
    fields = {name: {"type": "long"} for name in ("processors", "derivative", "percolate", "has_child")}
    body = {
        "settings": {"index": {"mode": "time_series", "time_series": {"start_time": "2026"}}},
        "mappings": {"properties": fields},
    }
    query = search({"aggs": {"derivative": {"sum": {"field": "n"}}}, "size": 0})
    every = ("aggregations", "percolator", "parent-join", "ingest-common")
    assert warnings(Operation("create", "create-index"), query, absent=every, index=body) == ()
    nested = search({"aggs": {"derivative": {"derivative": {"buckets_path": "x"}}}})
    assert len(warnings(nested, absent=every)) == 1


def test_only_tasks_can_be_left_out() -> None:
    body = {"mappings": {"properties": {"p": {"type": "scaled_float"}}}}
    (warning,) = warnings(Operation("create", "create-index"), absent=("mapper-extras",), index=body)
    assert "--exclude-tasks" not in warning
    assert warning.endswith(
        "set a parameter of the track that avoids it (`pacenote info`), or race another version or an "
        "existing cluster"
    )


def test_a_malformed_body_is_left_to_the_engine() -> None:
    body = {
        "settings": {"analysis": {"analyzer": {"a": {"filter": None, "tokenizer": 5}}, "filter": None}},
        "mappings": {"properties": {"t": {"analyzer": {"x": 1}, "type": ["a"]}, "u": None}},
    }
    assert warnings(Operation("create", "create-index"), absent=("percolator",), index=body) == ()


def test_tasks_with_the_same_need_share_a_warning() -> None:
    queries = [search({"script_fields": {"a": {"script": SCRIPT}}}, f"q{n}") for n in range(5)]
    (warning,) = warnings(*queries, absent=("lang-painless",))
    assert warning.startswith("task 'q0', task 'q1', task 'q2' and 2 more need the module lang-painless")
