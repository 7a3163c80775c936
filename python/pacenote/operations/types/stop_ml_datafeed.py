"""`stop-ml-datafeed`: stops a machine learning datafeed."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.perform(params, ml.action_path(params, "datafeeds", "datafeed-id", "_stop"), "force", "timeout")


OPERATION = OperationType(name="stop-ml-datafeed", compile=_compile, admin=True)
