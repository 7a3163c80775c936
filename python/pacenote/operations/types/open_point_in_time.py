"""`open-point-in-time`: opens a point in time for later searches of the same composite operation."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, Capture, CheckShards
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, read_common
from pacenote.operations.search_requests import require_composite, search_target


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    require_composite(params, context)
    name = params.required_text("name")
    target = search_target(params, context) or ""
    query = {"keep_alive": params.text("keep-alive", "1m")}
    api = context.engine.api
    path = build_path(target, *api.point_in_time.split("/"))
    # By default, OpenSearch opens one without the shards that failed, and later searches do not report them.
    request = read_common(params).request("POST", path, query=query, check=CheckShards())
    return CompiledOperation(CallSequence((replace(request, capture=Capture(name, api.point_in_time_id)),)))


OPERATION = OperationType(
    name="open-point-in-time", compile=_compile, only_reads=True, composable=True, captures=True
)
