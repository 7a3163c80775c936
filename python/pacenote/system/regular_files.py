"""Reads files that may be anything: a pipe or a device whose reading never ends, or a file of any size."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pacenote.system.access_list import FileAccess, writers_of
from pacenote.system.paths import is_of_the_kernel, open_place
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
    return _read(path, 0, max_bytes)


def read_stored_file(path: Path) -> bytes:
    """Returns the content of a file in a folder of the home, which may be a copy of someone else's.

    Raises OSError as `read_regular_file` does, and if the file is a symbolic link, which could show any file
    of the user.
    """
    return _read(path, os.O_NOFOLLOW)


def read_with_access(
    path: Path, is_read: Callable[[FileAccess], bool] = lambda _: True, flags: int = 0
) -> tuple[bytes, FileAccess]:
    """Returns the content of a file, and who may write to it: to the file that was read, whatever the path
    names afterwards. What `is_read` rejects is not read, whatever it is, and has no content.

    Raises OSError as `read_regular_file` does; `flags` are further flags of `os.open`.
    """
    descriptor = _opened(path, flags)
    try:
        status = os.fstat(descriptor)
        access = FileAccess(status, writers_of(descriptor, status))
        if not is_read(access):
            return b"", access
        _check_regular(status)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return _content(file, MAX_FILE_BYTES), access
    finally:
        os.close(descriptor)


def open_regular_file(path: Path | str, flags: int = 0, *, folder: int | None = None) -> BinaryIO:
    """Opens a file to read it, with further flags of `os.open`; a relative path is below the open `folder`.

    Raises OSError; with EINVAL if it is not a regular file, such as a folder or a pipe.
    """
    descriptor = _opened(path, flags, folder)
    try:
        # Before `fdopen`, which refuses a folder and leaves it open.
        _check_regular(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _opened(path: Path | str, flags: int, folder: int | None = None) -> int:
    """Opens a file; links of the kernel on the way are not followed (`system/paths.py`)."""
    flags |= os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if is_of_the_kernel(path):
        try:
            return os.open(path, flags)
        except ValueError as error:
            raise OSError(errno.EINVAL, "it has no valid name") from error
    place = open_place(path, follows_last=not flags & os.O_NOFOLLOW, folder=folder)
    try:
        if stat.S_ISLNK(os.fstat(place).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        own = f"/proc/self/fd/{place}"
        if os.path.lexists(own):
            return os.open(own, flags & ~os.O_NOFOLLOW)
        # Without /proc, no link leads to the mounts of another process.
        return os.open(path, flags, dir_fd=folder)
    finally:
        os.close(place)


def _check_regular(status: os.stat_result) -> None:
    if not is_regular_file(status):
        raise OSError(errno.EINVAL, "it is not a regular file")


def _read(path: Path, flags: int, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    with open_regular_file(path, flags) as file:
        return _content(file, max_bytes)


def _content(file: BinaryIO, max_bytes: int) -> bytes:
    data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {format_bytes(max_bytes)}")
    return data
