"""Searches with several pages, and composite operations with captured values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from operations.compiling import OPENSEARCH, compiled, context, refused, requests, track
from pacenote.model.assertion import Assertion, AssertionOperator, DetailsKind
from pacenote.model.track import Track
from pacenote.model.work import (
    CallSequence,
    Capture,
    CheckAsyncSearch,
    CheckSearch,
    CheckShards,
    CheckSubmittedSearch,
    Composite,
    CompositeItem,
    NextByAfterKey,
    NextByScroll,
    NextBySearchAfter,
    OperationStream,
    PagedRequest,
    Placeholder,
    PollPolicy,
    Request,
    RetryPolicy,
    SubOperation,
    Wait,
)
from pacenote.operations.base import CompileContext

JSON = (("content-type", "application/json"),)


def pages(kind: str, within: Track | CompileContext | None = None, **params: Any) -> PagedRequest:
    work = compiled(kind, within, **params).work
    assert isinstance(work, CallSequence)
    (call,) = work.calls
    assert isinstance(call, PagedRequest)
    return call


def composite(
    *items: dict[str, Any], within: CompileContext | None = None, **params: Any
) -> tuple[CompositeItem, ...]:
    work = compiled("composite", within, requests=list(items), **params).work
    assert isinstance(work, CallSequence)
    (call,) = work.calls
    assert isinstance(call, Composite)
    return call.items


def operation(item: CompositeItem) -> SubOperation:
    assert isinstance(item, SubOperation)
    return item


def request_of(item: CompositeItem) -> Request:
    (call,) = operation(item).calls
    assert isinstance(call, Request)
    return call


def test_a_scroll_search_is_compiled() -> None:
    expected = PagedRequest(
        Request(
            "POST", "/books/_search?request_cache=true&size=100&sort=_doc&scroll=10s", JSON, "{}",
            check=CheckSearch(),
        ),
        NextByScroll("10s"), pages=25, page_size=100,
    )  # fmt: skip
    assert pages("scroll-search", body={}, pages=25, results_per_page=100, cache=True) == expected
    made = compiled("scroll-search", body={}, pages=25)
    assert (made.weight, made.unit) == (25, "pages")


def test_a_search_with_pages_is_a_scroll() -> None:
    assert compiled("search", body={}, pages=3) == compiled("scroll-search", body={}, pages=3)
    assert requests("search", body={}, pages=0) == requests("search", body={})


def test_a_scroll_search_can_read_all_pages() -> None:
    line, body = "/books/_search?sort=_doc&scroll=10s", '{"size":7}'
    # The page size is that of the body, which the query does not repeat.
    assert pages("scroll-search", body={"size": 7}, pages="all") == PagedRequest(
        Request("POST", line, JSON, body, check=CheckSearch()), NextByScroll("10s"), pages=None, page_size=7
    )


def test_paginated_search_reads_pages_with_search_after() -> None:
    body = {"sort": [{"a": "asc"}]}
    made = pages("paginated-search", body=body, pages="3", results_per_page=50)
    assert made == PagedRequest(
        Request("POST", "/books/_search?size=50", JSON, '{"sort":[{"a":"asc"}]}', check=CheckSearch()),
        NextBySearchAfter(), pages=3, page_size=50,
    )  # fmt: skip
    # Without results-per-page, the engine determines the page size.
    assert pages("paginated-search", body=body, pages="all").page_size == 10
    assert pages("paginated-search", body='{"sort":["a"],"size":3}', pages="all").page_size == 3


def test_composite_agg_reads_pages_by_after_key() -> None:
    inner = {"composite": {"sources": []}}
    body = {"size": 0, "aggs": {"a": {"filter": {}, "aggregations": {"b": inner}}}}
    made = pages("composite-agg", body=body, results_per_page=200)
    assert made.next == NextByAfterKey(("a", "b"))
    assert (made.pages, made.page_size, made.first.path) == (None, None, "/books/_search")
    sent = json.loads(made.first.body or "")
    assert sent["aggs"]["a"]["aggregations"]["b"] == {"composite": {"sources": [], "size": 200}}
    assert inner == {"composite": {"sources": []}}
    assert pages("composite-agg", body=body, pages=4).pages == 4


@pytest.mark.parametrize(
    ("kind", "params", "problem"),
    [
        ("paginated-search", {"body": {}, "pages": 2}, "body has no sort, which determines the next page"),
        ("paginated-search", {"body": {"sort": ["a"]}}, "pages is missing"),
        (
            "scroll-search",
            {"body": {}, "pages": 0.5},
            'pages is 0.5, but must be a number of pages above 0, or "all"',
        ),
        ("scroll-search", {"pages": 1}, "body is missing"),
        (
            "paginated-search",
            {"body": "x", "pages": 1},
            "body must be an object, because the requests of further pages are created from it",
        ),
        (
            "composite-agg",
            {"body": {"aggs": {"a": {"terms": {}}}}},
            "body has 0 composite aggregations, but must have exactly one",
        ),
        ("composite-agg", {}, "body is missing"),
        (
            "search",
            {"body": {}, "with-point-in-time-from": "p"},
            " is only possible within a composite operation",
        ),
    ],
)
def test_problems_with_pages_are_reported(kind: str, params: dict[str, Any], problem: str) -> None:
    assert refused(kind, **params)[0] == f"operations[0]{'' if problem[0] == ' ' else '.'}{problem}"


def test_items_of_a_composite_operation_are_compiled() -> None:
    first, stream, last = composite(
        {"operation-type": "sleep", "duration": 1},
        {"stream": [{"operation-type": "search", "name": "find", "index": "a", "body": {}}]},
        {"operation-type": "raw-request", "path": "/_x", "name": "raw"},
    )
    assert first == SubOperation("sleep", "sleep", (Wait(1.0),))
    assert isinstance(stream, OperationStream)
    assert (operation(stream.items[0]).name, request_of(stream.items[0]).path) == ("find", "/a/_search")
    assert request_of(last).path == "/_x"


def test_composite_operations_may_be_nested() -> None:
    (item,) = composite({"operation-type": "composite", "requests": [{"operation-type": "field-caps"}]})
    (inner,) = operation(item).calls
    assert isinstance(inner, Composite)
    assert request_of(inner.items[0]).path == "/_all/_field_caps?fields=*"


def test_the_number_of_connections_can_be_limited() -> None:
    work = compiled("composite", requests=[{"operation-type": "field-caps"}], max_connections=3).work
    assert isinstance(work, CallSequence)
    assert work.calls[0] == Composite(work.calls[0].items, max_connections=3)  # type: ignore[union-attr]


PIT = (
    {"operation-type": "open-point-in-time", "name": "open", "index": "a"},
    {
        "operation-type": "paginated-search",
        "name": "pages",
        "index": "a",
        "pages": "all",
        "results-per-page": 5,
        "body": {"query": {}},
        "with-point-in-time-from": "open",
        "request-params": {"preference": "x", "y": 1},
    },
    {"operation-type": "close-point-in-time", "name": "close", "with-point-in-time-from": "open"},
)


def test_points_in_time_are_opened_searched_and_closed() -> None:
    opened, paged, closed = composite(*PIT)
    assert request_of(opened) == Request(
        "POST", "/a/_pit?keep_alive=1m", check=CheckShards(), capture=Capture("open", "id")
    )
    (call,) = operation(paged).calls
    assert isinstance(call, PagedRequest)
    assert call.first == Request(
        "POST", "/_search?y=1&size=5", JSON, '{"query":{},"pit":{"id":"@recalled@","keep_alive":"1m"}}',
        check=CheckSearch(), placeholder=Placeholder("open", "@recalled@"),
    )  # fmt: skip
    assert request_of(closed) == Request(
        "DELETE", "/_pit", JSON, '{"id":"@recalled@"}', placeholder=Placeholder("open", "@recalled@"),
        cleanup=True,
    )  # fmt: skip


def test_opensearch_has_its_own_points_in_time() -> None:
    opened, _, closed = composite(*PIT, within=context(engine=OPENSEARCH))
    path, expected = "/a/_search/point_in_time?keep_alive=1m", Capture("open", "pit_id")
    assert request_of(opened) == Request("POST", path, check=CheckShards(), capture=expected)
    assert (request_of(closed).path, request_of(closed).body) == (
        "/_search/point_in_time",
        '{"pit_id":["@recalled@"]}',
    )


ASYNC = (
    {"operation-type": "submit-async-search", "name": "s", "index": "a", "body": {"query": {}}},
    {
        "operation-type": "get-async-search",
        "name": "g",
        "retrieve-results-for": ["s"],
        "retry-wait-period": 0.1,
    },
    {"operation-type": "delete-async-search", "name": "d", "delete-results-for": "s"},
)


def test_asynchronous_searches_are_submitted_read_and_deleted() -> None:
    submit, get, delete = composite(*ASYNC)
    assert request_of(submit) == Request(
        "POST", "/a/_async_search?wait_for_completion_timeout=0", JSON, '{"query":{}}',
        check=CheckSubmittedSearch(), capture=Capture("s", "id"),
    )  # fmt: skip
    assert request_of(get) == Request(
        "GET", "/_async_search/@recalled@", check=CheckAsyncSearch("is_running", "false"),
        poll=PollPolicy(0.1), placeholder=Placeholder("s", "@recalled@", optional=True),
    )  # fmt: skip
    assert operation(get).retry == RetryPolicy(0, True, 0.1, True, True)
    assert request_of(delete) == Request(
        "DELETE", "/_async_search/@recalled@", placeholder=Placeholder("s", "@recalled@", optional=True),
        cleanup=True,
    )  # fmt: skip


def test_an_asynchronous_search_is_not_polled_without_retries() -> None:
    get = {**ASYNC[1], "retry-until-success": False}
    assert request_of(composite(ASYNC[0], get)[1]).poll is None


def test_opensearch_has_its_own_asynchronous_searches() -> None:
    submit, get, delete = composite(*ASYNC, within=context(engine=OPENSEARCH))
    assert request_of(submit).path == (
        "/_plugins/_asynchronous_search?wait_for_completion_timeout=1ms&keep_on_completion=true&index=a"
    )
    assert request_of(get).path == "/_plugins/_asynchronous_search/@recalled@"
    assert request_of(get).check == CheckAsyncSearch("state", "STORE_RESIDENT")
    assert request_of(delete).path == "/_plugins/_asynchronous_search/@recalled@"


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        (
            [{"operation-type": "bulk"}],
            '.requests[0].operation-type is "bulk", but must be one of "close-point-in-time", "composite", ',
        ),
        ([{"name": "x"}], ".requests[0].operation-type is missing, and there is no stream"),
        ([{"stream": []}], ".requests[0].stream is empty"),
        ([{"operation-type": "sleep"}], ".requests[0].duration is missing"),
        (
            [{"operation-type": "close-point-in-time", "with-point-in-time-from": "opne"}, PIT[0]],
            '.requests[0].with-point-in-time-from names "opne", which no operation of the composite operation'
            ' provides (did you mean "open"?)',
        ),
    ],
)
def test_problems_of_composite_operations_are_reported(items: list[dict[str, Any]], problem: str) -> None:
    assert refused("composite", requests=items)[0].startswith(f"operations[0]{problem}")


HITS = {"property": "hits", "condition": ">", "value": 0}


def test_assertions_are_ignored_unless_enabled() -> None:
    assert requests("search", body={}, assertions=[HITS])[0].assertions == ()
    assert requests("search", body={}, assertions="nonsense")[0].assertions == ()


def test_assertions_about_a_search_are_compiled() -> None:
    asserting = replace(context(), assertions=True)
    several = [HITS, {"property": "shards.failed", "condition": "==", "value": 0}]
    (request,) = requests("search", asserting, body={}, assertions=several)
    assert request.assertions == (
        Assertion("hits", ("hits.total.value", "hits.total"), AssertionOperator.GREATER, 0),
        Assertion("shards.failed", ("_shards.failed",), AssertionOperator.EQUAL, 0),
    )
    first = pages("scroll-search", asserting, body={}, pages=2, assertions=[HITS]).first
    assert [each.property for each in first.assertions] == ["hits"]


def test_assertions_within_composite_operations_are_compiled() -> None:
    asserting = replace(context(), assertions=True)
    inner = {"operation-type": "search", "index": "a", "body": {}, "assertions": [HITS]}
    (item,) = composite(inner, within=asserting)
    assert [each.property for each in request_of(item).assertions] == ["hits"]


@pytest.mark.parametrize(
    ("assertion", "problem"),
    [
        ({}, "assertions[0].property is missing"),
        ({**HITS, "property": "hist"}, 'assertions[0].property is "hist", which search does not report (di'),
        ({**HITS, "property": "shards"}, 'assertions[0].property is "shards", which search does not report'),
        ({**HITS, "condition": "!="}, 'assertions[0].condition is "!=", but must be one of <, <=, ==, >=, >'),
        ({**HITS, "value": [1]}, "assertions[0].value is [1], but must be a number, a string, true or false"),
    ],
)
def test_problems_of_assertions_are_reported(assertion: dict[str, Any], problem: str) -> None:
    asserting = replace(context(), assertions=True)
    assert refused("search", asserting, body={}, assertions=[assertion])[0].startswith(
        f"operations[0].{problem}"
    )


def test_the_figures_of_a_profile_can_be_asserted_under_any_name() -> None:
    asserting = replace(context(), assertions=True)
    slow = {"property": "data.took_ms", "condition": "<", "value": 5}
    (request,) = requests("esql-profile", asserting, query="FROM a", assertions=[slow])
    assert request.assertions == (
        Assertion("data.took_ms", ("data.took_ms",), AssertionOperator.LESS, 5, in_details=True),
    )


def test_detailed_results_keep_the_details_of_responses() -> None:
    def details(kind: str, **params: Any) -> tuple[DetailsKind | None, DetailsKind | None]:
        plain, detailed = requests(kind, **params), requests(kind, **params, detailed_results=True)
        return plain[0].details, detailed[0].details

    assert details("search", body={}) == (None, DetailsKind.SEARCH)
    assert details("esql", query="FROM a") == (None, DetailsKind.ESQL)
    assert details("esql-profile", query="FROM a") == (DetailsKind.ESQL_PROFILE, DetailsKind.ESQL_PROFILE)
    paged = pages("scroll-search", context(), body={}, pages=2, detailed_results=True)
    assert paged.first.details is DetailsKind.SEARCH
    search = {
        "operation-type": "search",
        "body": {},
        "with-point-in-time-from": "p",
        "detailed-results": True,
    }
    point = {"operation-type": "open-point-in-time", "name": "p", "index": "a"}
    assert request_of(composite(point, search)[1]).details is DetailsKind.SEARCH


def test_assertions_on_an_operation_without_properties_are_rejected() -> None:
    asserting = replace(context(track()), assertions=True)
    assert refused("refresh", asserting, assertions=[HITS]) == (
        "operations[0].assertions cannot be checked: refresh does not report any properties",
    )
