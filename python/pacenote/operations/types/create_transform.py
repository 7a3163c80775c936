"""`create-transform`: creates a transform."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.named_resources import compiled
from pacenote.operations.request import path_of, read_body, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_transform", params.required_text("transform-id"))
    query = {"defer_validation": params.flag("defer-validation", False)}
    return compiled(params, [read_common(params).request("PUT", path, query=query, body=read_body(params))])


OPERATION = OperationType(name="create-transform", compile=_compile, admin=True)
