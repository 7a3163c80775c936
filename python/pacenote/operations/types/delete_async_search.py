"""`delete-async-search`: deletes the results of searches submitted in the same composite operation."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import read_common
from pacenote.operations.search_requests import async_search_path, async_search_result, captured_names


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    names = captured_names(params, "delete-results-for", context)
    request = replace(read_common(params).request("DELETE", async_search_path(context)), cleanup=True)
    calls = tuple(replace(request, placeholder=async_search_result(name)) for name in names or ("",))
    return CompiledOperation(CallSequence(calls), weight=len(calls))


OPERATION = OperationType(name="delete-async-search", compile=_compile, only_reads=True, composable=True)
