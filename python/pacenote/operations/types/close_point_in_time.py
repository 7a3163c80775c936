"""`close-point-in-time`: closes a point in time that the same composite operation opened."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, Placeholder
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import json_body, read_common
from pacenote.operations.search_requests import CAPTURE_MARKER, captured_name


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    name = captured_name(params, "with-point-in-time-from", context)
    path, body = "/_pit", json_body({"id": CAPTURE_MARKER})
    if context.is_opensearch:
        path, body = "/_search/point_in_time", json_body({"pit_id": [CAPTURE_MARKER]})
    request = read_common(params).request("DELETE", path, body=body)
    return CompiledOperation(CallSequence((replace(request, placeholder=Placeholder(name, CAPTURE_MARKER)),)))


OPERATION = OperationType(name="close-point-in-time", compile=_compile)
