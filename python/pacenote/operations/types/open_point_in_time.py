"""`open-point-in-time`: fixes what later searches of the same composite operation see."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls, Remember
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import path_of, read_common
from pacenote.operations.search_requests import inside_composite, target_of


def _compile(params: Reader, context: Context) -> Compiled:
    inside_composite(params, context)
    name = params.required_text("name")
    target = target_of(params, context) or ""
    query = {"keep_alive": params.text("keep-alive", "1m")}
    if context.is_opensearch:
        path, key = path_of(target, "_search", "point_in_time"), "pit_id"
    else:
        path, key = path_of(target, "_pit"), "id"
    request = read_common(params).request("POST", path, query=query)
    return Compiled(Calls((replace(request, remember=Remember(name, key)),)))


OPERATION = OperationType(name="open-point-in-time", compile=_compile)
