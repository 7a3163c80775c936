"""What other engines than today's Elasticsearch make of bodies that were written for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.operations.base import EngineInfo

_NEWER_DEFAULTS: Mapping[str, object] = {"index.mapping.source.mode": "stored", "index.mode": "standard"}
"""Settings that only newer versions of Elasticsearch know, each with the value that every engine lives by."""


def compatible_body(body: Mapping[str, Any] | None, engine: EngineInfo) -> Mapping[str, Any] | None:
    """The body of an index without settings that the engine does not know and that change nothing.

    One that does change something stays, for the engine to refuse: leaving it out would race another index.
    """
    older = engine.distribution == "opensearch" or engine.version.startswith("7.")
    settings = body.get("settings") if body else None
    if not older or body is None or not isinstance(settings, Mapping):
        return body
    kept = {key: value for key, value in settings.items() if _NEWER_DEFAULTS.get(key, _NOTHING) != value}
    return body if len(kept) == len(settings) else {**body, "settings": kept}


_NOTHING = object()
