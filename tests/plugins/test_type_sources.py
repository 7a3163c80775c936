"""The parameters of overridden built-in types are those that Rally's own sources make."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.operations.registry import known_types
from pacenote.plugins.rally_api.bulk_source import BulkIndexParamSource
from pacenote.plugins.rally_api.errors import InvalidSyntax
from pacenote.plugins.rally_api.track import (
    ComponentTemplate,
    DataStream,
    DocumentCorpus,
    Documents,
    Index,
    IndexTemplate,
    Track,
)
from pacenote.plugins.rally_api.type_sources import ConstantParamSource, source_of_type

CLIENT = {"request-timeout": None, "headers": None, "opaque-id": None}

RALLY_SOURCES = {
    "bulk", "composite-agg", "create-component-template", "create-composable-template", "create-data-stream",
    "create-index", "create-index-template", "delete-component-template", "delete-composable-template",
    "delete-data-stream", "delete-index", "delete-index-template", "downsample", "force-merge",
    "paginated-search", "scroll-search", "search", "sleep",
}  # fmt: skip


def full_track() -> Track:
    return Track(
        "t",
        indices=[Index("books", {"settings": {"a": 1}}), Index("films")],
        data_streams=[DataStream("events"), DataStream("logs")],
        templates=[IndexTemplate("old", "o*", {"settings": {"a": 1}}, delete_matching_indices=True)],
        composable_templates=[IndexTemplate("new", "n*", {"template": {"settings": {"a": {"b": 1}}}})],
        component_templates=[ComponentTemplate("part", {"template": {}})],
    )


def made(kind: str, within: Track, **params: Any) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in params.items()}
    source = source_of_type(kind)(within, named, operation_name="task")
    assert source.partition(0, 2).infinite
    return source.params()


def test_the_same_types_have_a_source_as_in_rally() -> None:
    own = {name for name in known_types() if source_of_type(name) is not ConstantParamSource}
    assert own == RALLY_SOURCES


OF_THE_TRACK: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "create-index",
        {"settings": {"b": 2}, "odd": 3},
        {
            "indices": [("books", {"settings": {"a": 1, "b": 2}}), ("films", {"settings": {"b": 2}})],
            "settings": {"b": 2},
            "odd": 3,
            "request-params": {},
        },
    ),
    (
        "create-index",
        {"index": "films", "request-params": {"x": 1}},
        {"indices": [("films", {})], "index": "films", "request-params": {"x": 1}},
    ),
    ("delete-index", {}, {"indices": ["books", "films"], "only-if-exists": True, "request-params": {}}),
    (
        "delete-index",
        {"index": ["x"], "only_if_exists": False},
        {"indices": ["x"], "index": ["x"], "only-if-exists": False, "request-params": {}},
    ),
    ("create-data-stream", {}, {"data-streams": ["events", "logs"], "request-params": {}}),
    (
        "create-data-stream",
        {"data_stream": "logs"},
        {"data-streams": ["logs"], "data-stream": "logs", "request-params": {}},
    ),
    (
        "delete-data-stream",
        {},
        {"data-streams": ["events", "logs"], "only-if-exists": True, "request-params": {}},
    ),
    (
        "create-index-template",
        {"settings": {"b": 2}},
        {
            "templates": [("old", {"settings": {"a": 1, "b": 2}})],
            "settings": {"b": 2},
            "request-params": {},
        },
    ),
    (
        "delete-index-template",
        {},
        {"templates": [("old", True, "o*")], "only-if-exists": True, "request-params": {}},
    ),
    (
        "create-composable-template",
        {"settings": {"a": {"c": 2}}},
        {"templates": [("new", {"template": {"settings": {"a": {"b": 1, "c": 2}}}})], "request-params": {}},
    ),
    (
        "delete-composable-template",
        {"template": "new"},
        {
            "templates": [("new", False, "n*")],
            "template": "new",
            "only-if-exists": True,
            "request-params": {},
        },
    ),
    (
        "create-component-template",
        {"template": "own", "body": {}},
        {"templates": [("own", {})], "request-params": {}},
    ),
    (
        "delete-component-template",
        {},
        {"templates": ["part"], "only-if-exists": True, "request-params": {}},
    ),
    (
        "force-merge",
        {},
        {
            "index": "books,films,events,logs",
            "max-num-segments": None,
            "mode": "blocking",
            "poll-period": 10,
            **CLIENT,
        },
    ),
    (
        "downsample",
        {"source_index": "tsdb", "sampling_method": "last_value", "request_timeout": 5},
        {
            "fixed-interval": "1h",
            "source-index": "tsdb",
            "target-index": "tsdb-1h",
            "sampling-method": "last_value",
            **CLIENT,
            "request-timeout": 5,
        },
    ),
    ("sleep", {"duration": 2, "odd": 3}, {"duration": 2, "odd": 3}),
    ("refresh", {"index": "x"}, {"index": "x"}),
]


@pytest.mark.parametrize(("kind", "params", "expected"), OF_THE_TRACK)
def test_parameters_contain_what_the_operation_selects_of_the_track(
    kind: str, params: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert made(kind, full_track(), **params) == expected


OF_THE_OPERATION: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "create-index",
        {"index": ["a", "b"], "body": {"x": 1}},
        {"indices": [("a", {"x": 1}), ("b", {"x": 1})]},
    ),
    ("delete-data-stream", {"data_stream": "a"}, {"data-streams": ["a"]}),
    ("create-index-template", {"template": "a", "body": {}}, {"templates": [("a", {})]}),
    (
        "delete-index-template",
        {"template": "a", "delete_matching_indices": True, "index_pattern": "a*"},
        {"templates": [("a", True, "a*")]},
    ),
    ("delete-component-template", {"template": "a"}, {"templates": ["a"]}),
    ("force-merge", {"mode": "polling"}, {"index": "_all", "mode": "polling"}),
    ("search", {"data_stream": "a", "body": {}}, {"index": "a", "body": {}, "detailed-results": False}),
]


@pytest.mark.parametrize(("kind", "params", "expected"), OF_THE_OPERATION)
def test_a_track_without_resources_uses_those_of_the_operation(
    kind: str, params: dict[str, Any], expected: dict[str, Any]
) -> None:
    values = made(kind, Track("t"), **params)
    assert {key: values[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("create-index", {}, "needs the property 'index'"),
        ("delete-index", {}, "targets no index"),
        ("create-data-stream", {}, "needs the property 'data-stream'"),
        ("delete-data-stream", {}, "targets no data stream"),
        ("create-index-template", {"template": "a"}, "needs the properties 'template' and 'body'"),
        ("create-composable-template", {}, "needs the properties 'template' and 'body'"),
        ("delete-index-template", {}, "needs the property 'template'"),
        ("delete-index-template", {"template": "a", "delete_matching_indices": True}, "index-pattern"),
        ("delete-component-template", {}, "needs the property 'template'"),
        ("search", {"body": {}}, "'index' or 'data-stream' is mandatory"),
        ("sleep", {}, "'duration' of the sleep operation is not a number"),
        ("sleep", {"duration": -1}, "which is negative"),
    ],
)
def test_missing_parameters_are_reported(kind: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSyntax, match=message):
        made(kind, Track("t"), **params)


def bulk(**params: Any) -> BulkIndexParamSource:
    stream = params.get("data_streams")
    target = {"target_data_stream": stream} if stream else {"target_index": "a"}
    documents = [Documents("bulk", "a.json", number_of_documents=100, **target)]
    documents += [
        Documents("bulk", "b.json", number_of_documents=100, includes_action_and_meta_data=True)
    ] * params.pop("with_actions", 0)
    within = Track("t", corpora=[DocumentCorpus("c", documents)])
    named = {key.replace("_", "-"): value for key, value in params.items()}
    return BulkIndexParamSource(within, {"bulk-size": 10, **named})


def test_numbers_of_a_bulk_may_be_text() -> None:
    source = bulk(bulk_size="10", batch_size="20", ingest_percentage="50")
    assert (source.bulk_size, source.batch_size, source.ingest_percentage) == (10, 20, 50.0)
    assert (source.conflict_probability, source.on_conflict, source.recency) == (None, None, None)
    source = bulk(conflicts="random", conflict_probability="40", recency="0.5")
    assert (source.conflict_probability, source.on_conflict, source.recency) == (40.0, "index", 0.5)
    assert bulk(ingest_doc_count="40").partition(0, 2).total_bulks == 2


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bulk_size": "x"}, "'bulk-size' must be numeric"),
        ({"batch_size": 15}, "multiple of 'bulk-size'"),
        ({"ingest_percentage": 0}, r"'ingest-percentage' must be in the range \(0.0, 100.0\] but was 0.0"),
        ({"ingest_percentage": "half"}, "'ingest-percentage' must be numeric"),
        ({"ingest_doc_count": 10, "ingest_percentage": 5}, "mutually exclusive"),
        ({"ingest_doc_count": 15}, "must be a multiple of 'bulk-size'"),
        ({"conflicts": "often"}, "Unknown 'conflicts' setting"),
        ({"conflicts": "random", "recency": 2}, r"'recency' must be in the range \[0.0, 1.0\] but was 2.0"),
        ({"conflicts": "random", "on_conflict": "drop"}, "Unknown 'on-conflict' setting"),
        ({"conflicts": "random", "data_streams": "x"}, "cannot be used with 'data-streams'"),
        ({"conflicts": "random", "with_actions": 1}, "already contains an action and meta-data line"),
    ],
)
def test_wrong_parameters_of_a_bulk_are_reported(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSyntax, match=message):
        bulk(**params)
