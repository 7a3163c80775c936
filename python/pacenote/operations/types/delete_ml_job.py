"""`delete-ml-job`: deletes a machine learning job; a missing one is not a failure."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.delete(params, "anomaly_detectors", "job-id")


OPERATION = OperationType(name="delete-ml-job", compile=_compile, admin=True)
