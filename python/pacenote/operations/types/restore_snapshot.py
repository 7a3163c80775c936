"""`restore-snapshot`: restores a snapshot; without `wait-for-completion` it goes on in the background."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import path_of, read_body, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    names = params.required_text("repository"), params.required_text("snapshot")
    query = {"wait_for_completion": params.flag("wait-for-completion", False)}
    body = read_body(params, required=False) or "{}"
    path = path_of("_snapshot", *names, "_restore")
    # Never tried again: what is restored already cannot be restored once more.
    return Compiled(Calls((read_common(params).request("POST", path, query=query, body=body),)))


OPERATION = OperationType(
    name="restore-snapshot", compile=_compile, admin=True, serverless=Serverless.INTERNAL
)
