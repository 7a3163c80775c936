"""`delete-transform`: deletes a transform; a missing one is not a failure."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests, if_exists
from pacenote.operations.request import build_path, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_transform", params.required_text("transform-id"))
    query = {"force": params.flag("force", False)}
    return compile_requests(params, [if_exists(read_common(params).request("DELETE", path, query=query))])


OPERATION = OperationType(name="delete-transform", compile=_compile, admin=True)
