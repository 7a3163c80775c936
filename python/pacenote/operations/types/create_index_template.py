"""`create-index-template`: creates legacy index templates; `settings` replace those of the same name."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.templates import create_templates


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return create_templates(params, context, context.track.templates, "_template", ("settings",))


OPERATION = OperationType(
    name="create-index-template", compile=_compile, admin=True, serverless=ServerlessStatus.BLOCKED
)
