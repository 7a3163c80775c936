"""`get-async-search`: fetches the results of searches submitted in the same composite operation; polls each
until it is complete, unless `retry-until-success` is false.
"""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckAsyncSearch, PollPolicy
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import read_common, read_retry
from pacenote.operations.search_requests import async_search_path, async_search_result, captured_names


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    names = captured_names(params, "retrieve-results-for", context)
    done = CheckAsyncSearch(*context.engine.api.async_search_done)
    retry = read_retry(params, until_success=True)
    request = replace(
        read_common(params).request("GET", async_search_path(context), check=done),
        poll=PollPolicy(every_s=retry.wait_s) if retry.until_success else None,
    )
    calls = tuple(replace(request, placeholder=async_search_result(name)) for name in names or ("",))
    return CompiledOperation(CallSequence(calls, retry), weight=len(calls))


OPERATION = OperationType(name="get-async-search", compile=_compile, only_reads=True, composable=True)
