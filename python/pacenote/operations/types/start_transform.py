"""`start-transform`: starts a transform."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.named_resources import compiled
from pacenote.operations.request import path_of, read_common, read_options


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_transform", params.required_text("transform-id"), "_start")
    options = read_options(params, "timeout")
    return compiled(params, [read_common(params).request("POST", path, query=options)])


OPERATION = OperationType(name="start-transform", compile=_compile, admin=True)
