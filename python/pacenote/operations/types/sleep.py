"""`sleep`: waits without sending a request."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import Sleep
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    if params.required("duration") is None:
        return CompiledOperation(Sleep(0.0))
    return CompiledOperation(Sleep(params.number("duration") or 0.0))


OPERATION = OperationType(name="sleep", compile=_compile, admin=True, composable=True)
