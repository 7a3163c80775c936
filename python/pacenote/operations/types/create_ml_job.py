"""`create-ml-job`: creates a machine learning job."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations import ml
from pacenote.operations.base import Compiled, Context, OperationType


def _compile(params: Reader, context: Context) -> Compiled:
    return ml.create(params, "anomaly_detectors", "job-id")


OPERATION = OperationType(name="create-ml-job", compile=_compile, admin=True)
