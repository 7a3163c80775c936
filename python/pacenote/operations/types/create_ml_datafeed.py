"""`create-ml-datafeed`: creates a machine learning datafeed."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations import ml
from pacenote.operations.base import Compiled, Context, OperationType


def _compile(params: Reader, context: Context) -> Compiled:
    return ml.create(params, "datafeeds", "datafeed-id")


OPERATION = OperationType(name="create-ml-datafeed", compile=_compile, admin=True)
