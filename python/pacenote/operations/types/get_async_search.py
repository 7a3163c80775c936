"""`get-async-search`: fetches the results of searches submitted in the same composite operation; asks again
until they are there, unless `retry-until-success` is false.
"""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls, CheckCondition, Recall
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import read_common, read_retry
from pacenote.operations.search_requests import MARKER, path_of_result, recalled_names


def _compile(params: Reader, context: Context) -> Compiled:
    names = recalled_names(params, "retrieve-results-for", context)
    done = CheckCondition("is_running", "false")
    if context.is_opensearch:
        done = CheckCondition("state", "STORE_RESIDENT")
    request = replace(read_common(params).request("GET", path_of_result(context)), check=done)
    calls = tuple(replace(request, recall=Recall(name, MARKER)) for name in names or ("",))
    return Compiled(Calls(calls, read_retry(params, until_success=True)), weight=len(calls))


OPERATION = OperationType(name="get-async-search", compile=_compile)
