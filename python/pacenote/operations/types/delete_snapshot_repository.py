"""`delete-snapshot-repository`: unregisters a snapshot repository; a missing one is not a failure."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.named_resources import compile_requests, if_exists
from pacenote.operations.request import build_path, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_snapshot", params.required_text("repository"))
    return compile_requests(params, [if_exists(read_common(params).request("DELETE", path))])


OPERATION = OperationType(
    name="delete-snapshot-repository", compile=_compile, admin=True, serverless=ServerlessStatus.INTERNAL
)
