"""`sql`: one SQL query; further pages are fetched by cursor.

A result with fewer than `pages` pages is a failure, and so is the partial result of a query that goes on
after `wait_for_completion_timeout`.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckEsql, CheckNoError, NextByCursor, PagedRequest
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import json_body, read_common, require_json


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    params.required("body")
    body = params.child("body")
    if params.has("body"):
        body.required_text("query")
    pages = params.integer("pages", 1) or 1
    common = read_common(params)
    text = json_body(body.data)
    # Only with this parameter does a query end after its response, whose fields are then those of ES|QL.
    check = CheckEsql() if "wait_for_completion_timeout" in body.data else CheckNoError()
    first = common.request("POST", context.engine.api.sql, body=text, check=check)
    if pages == 1:
        return CompiledOperation(CallSequence((first,)))
    require_json(params, common)
    return CompiledOperation(
        CallSequence((PagedRequest(first, NextByCursor(), pages=pages, strict=True),)), weight=pages
    )


OPERATION = OperationType(
    name="sql", needs_modules=("x-pack-sql", "opensearch-sql"), compile=_compile, only_reads=True
)
