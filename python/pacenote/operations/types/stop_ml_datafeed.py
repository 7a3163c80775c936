"""`stop-ml-datafeed`: stops a machine learning datafeed."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations import ml
from pacenote.operations.base import Compiled, Context, OperationType


def _compile(params: Reader, context: Context) -> Compiled:
    return ml.act(params, ml.path_to(params, "datafeeds", "datafeed-id", "_stop"), "force", "timeout")


OPERATION = OperationType(name="stop-ml-datafeed", compile=_compile, admin=True)
