"""`node-stats`: reads all statistics of all nodes."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckNoError
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    request = read_common(params).request("GET", "/_nodes/stats", check=CheckNoError())
    return CompiledOperation(CallSequence((request,)))


OPERATION = OperationType(
    name="node-stats", compile=_compile, serverless=ServerlessStatus.INTERNAL, only_reads=True
)
