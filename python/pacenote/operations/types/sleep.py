"""`sleep`: waits without sending anything."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.model.work import Sleep
from pacenote.operations.base import Compiled, Context, OperationType


def _compile(params: Reader, context: Context) -> Compiled:
    if params.required("duration") is None:
        return Compiled(Sleep(0.0))
    return Compiled(Sleep(params.number("duration") or 0.0))


OPERATION = OperationType(name="sleep", compile=_compile, admin=True)
