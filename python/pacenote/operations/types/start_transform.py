"""`start-transform`: starts a transform."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests
from pacenote.operations.request import build_path, read_common, read_options


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_transform", params.required_text("transform-id"), "_start")
    options = read_options(params, "timeout")
    return compile_requests(params, [read_common(params).request("POST", path, query=options)])


OPERATION = OperationType(name="start-transform", compile=_compile, admin=True)
