"""`paginated-search`: a search whose pages are fetched after the sort values of the last hit.

Within a composite operation it can search in a point in time. A page that is not full is the last one; the
total of hits, which is only a lower bound, is not asked.
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
    given = params.has("body")
    body = read_object_body(params) if given else {}
    # In a point in time the engine itself sorts hits, by where they are.
    if given and not body.get("sort") and first.placeholder is None and pages != 1:
        params.problem("body", "has no sort, which the next page is found by")
    return compile_pages(
        PagedRequest(first, NextBySearchAfter(), pages=pages, page_size=page_size(params, body))
    )


OPERATION = OperationType(
    name="paginated-search", compile=_compile, unit=PAGES_UNIT, assertable=SEARCH_PROPERTIES
)
