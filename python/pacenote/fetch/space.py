"""Room on the disk, looked at before something big is written."""

from __future__ import annotations

import shutil
from pathlib import Path

from pacenote.errors import CorpusError
from pacenote.units import format_bytes

_KEEP_FREE = 64 << 20
"""Bytes that stay free on the disk: what the core keeps, too."""


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raises CorpusError when the disk of a folder has no room for `needed` bytes more."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(existing).free
    if free < needed + _KEEP_FREE:
        raise CorpusError(
            f"no room for {what}: it needs {format_bytes(needed)}, {folder} has {format_bytes(free)} free",
            hint="free some space, or set PACENOTE_HOME to a folder on another disk",
        )
