"""`composite-agg`: a search with one composite aggregation; each page continues after the last bucket's key.

The aggregation may be nested at any depth. The last page is one without buckets: a page that is not full may
be followed by more pages, because pipeline aggregations filter buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import NextByAfterKey, PagedRequest
from pacenote.operations.assertions import SEARCH_PROPERTIES
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.search_requests import (
    PAGES_UNIT,
    compile_pages,
    read_object_body,
    read_pages,
    search_request,
)

_AGGREGATIONS = ("aggs", "aggregations")


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    pages = read_pages(params, required=False)
    body = read_object_body(params)
    paths = tuple(_paths(body)) if params.has("body") else ((),)
    if len(paths) != 1:
        params.problem("body", f"has {len(paths)} composite aggregations, but must have exactly one")
        paths = ((),)
    size = params.integer("results-per-page", 1)
    if size is not None and paths[0]:
        body = _with_size(body, paths[0], size)
    # The page size is that of the aggregation, not of the hits.
    shaped = FieldReader(
        {**params.data, "body": body, "results-per-page": None}, params.path, params.problems
    )
    first = search_request(shaped, context)
    return compile_pages(PagedRequest(first, NextByAfterKey(paths[0]), pages=pages))


def _aggregations(body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    for key in _AGGREGATIONS:
        if isinstance(body.get(key), dict):
            return key, body[key]
    return _AGGREGATIONS[0], {}


def _paths(body: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the path of names to each composite aggregation."""
    for name, inner in _aggregations(body)[1].items():
        if not isinstance(inner, dict):
            continue
        if isinstance(inner.get("composite"), dict):
            yield (*above, name)
        yield from _paths(inner, (*above, name))


def _with_size(body: Mapping[str, Any], path: tuple[str, ...], size: int) -> dict[str, Any]:
    if not path:
        return {**body, "composite": {**body["composite"], "size": size}}
    key, inner = _aggregations(body)
    return {**body, key: {**inner, path[0]: _with_size(inner[path[0]], path[1:], size)}}


OPERATION = OperationType(
    name="composite-agg",
    compile=_compile,
    unit=PAGES_UNIT,
    assertable=SEARCH_PROPERTIES,
    searches=True,
    composable=True,
)
