"""`create-snapshot`: takes a snapshot; without `wait-for-completion` it goes on in the background."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import path_of, read_body, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_snapshot", params.required_text("repository"), params.required_text("snapshot"))
    query = {"wait_for_completion": params.flag("wait-for-completion", False)}
    # Never tried again: a second request would take a second snapshot.
    return Compiled(Calls((read_common(params).request("PUT", path, query=query, body=read_body(params)),)))


OPERATION = OperationType(
    name="create-snapshot", compile=_compile, admin=True, serverless=Serverless.INTERNAL
)
