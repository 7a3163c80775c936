"""Helpers that write tracks with Python code to a folder."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacenote.model.track import Track
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track


def write_track(folder: Path, files: Mapping[str, str], document: Mapping[str, Any] | None = None) -> Path:
    """Writes a track folder `tour` with these files and a `track.json`, by default with one task."""
    root = folder / "tour"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    given = document or {"schedule": [{"operation": {"operation-type": "sleep", "duration": 0}}]}
    (root / "track.json").write_text(json.dumps({"version": 2, **given}), encoding="utf-8")
    return root


def loaded_track(root: Path, **params: Any) -> Track:
    """Loads the track from a folder."""
    return load_track(open_track(root), params, RenderOptions(now=0.0))
