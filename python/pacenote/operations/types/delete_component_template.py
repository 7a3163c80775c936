"""`delete-component-template`: deletes component templates."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.templates import component_templates_to_delete, delete_templates


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    templates = component_templates_to_delete(params, context, context.track.component_templates)
    return delete_templates(params, context, templates, "_component_template")


OPERATION = OperationType(name="delete-component-template", compile=_compile, admin=True)
