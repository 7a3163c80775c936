"""Copies the log files of a node out of its folder before the folder is removed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path


def keep_logs(node: Path, target: Path) -> None:
    """Copies files of the JVM (GC log, recordings, crash reports) in the folder of a node to `target`, the
    folder of the engine's log.
    """
    try:
        names = sorted(path.name for path in (node / "logs").iterdir())
    except OSError:
        return
    for name in names:
        try:
            _copy_regular(node / "logs" / name, target / name)
        except OSError:
            # A log that cannot be copied must not stop the rest of the cleanup.
            continue


def _copy_regular(source: Path, target: Path) -> None:
    """Copies a regular file without following links, because the node wrote it and Pacenote may be root."""
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            with target.open("wb") as out:
                shutil.copyfileobj(file, out, 1 << 20)
