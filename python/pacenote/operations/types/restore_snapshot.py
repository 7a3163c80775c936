"""`restore-snapshot`: restores a snapshot; without `wait-for-completion`, it continues in the background."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckShards
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, read_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    names = params.required_text("repository"), params.required_text("snapshot")
    query = {"wait_for_completion": params.flag("wait-for-completion", False)}
    body = read_body(params, required=False) or "{}"
    path = build_path("_snapshot", *names, "_restore")
    check = CheckShards("snapshot.shards")
    request = read_common(params).request("POST", path, query=query, body=body, check=check)
    # Never retried: an index that was restored cannot be restored again.
    return CompiledOperation(CallSequence((request,)))


OPERATION = OperationType(
    name="restore-snapshot",
    compile=_compile,
    admin=True,
    serverless=ServerlessStatus.INTERNAL,
    may_create_indices=True,
    may_change_documents=True,
)
