"""`delete-component-template`: deletes building blocks of composable templates."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.templates import delete, doomed_alone


def _compile(params: Reader, context: Context) -> Compiled:
    doomed = doomed_alone(params, context, context.track.component_templates)
    return delete(params, context, doomed, "_component_template")


OPERATION = OperationType(name="delete-component-template", compile=_compile, admin=True)
