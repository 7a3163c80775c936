"""Folders and files of an engine: readable by every user, and what to say when they cannot be written."""

from __future__ import annotations

import errno
from pathlib import Path

from pacenote.errors import EngineError


def make_public_dir(path: Path) -> None:
    """Create a folder, with missing parents, that everybody can read and only we can write."""
    missing = [path] if not path.exists() else []
    while missing and not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)


def disk_error(failure: OSError, path: Path) -> EngineError:
    """What to say when a file of the engine cannot be written."""
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return EngineError(
            f"no space left on the disk for {path}",
            hint="free some space, or set PACENOTE_HOME to a folder on another disk",
        )
    return EngineError(
        f"{path} cannot be written: {failure.strerror or failure}",
        hint="check the permissions of the folder, or set PACENOTE_HOME to another one",
    )


def write_public(path: Path, text: str) -> None:
    """Write a file that every user can read, whatever the umask."""
    path.write_text(text, "utf-8")
    path.chmod(0o644)
