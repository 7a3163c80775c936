"""`get-async-search`: fetches the results of searches submitted in the same composite operation; retries
until they are complete, unless `retry-until-success` is false.
"""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckAsyncSearch, Placeholder
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import read_common, read_retry
from pacenote.operations.search_requests import CAPTURE_MARKER, async_search_path, captured_names


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    names = captured_names(params, "retrieve-results-for", context)
    done = CheckAsyncSearch(*context.engine.api.async_search_done)
    request = replace(read_common(params).request("GET", async_search_path(context)), check=done)
    calls = tuple(replace(request, placeholder=Placeholder(name, CAPTURE_MARKER)) for name in names or ("",))
    return CompiledOperation(CallSequence(calls, read_retry(params, until_success=True)), weight=len(calls))


OPERATION = OperationType(name="get-async-search", compile=_compile, composable=True)
