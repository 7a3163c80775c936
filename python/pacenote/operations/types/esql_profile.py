"""`esql-profile`: one ES|QL query that the engine profiles.

The response is checked like that of any other query; the profile itself is not recorded.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.types.esql import query_calls


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return CompiledOperation(query_calls(params, profile=True))


OPERATION = OperationType(name="esql-profile", compile=_compile, only_reads=True)
