"""`delete-composable-template`: deletes composable index templates, and the indices that match them if
requested.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.templates import delete_templates, index_templates_to_delete


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    templates = index_templates_to_delete(params, context, context.track.composable_templates)
    return delete_templates(params, context, templates, "_index_template")


OPERATION = OperationType(name="delete-composable-template", compile=_compile, admin=True)
