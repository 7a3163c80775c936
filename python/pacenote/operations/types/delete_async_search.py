"""`delete-async-search`: deletes the results of searches submitted in the same composite operation."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls, Recall
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import read_common
from pacenote.operations.search_requests import MARKER, path_of_result, recalled_names


def _compile(params: Reader, context: Context) -> Compiled:
    names = recalled_names(params, "delete-results-for", context)
    request = read_common(params).request("DELETE", path_of_result(context))
    return Compiled(Calls(tuple(replace(request, recall=Recall(name, MARKER)) for name in names or ("",))))


OPERATION = OperationType(name="delete-async-search", compile=_compile)
