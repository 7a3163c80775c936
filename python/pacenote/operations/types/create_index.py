"""`create-index`: creates the indices of the track, or one written out in the operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.model.field_reader import Reader
from pacenote.model.messages import near, quoted
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.compatibility import understood
from pacenote.operations.named_resources import compiled, supplied_pairs
from pacenote.operations.request import json_body, path_of, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    supplied = context.supplied and "indices" in params.data
    bodies = supplied_pairs(params, "indices") if supplied else _bodies(params, context)
    requests = (
        common.request("PUT", path_of(name), body=None if body is None else json_body(body))
        for name, body in bodies.items()
    )
    return compiled(params, requests)


def _bodies(params: Reader, context: Context) -> dict[str, Any]:
    """What to create: the body by the name of each index."""
    declared = {index.name: index.body for index in context.track.indices}
    settings = params.mapping("settings")
    names = params.names("index") or tuple(declared)
    if not names:
        params.problem("index", "is missing, and the track declares no indices")
    bodies: dict[str, Any] = {}
    for name in names:
        if name in declared:
            bodies[name] = understood(_with_settings(declared[name], settings), context.engine)
        elif params.has("body") or not declared:
            bodies[name] = params.data.get("body")
        else:
            params.problem(
                "index", f"names {quoted(name)}, which the track does not declare{near(name, declared)}"
            )
    return bodies


def _with_settings(body: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not settings:
        return body
    own = (body or {}).get("settings") or {}
    return {**(body or {}), "settings": {**own, **settings}}


OPERATION = OperationType(name="create-index", compile=_compile, admin=True)
