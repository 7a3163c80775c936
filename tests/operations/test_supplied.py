"""Parameters from a source are converted to an operation for the driver, or rejected with a message."""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from operations.compiling import compiled, track
from pacenote.model.work import document_data
from pacenote.operations.base import CompileContext
from pacenote.operations.registry import resolve_type
from pacenote.operations.supplied import EncodedOperation, OperationSupplier
from pacenote.operations.supplied_bulk import InvalidSourceParams


def supply(kind: str, params: object) -> EncodedOperation:
    return OperationSupplier(resolve_type(kind), CompileContext(track())).supply(params)


def bulk(**params: Any) -> EncodedOperation:
    given = {"body": b"{}\n", "bulk-size": 2, "unit": "docs", "action-metadata-present": True}
    return supply("bulk", {**given, **{key.replace("_", "-"): value for key, value in params.items()}})


def refused(kind: str, params: object) -> str:
    with pytest.raises(InvalidSourceParams) as caught:
        supply(kind, params)
    return caught.value.message


def test_a_search_is_converted() -> None:
    made = supply("search", {"body": {"query": {"match_all": {}}}, "index": "a"})
    (request,) = json.loads(made.document)["calls"]
    assert (request["method"], request["path"], request["body"]) == (
        "POST",
        "/a/_search",
        '{"query":{"match_all":{}}}',
    )
    assert (made.body, made.weight, made.unit) == (None, 1, "ops")


def test_a_sleep_becomes_a_call_that_waits() -> None:
    assert json.loads(supply("sleep", {"duration": 2}).document)["calls"] == [
        {"kind": "wait", "seconds": 2.0}
    ]


def test_a_bulk_is_converted() -> None:
    made = bulk(pipeline="p", refresh="wait_for", request_timeout=2, index="ignored", type="")
    assert json.loads(made.document) == {
        "kind": "bulk",
        "path": "/_bulk?pipeline=p&refresh=wait_for",
        "headers": [["content-type", "application/x-ndjson"]],
        "documents": 2,
        "timeout_ms": 2000,
        "detailed_results": False,
        "assertions": [],
    }
    assert (made.body, made.weight, made.unit) == (b"{}\n", 2, "docs")


@pytest.mark.parametrize(
    "body",
    [
        b'{"index":{}}\n{"a":1}\n',
        '{"index":{}}\n{"a":1}',
        ['{"index":{}}', '{"a":1}\n'],
        [{"index": {}}, {"a": 1}],
        [b'{"index":{}}\n', b'{"a":1}'],
    ],
)
def test_bulk_bodies_of_every_form_become_the_same_bytes(body: object) -> None:
    assert bulk(body=body).body == b'{"index":{}}\n{"a":1}\n'


def test_documents_without_action_lines_are_indexed_into_the_given_index() -> None:
    made = bulk(body=[{"a": 1}, {"a": 2}], index="books", action_metadata_present=False)
    assert made.body == b'{"index":{}}\n{"a":1}\n{"index":{}}\n{"a":2}\n'
    assert json.loads(made.document)["path"] == "/books/_bulk"
    kept = bulk(body=b'{"create":{}}\n{"a":1}\n', index="books", action_metadata_present=False)
    assert kept.body == b'{"create":{}}\n{"a":1}\n'


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bulk-size": None}, 'returned null as "bulk-size", which must be a number of documents'),
        ({"bulk-size": math.nan}, 'returned NaN as "bulk-size", which must be a number of documents'),
        ({"bulk-size": math.inf}, 'returned Infinity as "bulk-size", which must be a number of documents'),
        (
            {"bulk-size": 2**53 + 1},
            f'returned {2**53 + 1} as "bulk-size", which must be a number of documents',
        ),
        ({"unit": 3}, 'returned 3 as "unit", which must be a word such as docs'),
        (
            {"body": 5},
            'returned a value of type int (5) as "body", which must be bytes, a string, or a list of lines',
        ),
        (
            {"body": [5]},
            'returned "body" with a value of type int (5) in it; '
            "lines must be bytes, strings or dictionaries",
        ),
        (
            {"action-metadata-present": False},
            'returned "" as "index", which must name the index of the documents',
        ),
        (
            {"refresh": "x"},
            'returned invalid parameters: refresh is "x", but must be one of true, wait_for, false',
        ),
    ],
)
def test_problems_of_a_bulk_are_reported(params: dict[str, Any], message: str) -> None:
    given = {"body": b"{}\n", "bulk-size": 2, "unit": "docs", "action-metadata-present": True}
    assert refused("bulk", {**given, **params}) == message


PAUSE = {"operation-type": "sleep", "duration": 1}
QUICK = {"property": "took", "condition": "<", "value": 1.0}
SEVERAL: list[tuple[str, dict[str, Any]]] = [
    ("search", {"index": "a", "body": {"é": '"'}, "headers": {"a": "b"}, "cache": True}),
    ("search", {"index": "a", "body": {}, "request-timeout": 2, "request-params": {"ignore": [404]}}),
    ("scroll-search", {"index": "a", "body": {}, "pages": 3}),
    ("paginated-search", {"index": "a", "body": {"sort": ["x"]}, "pages": "all"}),
    ("sql", {"body": {"query": "x"}, "pages": 2}),
    ("index-stats", {"condition": {"path": "a", "expected-value": 1}, "retries": 2}),
    ("force-merge", {"mode": "polling", "poll-period": 0.5}),
    ("composite", {"requests": [{"stream": [PAUSE]}], "max-connections": 2}),
    (
        "composite",
        {
            "requests": [
                {"operation-type": "open-point-in-time", "name": "p", "index": "a"},
                {
                    "operation-type": "paginated-search", "pages": 2, "body": {}, "name": "s",
                    "with-point-in-time-from": "p",
                },
                {"operation-type": "composite", "requests": [{"operation-type": "field-caps"}]},
            ]
        },
    ),
    ("search", {"index": "a", "body": {}, "assertions": [QUICK]}),
    ("search", {"index": "a", "body": {}, "detailed-results": True}),
    ("esql-profile", {"query": "FROM a", "assertions": [{**QUICK, "property": "query.took_ms"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "params"), SEVERAL)
def test_operations_are_encoded_like_those_of_the_plan(kind: str, params: dict[str, Any]) -> None:
    known = CompileContext(track(), supplied=True, assertions=True)
    work = compiled(kind, known, **params).work
    assert json.loads(OperationSupplier(resolve_type(kind), known).supply(params).document) == document_data(
        work
    )
    # Repeated, now that all lookups are cached.
    assert json.loads(OperationSupplier(resolve_type(kind), known).supply(params).document) == document_data(
        work
    )


def test_details_and_assertions_of_a_bulk_are_encoded() -> None:
    params = {
        "body": b"{}\n{}\n", "bulk-size": 1, "unit": "docs", "action-metadata-present": True,
        "detailed-results": True,
        "assertions": [{"property": "error-count", "condition": "==", "value": 0}],
    }  # fmt: skip
    known = CompileContext(track(), supplied=True, assertions=True)
    document = json.loads(OperationSupplier(resolve_type("bulk"), known).supply(params).document)
    assert document["detailed_results"] is True
    (assertion,) = document["assertions"]
    assert (assertion["paths"], assertion["in_details"]) == (["error-count"], True)
    with pytest.raises(InvalidSourceParams, match="which bulk does not report"):
        OperationSupplier(resolve_type("bulk"), known).supply({
            **params,
            "assertions": [{"property": "x", "condition": "==", "value": 0}],
        })


def test_values_without_a_json_type_are_converted() -> None:
    made = supply("search", {"index": "a", "body": {"when": date(2020, 1, 2), "price": Decimal("1.5")}})
    (request,) = json.loads(made.document)["calls"]
    assert request["body"] == '{"when":"2020-01-02","price":1.5}'


def test_values_that_cannot_be_written_as_json_are_reported() -> None:
    assert refused("search", {"index": "a", "body": {"x": object()}}) == (
        "returned invalid parameters: object cannot be written as JSON"
    )


def test_names_and_bodies_have_the_form_that_rallys_runners_accept() -> None:
    made = supply("create-composable-template", {"templates": [("a", {"x": 1})], "request-params": {}})
    assert json.loads(made.document)["calls"][0]["path"] == "/_index_template/a"
    made = supply("create-index", {"indices": [["a", None], ["b", {}]]})
    assert [call["body"] for call in json.loads(made.document)["calls"]] == [None, "{}"]
    made = supply("delete-index-template", {"templates": [["a", True, "a-*"], ["b", False, None]]})
    calls = json.loads(made.document)["calls"]
    paths = [call["path"].partition("?")[0] for call in calls]
    settings = "/_cluster/settings"
    assert paths == ["/_template/a", "/_template/b", settings, settings, "/a-*", settings]
    assert [call["cleanup"] for call in calls] == [*[False] * 5, True]
    made = supply("create-data-stream", {"data-streams": ["s"], "request-params": {}})
    assert json.loads(made.document)["calls"][0]["path"] == "/_data_stream/s"
    assert refused("create-index", {"indices": ["a"]}) == (
        'returned invalid parameters: indices is ["a"], but must be a list of pairs of a name and a body'
    )


def test_a_search_whose_index_is_none_searches_all_indices() -> None:
    made = supply("search", {"index": None, "body": {}})
    assert json.loads(made.document)["calls"][0]["path"] == "/_search"
    assert refused("search", {"body": {}}) == "returned invalid parameters: index is missing"


def test_values_of_wrong_types_are_reported() -> None:
    assert (
        refused("search", [1, 2])
        == "returned a value of type list ([1, 2]), but must return a dictionary of parameters"
    )
    assert refused("search", None) == "returned nothing, but must return a dictionary of parameters"
    assert (
        refused("bulk", {"bulk-size": 1})
        == 'returned no "action-metadata-present", which must be true or false'
    )
    message = refused("search", {"body": 7, "index": None})
    assert message == "returned invalid parameters: body must be an object"
