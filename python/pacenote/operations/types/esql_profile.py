"""`esql-profile`: one ES|QL query that the engine profiles.

The query costs what a profiled one costs, and is judged like any other; the figures of the profile itself are
not recorded.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.types.esql import query_calls


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    return CompiledOperation(query_calls(params, profile=True))


OPERATION = OperationType(name="esql-profile", compile=_compile)
