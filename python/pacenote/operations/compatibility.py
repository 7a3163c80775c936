"""Adapts bodies that were written for current Elasticsearch to other engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.model.engine import EngineInfo

_NEWER_DEFAULTS: Mapping[str, object] = {"index.mapping.source.mode": "stored", "index.mode": "standard"}
"""Settings that only newer versions of Elasticsearch have, each with the default that other engines use."""


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


_MISSING = object()
