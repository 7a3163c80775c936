"""Finds pipes and devices in the place of files of a git checkout, for which git would wait for ever."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

_OF_GIT = (
    *("HEAD", "config", "config.worktree", "packed-refs", "commondir", "gitdir", "shallow"),
    *("info/attributes", "info/grafts", "info/sparse-checkout"),
    *("objects/info/alternates", "objects/info/commit-graph", "objects/info/packs"),
)
"""Files that git reads in its folder, except those of which Pacenote gives it copies."""

_OF_FOLDERS = (".gitattributes", ".gitignore", ".gitmodules")
"""Files that git reads in folders of the work tree."""

_MAX_POINTER_BYTES = 1 << 14
_POINTER = re.compile(r"(?:gitdir: )?(.+?)\n*", re.DOTALL)


def special_file(folder: Path) -> Path | None:
    """Returns a special file that git reads first when it is run in a folder, or None if there is none.

    Only the folder, those that contain it, and git's own folder are searched; for others, there is the time
    limit of git's commands.
    """
    return next((file for file in _read_first(folder) if _is_special(file)), None)


def _read_first(folder: Path) -> Iterator[Path]:
    """Yields the files. What follows from the content of a file is yielded after it."""
    if (folder / "objects").is_dir() and (folder / "HEAD").exists():
        # A repository without a work tree.
        yield from (folder / name for name in _OF_GIT)
        return
    inner = Path(os.path.realpath(folder))
    levels: list[Path] = []
    for outer in (inner, *inner.parents):
        levels.append(outer)
        git = outer / ".git"
        if not (git.is_dir() or git.is_file()):
            continue
        yield from (level / name for level in levels for name in _OF_FOLDERS)
        git = _named_in(git, outer) if git.is_file() else git
        yield from (git / name for name in _OF_GIT)
        if (git / "commondir").is_file():
            common = _named_in(git / "commondir", git)
            yield from (common / name for name in _OF_GIT)
        return


def _named_in(pointer: Path, base: Path) -> Path:
    """Returns the path in a small file; `base` if it has none."""
    try:
        with pointer.open("rb") as file:
            text = os.fsdecode(file.read(_MAX_POINTER_BYTES))
    except OSError:
        return base
    match = _POINTER.fullmatch(text)
    return base / match[1] if match is not None and "\0" not in text else base


def _is_special(file: Path) -> bool:
    try:
        mode = file.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
