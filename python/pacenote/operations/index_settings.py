"""Settings of all indices that a track creates (`--set index.NAME=VALUE`, and those of a car).

Engines refuse settings of indices in their own configuration. A template for all indices would either be
ignored where the track has a template, or take precedence over it. Therefore the settings are written into
the requests that create indices and templates of indices, where they replace those of the track.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_INDEX = "index."


def with_index_settings(
    body: Mapping[str, Any] | None, path: Sequence[str], settings: Mapping[str, object]
) -> Mapping[str, Any] | None:
    """Returns a body with settings by their full names, which replace those at `path` in any notation."""
    if not settings:
        return body
    if not path:
        return {**_without(body or {}, settings, ""), **settings}
    key, *rest = path
    inner = (body or {}).get(key)
    return {
        **(body or {}),
        key: with_index_settings(inner if isinstance(inner, Mapping) else None, rest, settings),
    }


def _without(settings: Mapping[str, Any], names: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """Returns settings without those of these full names, which may be nested and lack `index.`."""
    kept: dict[str, Any] = {}
    for key, value in settings.items():
        full = f"{prefix}{key}"
        if isinstance(value, Mapping):
            if inner := _without(value, names, f"{full}."):
                kept[key] = inner
        elif (full if full.startswith(_INDEX) else f"{_INDEX}{full}") not in names:
            kept[key] = value
    return kept
