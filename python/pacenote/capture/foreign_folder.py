"""Files in the folder of a track, which someone else may have made: links in it lead nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO


def new_file(path: Path) -> BinaryIO:
    """Creates a file in place of one that was left behind, which may be a link. Raises OSError."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb")


def opened_file(path: Path) -> BinaryIO:
    """Opens a file to read it; a pipe is empty. Raises OSError, also for a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags), "rb")
