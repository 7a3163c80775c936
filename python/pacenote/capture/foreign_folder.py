"""Files in the folder of a track, which someone else may have made: links in it lead nowhere, and files that
have other names, too, stay as they are.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO


def new_file(path: Path, folder: int | None = None) -> BinaryIO:
    """Creates a file in place of one that was left behind, which may be a link. A relative path is below the
    open folder. Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666, dir_fd=folder), "wb")


def write_inside(folder: Path, name: str, data: bytes) -> None:
    """Writes a file atomically to a folder, or to one in it, which is created if it is missing. Raises
    OSError, also if that is a link.
    """
    *folders, file = Path(name).parts
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.ExitStack() as opened:
        descriptor = os.open(folder, flags)
        opened.callback(os.close, descriptor)
        for inner in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(inner, dir_fd=descriptor)
            descriptor = os.open(inner, flags, dir_fd=descriptor)
            opened.callback(os.close, descriptor)
        new = new_name(file)
        with new_file(Path(new), descriptor) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, file, src_dir_fd=descriptor, dst_dir_fd=descriptor)


def new_name(file: str) -> str:
    """Returns the name of a file while `write_inside` writes it, both as a path below the same folder."""
    path = Path(file)
    return path.with_name(f".{path.name}.new").as_posix()


def unknown_path(folder: Path, folders: Collection[str], is_known: Callable[[str], bool]) -> str:
    """Returns the path below a folder of a file that is not known, or of a folder that is not one of
    `folders` directly in it; empty if there is none. What is hidden and not known does not count: a track
    neither loads modules with such names, nor collects such parts. Raises OSError.
    """
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        with os.scandir(folder / inner) as entries:
            for entry in entries:
                path = f"{inner}{entry.name}"
                known = is_known(path)
                if entry.name.startswith(".") and not known:
                    continue
                if path in folders and entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                elif entry.is_dir(follow_symlinks=False) or not known:
                    return path
    return ""


def own_size(path: Path) -> int:
    """Returns the size of a file that `continued_file` would open, in bytes; 0 for others, and if there is
    none.
    """
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if _is_own(status) else 0


def continued_file(path: Path, size: int) -> BinaryIO:
    """Opens a file to write on after its first `size` bytes; the others are removed. Raises OSError, also for
    one that is not a regular file of this user with one name: writing would change what another name stands
    for.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not _is_own(os.fstat(descriptor)):
            raise OSError(errno.EPERM, "it is not a file of its own")
        os.ftruncate(descriptor, size)
        os.lseek(descriptor, size, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "wb")


def _is_own(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.geteuid()


def opened_file(path: Path) -> BinaryIO:
    """Opens a file to read it; a pipe is empty. Raises OSError, also for a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags), "rb")
