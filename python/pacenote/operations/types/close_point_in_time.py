"""`close-point-in-time`: lets go of what an `open-point-in-time` of the same composite operation fixed."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls, Recall
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import json_body, read_common
from pacenote.operations.search_requests import MARKER, recalled_name


def _compile(params: Reader, context: Context) -> Compiled:
    name = recalled_name(params, "with-point-in-time-from", context)
    path, body = "/_pit", json_body({"id": MARKER})
    if context.is_opensearch:
        path, body = "/_search/point_in_time", json_body({"pit_id": [MARKER]})
    request = read_common(params).request("DELETE", path, body=body)
    return Compiled(Calls((replace(request, recall=Recall(name, MARKER)),)))


OPERATION = OperationType(name="close-point-in-time", compile=_compile)
