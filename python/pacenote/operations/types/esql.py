"""`esql`: one ES|QL query; a partial response is a failure.

`detailed-results` keeps what the engine reports of each query with its sample.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pacenote.model.assertion import DetailsKind
from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckEsql
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import json_body, read_common


def query_calls(params: FieldReader, details: DetailsKind | None, **more: Any) -> CallSequence:
    """Returns the request of a query: `body` with `query`, `filter` and `more` added to it."""
    body = {**params.mapping("body"), **more, "query": params.required_text("query")}
    if params.has("filter"):
        body["filter"] = params.mapping("filter")
    request = read_common(params).request("POST", "/_query", body=json_body(body))
    return CallSequence((replace(request, check=CheckEsql(), details=details),))


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    details = DetailsKind.ESQL if params.flag("detailed-results", False) else None
    return CompiledOperation(query_calls(params, details))


OPERATION = OperationType(
    name="esql",
    compile=_compile,
    needs_modules=("x-pack-esql",),
    only_reads=True,
    assertable={
        name: (name,)
        for name in (
            "is_partial",
            "took",
            "documents_found",
            "values_loaded",
            "start_time_in_millis",
            "completion_time_in_millis",
            "expiration_time_in_millis",
        )
    },
)
