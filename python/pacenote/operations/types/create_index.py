"""`create-index`: creates the indices of the track, or one that the operation defines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.model.engine import EngineInfo
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.index_limits import check_index
from pacenote.operations.index_settings import with_index_settings
from pacenote.operations.named_resources import compile_requests, read_name_body_pairs
from pacenote.operations.request import build_path, json_body, read_common

_NEWER_DEFAULTS: Mapping[str, object] = {"index.mapping.source.mode": "stored", "index.mode": "standard"}
"""Settings that only newer versions of Elasticsearch have, each with the default that other engines use."""

_MISSING = object()


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    supplied = context.supplied and "indices" in params.data
    bodies: Mapping[str, Any] = (
        read_name_body_pairs(params, "indices") if supplied else _bodies(params, context)
    )
    bodies = {
        name: with_index_settings(body, ("settings",), context.index_settings)
        for name, body in bodies.items()
    }
    for name, body in bodies.items():
        check_index(params, name, body)
    requests = (
        common.request("PUT", build_path(name), body=None if body is None else json_body(body))
        for name, body in bodies.items()
    )
    return compile_requests(params, requests)


def _bodies(params: FieldReader, context: CompileContext) -> dict[str, Any]:
    """Returns the bodies of the indices to create, by name."""
    declared = {index.name: index.body for index in context.track.indices}
    settings = params.mapping("settings")
    names = params.names("index") or tuple(declared)
    if not names:
        params.problem("index", "is missing, and the track declares no indices")
    bodies: dict[str, Any] = {}
    for name in names:
        if name in declared:
            bodies[name] = compatible_body(_with_settings(declared[name], settings), context.engine)
        elif params.has("body") or not declared:
            bodies[name] = params.data.get("body")
        else:
            params.problem(
                "index",
                f"names {quoted(name)}, which the track does not declare{did_you_mean(name, declared)}",
            )
    return bodies


def _with_settings(body: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not settings:
        return body
    declared = (body or {}).get("settings") or {}
    return {**(body or {}), "settings": {**declared, **settings}}


def compatible_body(body: Mapping[str, Any] | None, engine: EngineInfo) -> Mapping[str, Any] | None:
    """Returns the body of an index without settings that the engine lacks and that have no effect.

    A setting that would change the index is kept and makes the engine reject the request: without it, a
    different index would be measured.
    """
    settings = body.get("settings") if body else None
    if engine.knows_index_modes or body is None or not isinstance(settings, Mapping):
        return body
    kept = {key: value for key, value in settings.items() if _NEWER_DEFAULTS.get(key, _MISSING) != value}
    return body if len(kept) == len(settings) else {**body, "settings": kept}


OPERATION = OperationType(name="create-index", compile=_compile, admin=True, may_create_indices=True)
