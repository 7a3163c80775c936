"""`create-ml-datafeed`: creates a machine learning datafeed."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.create(params, "datafeeds", "datafeed-id")


OPERATION = OperationType(name="create-ml-datafeed", compile=_compile, admin=True)
