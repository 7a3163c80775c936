"""`search`: one search request.

Failed shards and timeouts are always checked; `detailed-results` keeps the number of hits and shards of each
response with its sample. Replies are not compressed with `response-compression-enabled: false`. With `pages`,
it is a `scroll-search`, as in old tracks.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence
from pacenote.operations.assertions import SEARCH_PROPERTIES
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.search_requests import compile_scroll, search_request


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    if params.data.get("pages"):
        return compile_scroll(params, context)
    return CompiledOperation(CallSequence((search_request(params, context),)))


OPERATION = OperationType(
    name="search", compile=_compile, assertable=SEARCH_PROPERTIES, searches=True, composable=True
)
