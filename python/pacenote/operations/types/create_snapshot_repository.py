"""`create-snapshot-repository`: registers a repository of snapshots."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.named_resources import compiled
from pacenote.operations.request import path_of, read_body, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_snapshot", params.required_text("repository"))
    return compiled(params, [read_common(params).request("PUT", path, body=read_body(params))])


OPERATION = OperationType(
    name="create-snapshot-repository", compile=_compile, admin=True, serverless=Serverless.INTERNAL
)
