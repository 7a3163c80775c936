"""`refresh`: makes all indexed documents visible to searches."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckShards
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, join_names, read_common, read_retry


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path(join_names(params.names("index")), "_refresh")
    request = read_common(params).request("POST", path, check=CheckShards())
    return CompiledOperation(CallSequence((request,), read_retry(params)))


OPERATION = OperationType(name="refresh", compile=_compile, admin=True)
