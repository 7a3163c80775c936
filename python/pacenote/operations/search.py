"""`search`: one search request.

Accepted without effect: `detailed-results` (a search is always judged by its shards and timeout; its hits
are not recorded) and `response-compression-enabled` (replies are never compressed, so that unpacking them
does not burden the machine that measures). Several pages need a scroll, which comes later.
"""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.reader import Reader
from pacenote.model.work import Calls, CheckSearch
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import join_names, json_body, path_of, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    names = params.names("index") or params.names("data-stream")
    target = join_names(names) or context.track.sole_target()
    if target is None:
        params.problem("index", "is missing, and the track has no single index or data stream to search")
    cache = params.flag("cache", False) if params.has("cache") else None
    query = {"request_cache": cache, "size": params.integer("results-per-page", 1)}
    body = params.data.get("body")
    if body is None:
        params.problem("body", "is missing")
    elif not isinstance(body, dict | str):
        params.problem("body", "must be an object")
    params.flag("detailed-results", False)
    params.flag("response-compression-enabled", True)
    path = path_of(target or "", "_search")
    request = common.request("POST", path, query=query, body=json_body(body))
    return Compiled(Calls((replace(request, check=CheckSearch()),)))


OPERATION = OperationType(
    name="search",
    compile=_compile,
    later={"pages": "scrolling through several pages comes with scroll-search"},
)
