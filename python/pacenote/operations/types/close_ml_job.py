"""`close-ml-job`: closes a machine learning job."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations import ml
from pacenote.operations.base import Compiled, Context, OperationType


def _compile(params: Reader, context: Context) -> Compiled:
    return ml.act(params, ml.path_to(params, "anomaly_detectors", "job-id", "_close"), "force", "timeout")


OPERATION = OperationType(name="close-ml-job", compile=_compile, admin=True)
