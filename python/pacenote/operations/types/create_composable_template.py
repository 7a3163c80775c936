"""`create-composable-template`: creates composable index templates; `settings` are merged recursively."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.templates import create_templates


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    declared = context.track.composable_templates
    return create_templates(params, context, declared, "_index_template", ("template", "settings"))


OPERATION = OperationType(name="create-composable-template", compile=_compile, admin=True)
