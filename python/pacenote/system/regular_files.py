"""Reads files that may be anything: a pipe or a device whose reading never ends, or a file of any size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from pacenote.units import format_bytes

MAX_FILE_BYTES = 64 << 20
"""Size of the largest JSON file that is read: the results of thousands of tasks."""


def is_regular_file(status: os.stat_result) -> bool:
    """Returns whether this is the status of a regular file; reading a pipe or a device may never end."""
    return stat.S_ISREG(status.st_mode)


def read_regular_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Returns the content of a file.

    Raises OSError, also if it is not a regular file, or if it is larger than `max_bytes`.
    """
    return _read(path, 0, max_bytes)[0]


def read_stored_file(path: Path) -> bytes:
    """Returns the content of a file in a folder of the home, which may be a copy of someone else's.

    Raises OSError as `read_regular_file` does, and if the file is a symbolic link, which could show any file
    of the user.
    """
    return _read(path, os.O_NOFOLLOW)[0]


def read_with_status(path: Path) -> tuple[bytes, os.stat_result]:
    """Returns the content of a file, and the status of the file that was read. Raises OSError as
    `read_regular_file` does.
    """
    return _read(path, 0)


def _read(path: Path, flags: int, max_bytes: int = MAX_FILE_BYTES) -> tuple[bytes, os.stat_result]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    except ValueError as error:  # Its name contains a NUL character, or is not text of the file system.
        raise OSError(errno.EINVAL, "it has no valid name") from error
    status = os.fstat(descriptor)
    if not is_regular_file(status):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {format_bytes(max_bytes)}")
        return data, status
