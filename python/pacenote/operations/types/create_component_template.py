"""`create-component-template`: creates building blocks of composable templates; `settings` are merged at
every depth.
"""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.templates import create


def _compile(params: Reader, context: Context) -> Compiled:
    declared = context.track.component_templates
    return create(params, context, declared, "_component_template", ("template", "settings"))


OPERATION = OperationType(name="create-component-template", compile=_compile, admin=True)
