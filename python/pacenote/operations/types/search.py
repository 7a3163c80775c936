"""`search`: one search request.

A search is always judged by its shards and its timeout, so `detailed-results` changes nothing.
Replies come compressed only if the client options ask for it (`http_compress`), or the `headers` of the
operation do; `response-compression-enabled: false` makes an exception of it. With `pages` it is a
`scroll-search`, as old tracks write it.
"""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls
from pacenote.operations.assertions import SEARCH_PLACES
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.search_requests import scroll, search_request


def _compile(params: Reader, context: Context) -> Compiled:
    if params.data.get("pages"):
        return scroll(params, context)
    return Compiled(Calls((search_request(params, context),)))


OPERATION = OperationType(name="search", compile=_compile, asserted=SEARCH_PLACES)
