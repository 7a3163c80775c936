"""`close-ml-job`: closes a machine learning job."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.perform(
        params, ml.action_path(params, "anomaly_detectors", "job-id", "_close"), "force", "timeout"
    )


OPERATION = OperationType(name="close-ml-job", compile=_compile, admin=True)
