"""`create-component-template`: creates component templates; `settings` are merged recursively."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.templates import create_templates


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    declared = context.track.component_templates
    return create_templates(params, context, declared, "_component_template", ("template", "settings"))


OPERATION = OperationType(name="create-component-template", compile=_compile, admin=True)
