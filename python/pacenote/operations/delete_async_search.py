"""`delete-async-search`: deletes the results of searches submitted in the same composite operation."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.reader import Reader
from pacenote.model.work import Calls, Recall
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import path_of, read_common
from pacenote.operations.searching import MARKER, recalled_names


def _compile(params: Reader, context: Context) -> Compiled:
    names = recalled_names(params, "delete-results-for", context)
    api = ("_plugins", "_asynchronous_search") if context.is_opensearch else ("_async_search",)
    request = read_common(params).request("DELETE", path_of(*api, MARKER))
    return Compiled(Calls(tuple(replace(request, recall=Recall(name, MARKER)) for name in names or ("",))))


OPERATION = OperationType(name="delete-async-search", compile=_compile)
