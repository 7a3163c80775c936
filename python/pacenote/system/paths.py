"""What is at a path in a folder that others may have written to.

The methods of `Path` of the same names raise OSError for a link to a name that is too long, and below a
folder that the user cannot enter: one such neighbour would hide all others. To these functions, what cannot
be looked at does not exist.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path


def exists(path: Path) -> bool:
    """Returns whether a path leads to anything. Never raises."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path) -> bool:
    """Returns whether a path leads to a regular file. Never raises."""
    return os.path.isfile(path)  # noqa: PTH113


def is_dir(path: Path) -> bool:
    """Returns whether a path leads to a folder. Never raises."""
    return os.path.isdir(path)  # noqa: PTH112


def is_link(path: Path) -> bool:
    """Returns whether a path is a symbolic link, wherever it leads. Never raises."""
    return os.path.islink(path)  # noqa: PTH114


def paths_in(folder: Path) -> tuple[Path, ...]:
    """Returns the sorted paths of what is in a folder; none if it cannot be listed. Never raises.

    Unlike `Path.glob`, it looks at none of them.
    """
    try:
        return tuple(sorted(folder.iterdir()))
    except (OSError, ValueError):
        return ()


def real_path(path: Path) -> Path:
    """Returns the absolute path without links, as far as they can be followed. Never raises, unlike
    `Path.resolve`, which raises RuntimeError for links that lead to each other.
    """
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path


def written_at(status: os.stat_result) -> datetime:
    """Returns when a file was last modified, in UTC.

    Its owner can set that time, on some file systems to a year that a date cannot have. The result is then
    the time of the last change of its metadata.
    """
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(status.st_ctime, UTC)
