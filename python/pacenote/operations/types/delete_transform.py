"""`delete-transform`: deletes a transform; one that is not there is no failure."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.named_resources import compiled, if_there
from pacenote.operations.request import path_of, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_transform", params.required_text("transform-id"))
    query = {"force": params.flag("force", False)}
    return compiled(params, [if_there(read_common(params).request("DELETE", path, query=query))])


OPERATION = OperationType(name="delete-transform", compile=_compile, admin=True)
