"""`submit-async-search`: starts a search whose result is fetched later in the same composite operation."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, Capture, CheckSubmittedSearch
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, join_names, read_body, read_common
from pacenote.operations.search_requests import require_composite


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    require_composite(params, context)
    name = params.required_text("name")
    index = join_names(params.names("index"))
    common = read_common(params)
    api = context.engine.api
    path, defaults = build_path(index, *api.async_search.split("/")), dict(api.async_search_defaults)
    if api.async_search_index_in_query:
        path, defaults = f"/{api.async_search}", {**defaults, "index": index or "_all"}
    query = {key: value for key, value in defaults.items() if key not in common.query}
    check = CheckSubmittedSearch()
    request = common.request("POST", path, query=query, body=read_body(params), check=check)
    return CompiledOperation(CallSequence((replace(request, capture=Capture(name, "id")),)))


OPERATION = OperationType(
    name="submit-async-search",
    needs_modules=("x-pack-async-search", "opensearch-asynchronous-search"),
    compile=_compile,
    only_reads=True,
    composable=True,
    captures=True,
)
