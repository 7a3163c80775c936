"""`create-snapshot-repository`: registers a snapshot repository."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.named_resources import compile_requests
from pacenote.operations.request import build_path, read_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_snapshot", params.required_text("repository"))
    return compile_requests(params, [read_common(params).request("PUT", path, body=read_body(params))])


OPERATION = OperationType(
    name="create-snapshot-repository", compile=_compile, admin=True, serverless=ServerlessStatus.INTERNAL
)
