"""`delete-ml-datafeed`: deletes a machine learning datafeed; a missing one is not a failure."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.delete(params, "datafeeds", "datafeed-id")


OPERATION = OperationType(name="delete-ml-datafeed", compile=_compile, admin=True)
