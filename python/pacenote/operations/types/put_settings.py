"""`put-settings`: changes settings of the cluster."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckAcknowledged
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import read_body, read_common, read_retry


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    request = read_common(params).request(
        "PUT", "/_cluster/settings", body=read_body(params), check=CheckAcknowledged()
    )
    return CompiledOperation(CallSequence((request,), read_retry(params)))


OPERATION = OperationType(
    name="put-settings", compile=_compile, admin=True, serverless=ServerlessStatus.INTERNAL
)
