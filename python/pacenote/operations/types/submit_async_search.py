"""`submit-async-search`: starts a search whose result is fetched later in the same composite operation."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, Capture
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, join_names, read_body, read_common
from pacenote.operations.search_requests import require_composite

_NO_WAIT = {"wait_for_completion_timeout": "0"}
"""Returns an id even for a search that is complete immediately."""

_KEPT = {"wait_for_completion_timeout": "1ms", "keep_on_completion": "true"}
"""OpenSearch waits at least 1 ms, and by default discards a search that ends within that time."""


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    require_composite(params, context)
    name = params.required_text("name")
    index = join_names(params.names("index"))
    common = read_common(params)
    path, defaults = build_path(index, "_async_search"), _NO_WAIT
    if context.is_opensearch:
        path, defaults = build_path("_plugins", "_asynchronous_search"), {**_KEPT, "index": index or "_all"}
    query = {key: value for key, value in defaults.items() if key not in common.query}
    request = common.request("POST", path, query=query, body=read_body(params))
    return CompiledOperation(CallSequence((replace(request, capture=Capture(name, "id")),)))


OPERATION = OperationType(name="submit-async-search", compile=_compile)
