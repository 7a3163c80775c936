"""`delete-composable-template`: deletes composable index templates, and the indices that match them if asked
for.
"""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.templates import delete, doomed_with_indices


def _compile(params: Reader, context: Context) -> Compiled:
    doomed = doomed_with_indices(params, context, context.track.composable_templates)
    return delete(params, context, doomed, "_index_template")


OPERATION = OperationType(name="delete-composable-template", compile=_compile, admin=True)
