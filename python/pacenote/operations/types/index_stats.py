"""`index-stats`: reads index statistics; with a `condition`, fails until a value is as expected.

Without a condition, fails if a shard did not answer.
"""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckShards
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.condition import read_condition
from pacenote.operations.request import build_path, join_names, read_common, read_retry


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path(join_names(params.names("index")), "_stats")
    check = read_condition(params) if params.has("condition") else CheckShards()
    request = replace(read_common(params).request("GET", path), check=check)
    return CompiledOperation(CallSequence((request,), read_retry(params)))


OPERATION = OperationType(name="index-stats", compile=_compile, serverless=ServerlessStatus.INTERNAL)
