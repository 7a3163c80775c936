"""Walks and removes folders that the user of a node has written, which may be nested without end."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Generator
from pathlib import Path

MAX_DEPTH = 64
"""Largest depth of folders that are read: engines need about ten."""


def walk_files(folder: Path) -> Generator[tuple[str, list[str], int], None, None]:
    """Yields each folder below one as its name, the names of its files, and its descriptor. Does not follow
    links. Raises OSError, also for folders that are nested too deeply.
    """
    top = len(folder.parts)
    for path, _, names, descriptor in os.fwalk(folder, onerror=_fail):
        current = Path(path)
        if len(current.parts) - top > MAX_DEPTH:
            raise too_deep()
        yield current.name, names, descriptor


def too_deep() -> OSError:
    """Returns the error for folders that are nested too deeply."""
    return OSError(errno.ELOOP, f"folders are nested more than {MAX_DEPTH} times")


def remove_tree(path: Path | str, parent: int | None = None) -> None:
    """Removes a folder with everything in it, at any depth, as far as possible; does not follow links. A
    relative path is below the open folder `parent`.
    """
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True, dir_fd=parent)
    # It is still there if it is nested more deeply than calls or than files that may be open.
    with contextlib.suppress(OSError):
        _flatten(path, parent)
        os.rmdir(path, dir_fd=parent)


def take_tree(folder: Path) -> None:
    """Makes the current user the owner of a folder and of everything in it, and the only one who may write.

    Raises OSError, also for a file with several names, one of which may be that of a file of another user.
    """
    for _, names, descriptor in walk_files(folder):
        os.fchown(descriptor, os.geteuid(), os.getegid())
        os.fchmod(descriptor, 0o755)
        for name in names:
            _take(name, descriptor)


def _take(name: str, folder: int) -> None:
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        # Who may write to its folder decides where a link leads.
        return
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(errno.EPERM, f"{name} is not a regular file with one name")
        os.fchown(file, os.geteuid(), os.getegid())
        os.fchmod(file, status.st_mode & 0o755)
    finally:
        os.close(file)


def _flatten(path: Path | str, parent: int | None) -> None:
    """Removes what is in a folder: moves the folders in it up, until none contains another one."""
    top = _open(path, parent)
    try:
        while names := os.listdir(top):  # noqa: PTH208
            for name in names:
                _empty(name, top)
    finally:
        os.close(top)


def _empty(name: str, top: int) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return
    folder = _open(name, top)
    try:
        for inner in os.listdir(folder):  # noqa: PTH208
            if stat.S_ISDIR(os.stat(inner, dir_fd=folder, follow_symlinks=False).st_mode):
                os.rename(inner, uuid.uuid4().hex, src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _open(path: Path | str, parent: int | None) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _fail(error: OSError) -> None:
    # A running engine removes folders.
    if not isinstance(error, FileNotFoundError):
        raise error
