"""`create-ml-job`: creates a machine learning job."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.create(params, "anomaly_detectors", "job-id")


OPERATION = OperationType(name="create-ml-job", needs_modules=("x-pack-ml",), compile=_compile, admin=True)
