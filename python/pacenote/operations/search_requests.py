"""Functions that the search types share: the request of the first page, and the number of pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pacenote.model.assertion import DetailsKind
from pacenote.model.decoding import parse_json
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.problems import preview
from pacenote.model.work import CallSequence, CheckSearch, NextByScroll, PagedRequest, Placeholder, Request
from pacenote.operations.base import CompileContext, CompiledOperation
from pacenote.operations.request import (
    CommonParams,
    build_path,
    join_names,
    json_body,
    read_common,
    require_json,
)
from pacenote.units import whole_number

CAPTURE_MARKER = "@recalled@"
"""Marks where a captured value is inserted into the path and body. It needs no escaping in either."""

PAGES_UNIT = "pages"
"""The unit of work of searches that fetch pages."""

_CHECK = CheckSearch()
_KEEP_ALIVE = "10s"
_DEFAULT_SIZE = 10
_POINT_IN_TIME = "with-point-in-time-from"

# A point in time determines these parameters, so engines reject them in the search.
_FIXED_BY_POINT_IN_TIME = ("routing", "preference")


def search_target(params: FieldReader, context: CompileContext) -> str | None:
    """Returns the search target (`index`, `data-stream`, or the track's only target), or None on a problem.

    In supplied parameters, null means all indices.
    """
    names = params.names("index") or params.names("data-stream")
    if names:
        return join_names(names)
    if context.supplied:
        if "index" not in params.data:
            params.problem("index", "is missing")
        return ""
    target = context.track.sole_target()
    if target is None:
        params.problem("index", "is missing, and the track has no single index or data stream to search")
    return target


def search_request(params: FieldReader, context: CompileContext, **query: Any) -> Request:
    """Returns the search, or its first page; `query` is added to the query of the parameters."""
    in_point_in_time = params.has(_POINT_IN_TIME)
    target = "" if in_point_in_time else search_target(params, context) or ""
    body = read_search_body(params)
    size = params.integer("results-per-page", 1)
    options = {"request_cache": _cache(params, context), "size": size, **query}
    details = DetailsKind.SEARCH if params.flag("detailed-results", False) else None
    common = _read_common(params)
    if not in_point_in_time:
        path = build_path(target, "_search")
        request = common.request("POST", path, query=options, body=json_body(body), check=_CHECK)
        return request if details is None else replace(request, details=details)
    name = captured_name(params, _POINT_IN_TIME, context)
    kept = {key: value for key, value in common.query.items() if key not in _FIXED_BY_POINT_IN_TIME}
    body = {**_parsed(params, body), "pit": {"id": CAPTURE_MARKER, "keep_alive": "1m"}}
    body.pop("index", None)
    pit_common = replace(common, query=kept)
    request = pit_common.request("POST", "/_search", query=options, body=json_body(body), check=_CHECK)
    return replace(request, placeholder=Placeholder(name, CAPTURE_MARKER), details=details)


def _read_common(params: FieldReader) -> CommonParams:
    common = read_common(params)
    require_json(params, common)
    if params.flag("response-compression-enabled", True):
        return common
    return replace(common, headers=(*common.headers, ("accept-encoding", "identity")))


def require_composite(params: FieldReader, context: CompileContext) -> bool:
    """Returns whether the operation is part of a composite operation, and reports a problem if it is not.

    Captured values exist only within composite operations.
    """
    if context.captures is None:
        params.problem(None, "is only possible within a composite operation")
    return context.captures is not None


def captured_names(params: FieldReader, key: str, context: CompileContext) -> tuple[str, ...]:
    """Reads, at `key`, the names of values that other operations of the same composite operation capture."""
    require_composite(params, context)
    params.required(key)
    names = params.names(key)
    known = context.captures
    for name in names if known is not None else ():
        if name not in (known or ()):
            text = f"names {quoted(name)}, which no operation of the composite operation provides"
            params.problem(key, f"{text}{did_you_mean(name, known or ())}")
    return names


def captured_name(params: FieldReader, key: str, context: CompileContext) -> str:
    """Reads, at `key`, the name of a value that another operation of the same composite operation
    captures.
    """
    return join_names(captured_names(params, key, context))


def async_search_path(context: CompileContext) -> str:
    """Returns the path of the result of an asynchronous search, with a placeholder for its captured id."""
    return f"/{context.engine.api.async_search}/{CAPTURE_MARKER}"


def async_search_result(name: str) -> Placeholder:
    """Returns the placeholder for the id of an asynchronous search. A search that ended when it was submitted
    may have no id, and then no result that could be fetched or deleted.
    """
    return Placeholder(name, CAPTURE_MARKER, optional=True)


def read_search_body(params: FieldReader) -> Mapping[str, Any] | str:
    """Reads the body of a search."""
    body = params.data.get("body")
    if body is None:
        params.problem("body", "is missing")
    elif isinstance(body, bytes):
        return body.decode()
    elif isinstance(body, dict | str):
        return body
    else:
        params.problem("body", "must be an object")
    return {}


def read_object_body(params: FieldReader) -> dict[str, Any]:
    """Reads a body that the requests of further pages are based on: an object, or an object as a string."""
    return _parsed(params, read_search_body(params))


def page_size(params: FieldReader, body: Mapping[str, Any] | str) -> int:
    """Returns the number of entries of a full page."""
    size = params.data.get("results-per-page")
    if size is None and not isinstance(body, str):
        size = body.get("size")
    return size if isinstance(size, int) and size > 0 else _DEFAULT_SIZE


def read_pages(params: FieldReader, *, required: bool) -> int | None:
    """Reads the maximum number of pages; None means all of them (`all`)."""
    value = params.data.get("pages")
    if value is None and required:
        params.problem("pages", "is missing")
    if value is None or value == "all":
        return None
    number = whole_number(value) if isinstance(value, str) else value
    if isinstance(number, int) and not isinstance(number, bool) and number > 0:
        return number
    params.problem("pages", f'is {preview(value)}, but must be a number of pages above 0, or "all"')
    return None


def compile_pages(pages: PagedRequest) -> CompiledOperation:
    """Compiles an operation whose work is counted in pages."""
    return CompiledOperation(CallSequence((pages,)), weight=pages.pages or 1, unit=PAGES_UNIT)


def compile_scroll(params: FieldReader, context: CompileContext) -> CompiledOperation:
    """Compiles a search that fetches its pages by scrolling."""
    pages = read_pages(params, required=True)
    first = search_request(params, context, sort="_doc", scroll=_KEEP_ALIVE)
    size = page_size(params, read_search_body(params) if params.has("body") else {})
    return compile_pages(PagedRequest(first, NextByScroll(_KEEP_ALIVE), pages=pages, page_size=size))


def _cache(params: FieldReader, context: CompileContext) -> bool | None:
    if params.has("cache"):
        return params.flag("cache", False)
    # By default, a serverless engine would answer from its cache.
    return False if context.engine.is_serverless else None


def _parsed(params: FieldReader, body: Mapping[str, Any] | str) -> dict[str, Any]:
    if not isinstance(body, str):
        return dict(body)
    try:
        value = parse_json(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    params.problem("body", "must be an object, because the requests of further pages are created from it")
    return {}
