"""`open-ml-job`: opens a machine learning job so that it accepts data."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return ml.perform(params, ml.action_path(params, "anomaly_detectors", "job-id", "_open"))


OPERATION = OperationType(name="open-ml-job", compile=_compile, admin=True)
