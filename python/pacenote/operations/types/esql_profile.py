"""`esql-profile`: one ES|QL query that the engine profiles.

The response is checked like that of any other query. The times of its phases, drivers and plans are kept with
its sample under Rally's names.
"""

from __future__ import annotations

from pacenote.model.assertion import DetailsKind
from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.types.esql import query_calls


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return CompiledOperation(query_calls(params, DetailsKind.ESQL_PROFILE, profile=True))


OPERATION = OperationType(
    name="esql-profile",
    needs_modules=("x-pack-esql",),
    compile=_compile,
    only_reads=True,
    assertable_details=("",),
)
