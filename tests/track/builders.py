"""Helpers that create a valid track, as a dictionary or in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import TrackError
from pacenote.model.track import Track
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import TrackSource, open_track

NOW = RenderOptions(now=1_700_000_000.0)


def document(**changes: Any) -> dict[str, Any]:
    """Returns a small valid track; keyword arguments replace its keys, with underscores instead of dashes."""
    base: dict[str, Any] = {
        "version": 2,
        "indices": [{"name": "books"}],
        "corpora": [{"name": "library", "documents": [{"source-file": "books.json", "document-count": 10}]}],
        "operations": [{"name": "read", "operation-type": "search", "body": {"query": {"match_all": {}}}}],
        "schedule": [{"operation": "read"}],
    }
    changed = {key.replace("_", "-"): value for key, value in changes.items()}
    if {"challenges", "challenge"} & changed.keys():
        del base["schedule"]
    return {key: value for key, value in {**base, **changed}.items() if value is not None}


def folder(root: Path, files: dict[str, str]) -> TrackSource:
    """Writes a track folder that contains these files."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return open_track(root)


def load(root: Path, **changes: Any) -> Track:
    """Loads the small track with these changes."""
    return load_track(folder(root, {"track.json": json.dumps(document(**changes), indent=1)}), {}, NOW)


def problems(root: Path, **changes: Any) -> list[str]:
    """Returns the problems of the small track with changes that make it invalid."""
    with pytest.raises(TrackError) as caught:
        load(root, **changes)
    return list(caught.value.problems)
