"""`esql-profile`: one ES|QL query that the engine profiles.

The query costs what a profiled one costs, and is judged like any other; the figures of the profile itself are
not recorded.
"""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.types.esql import query_calls


def _compile(params: Reader, context: Context) -> Compiled:
    return Compiled(query_calls(params, profile=True))


OPERATION = OperationType(name="esql-profile", compile=_compile)
