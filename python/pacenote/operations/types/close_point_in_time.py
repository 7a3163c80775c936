"""`close-point-in-time`: closes a point in time that the same composite operation opened."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, Placeholder
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import json_body, read_common
from pacenote.operations.search_requests import CAPTURE_MARKER, captured_name


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    name = captured_name(params, "with-point-in-time-from", context)
    api = context.engine.api
    body = json_body(api.close_body(CAPTURE_MARKER))
    request = read_common(params).request("DELETE", f"/{api.point_in_time}", body=body)
    request = replace(request, placeholder=Placeholder(name, CAPTURE_MARKER), cleanup=True)
    return CompiledOperation(CallSequence((request,)))


OPERATION = OperationType(name="close-point-in-time", compile=_compile, only_reads=True, composable=True)
