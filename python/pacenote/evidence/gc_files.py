"""The files of a GC log: those of a rotated log belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_ROTATED = re.compile(r"(?:\.\d+)?(?:\.(?:gz|xz|zip))?$")
"""What rotation adds to the name of a log: `gc.log.3`, `gc.log.03.gz`."""


def log_name(file: Path) -> Path:
    """Returns the path of the log to which a file belongs: without number, `.gz`, `.xz` and `.zip`."""
    name = _ROTATED.sub("", file.name)
    return file.with_name(name) if name else file


def group_files(files: Sequence[Path]) -> dict[Path, tuple[Path, ...]]:
    """Returns the files of each log, in the order in which the logs are first named, without repetitions."""
    groups: dict[Path, list[Path]] = {}
    for file in files:
        group = groups.setdefault(log_name(file), [])
        if file not in group:
            group.append(file)
    return {name: tuple(group) for name, group in groups.items()}


def unnamed_files(name: Path, group: Sequence[Path]) -> tuple[Path, ...]:
    """Returns the files of the same log that exist beside those of the group, in the order of their names."""
    try:
        beside = [file for file in name.parent.iterdir() if file.name.startswith(name.name)]
    except OSError:  # The folder cannot be listed; the files that were named can be read nevertheless.
        return ()
    return tuple(sorted(file for file in beside if log_name(file) == name and file not in group))
