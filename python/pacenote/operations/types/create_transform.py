"""`create-transform`: creates a transform."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests
from pacenote.operations.request import build_path, read_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_transform", params.required_text("transform-id"))
    query = {"defer_validation": params.flag("defer-validation", False)}
    return compile_requests(
        params, [read_common(params).request("PUT", path, query=query, body=read_body(params))]
    )


OPERATION = OperationType(name="create-transform", needs_modules=("transform",), compile=_compile, admin=True)
