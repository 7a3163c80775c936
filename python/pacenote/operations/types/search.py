"""`search`: one search request.

A search is always judged by its shards and its timeout, so `detailed-results` changes nothing.
Replies come compressed only if the client options ask for it (`http_compress`), or the `headers` of the
operation do; `response-compression-enabled: false` makes an exception of it. With `pages` it is a
`scroll-search`, as old tracks write it.
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


OPERATION = OperationType(name="search", compile=_compile, assertable=SEARCH_PROPERTIES)
