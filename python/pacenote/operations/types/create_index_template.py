"""`create-index-template`: creates legacy index templates; `settings` replace those of the same name."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.templates import create


def _compile(params: Reader, context: Context) -> Compiled:
    return create(params, context, context.track.templates, "_template", ("settings",))


OPERATION = OperationType(
    name="create-index-template", compile=_compile, admin=True, serverless=Serverless.BLOCKED
)
