"""`paginated-search`: a search in which each page continues after the sort values of the last hit.

Within a composite operation, it can search a point in time. A page that is not full is the last one. The
total number of hits is not used, because it is only a lower bound.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import NextBySearchAfter, PagedRequest
from pacenote.operations.assertions import SEARCH_PROPERTIES
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.search_requests import (
    PAGES_UNIT,
    compile_pages,
    page_size,
    read_object_body,
    read_pages,
    search_request,
)


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    pages = read_pages(params, required=True)
    first = search_request(params, context)
    has_body = params.has("body")
    body = read_object_body(params) if has_body else {}
    # Within a point in time, the engine sorts hits by their position.
    if has_body and not body.get("sort") and first.placeholder is None and pages != 1:
        params.problem("body", "has no sort, which determines the next page")
    return compile_pages(
        PagedRequest(first, NextBySearchAfter(), pages=pages, page_size=page_size(params, body))
    )


OPERATION = OperationType(
    name="paginated-search",
    compile=_compile,
    unit=PAGES_UNIT,
    assertable=SEARCH_PROPERTIES,
    searches=True,
    composable=True,
)
