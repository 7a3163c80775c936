"""`create-snapshot`: creates a snapshot; without `wait-for-completion`, it continues in the background."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckShards
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, read_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_snapshot", params.required_text("repository"), params.required_text("snapshot"))
    query = {"wait_for_completion": params.flag("wait-for-completion", False)}
    common, check = read_common(params), CheckShards("snapshot.shards")
    request = common.request("PUT", path, query=query, body=read_body(params), check=check)
    # Never retried: a second request would create a second snapshot.
    return CompiledOperation(CallSequence((request,)))


OPERATION = OperationType(
    name="create-snapshot", compile=_compile, admin=True, serverless=ServerlessStatus.INTERNAL
)
