"""`delete-index-template`: deletes legacy index templates, and the indices that match them if asked for."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.templates import delete, doomed_with_indices


def _compile(params: Reader, context: Context) -> Compiled:
    doomed = doomed_with_indices(params, context, context.track.templates)
    return delete(params, context, doomed, "_template")


OPERATION = OperationType(
    name="delete-index-template", compile=_compile, admin=True, serverless=Serverless.BLOCKED
)
