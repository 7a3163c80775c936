"""What is at a path in a folder that others may have written to.

The methods of `Path` of the same names raise OSError for a link to a name that is too long, and below a
folder that the user cannot enter: one such neighbour would hide all others. To these functions, what cannot
be looked at does not exist.

Links such as `/proc/PID/root` are not followed: they lead into the mounts of another process, where a user
can have mounted a file system in which every look waits, without end and without regard to signals, for a
program of that user. The kernel is told so (openat2(2), Linux 5.6), because only it knows its own links, and
follows others as it always does: it mounts what is mounted when it is needed, and follows no link that
another user has put into a folder such as /tmp.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

_THROUGH_PROC = f"{os.strerror(errno.ELOOP)}, or one in /proc"

_OPENAT2 = 437
"""The number of openat2(2), which is the same for all processors; the C library has no function for it."""

_NO_MAGICLINKS = 0x02
_WORKING_FOLDER = -100  # AT_FDCWD of fcntl.h

_DESCRIPTORS = tuple(("/", "dev", name) for name in ("fd", "stdin", "stdout", "stderr"))

_OF_THE_KERNEL = (("/", "proc"), ("/", "sys"))
"""Beginnings of paths in which only the kernel puts links."""


def exists(path: Path) -> bool:
    """Returns whether a path leads to anything. Never raises."""
    return _mode(path) != 0


def is_missing(path: Path) -> bool:
    """Returns whether it is certain that nothing is at a path: what cannot be looked at may exist. Never
    raises.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def is_file(path: Path) -> bool:
    """Returns whether a path leads to a regular file. Never raises."""
    return stat.S_ISREG(_mode(path))


def is_dir(path: Path) -> bool:
    """Returns whether a path leads to a folder. Never raises."""
    return stat.S_ISDIR(_mode(path))


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


def named_paths_in(folder: Path) -> tuple[Path, ...]:
    """Returns those of `paths_in` whose names can be ids: without control characters, and UTF-8. Others can
    neither be typed nor printed, nor be part of a URL or a database.
    """
    return tuple(path for path in paths_in(folder) if path.name.isprintable())


def real_path(path: Path) -> Path:
    """Returns the absolute path without links, as far as they can be followed. Never raises, unlike
    `Path.resolve`, which raises RuntimeError for links that lead to each other.

    A path that leads through hundreds of links may be returned as it is: the kernel follows at most 40.
    """
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError, RecursionError):
        return path


def is_of_the_kernel(path: Path | str) -> bool:
    """Returns whether a path is in `/proc` or `/sys`, or is a descriptor of this process in `/dev`, so that
    Pacenote or the command line names it: a pipe, such as `/dev/fd/63`, is behind a link that has no path as
    its text.
    """
    parts = Path(path).parts
    return parts[:2] in _OF_THE_KERNEL or parts[:3] in _DESCRIPTORS


def open_place(path: Path | str, *, follows_last: bool = True, folder: int | None = None) -> int:
    """Opens a path with `O_PATH`: the descriptor only says what is there. A relative path is below the open
    `folder`, or the working folder.

    The last link is followed only if `follows_last` says so; otherwise the descriptor is that of the link.
    Raises OSError, with ELOOP for a link such as `/proc/PID/root`. Before Linux 5.6, and where a filter of
    system calls does not know openat2, such links are followed.
    """
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follows_last else os.O_NOFOLLOW)
    try:
        name = os.fsencode(path)
        if b"\0" in name:
            raise ValueError(name)
    except ValueError as error:  # It is not text of the file system.
        raise OSError(errno.EINVAL, "it has no valid name") from error
    descriptor, code = _openat2(_WORKING_FOLDER if folder is None else folder, name, flags)
    if code in (errno.ENOSYS, errno.EPERM):
        return os.open(name, flags, dir_fd=folder)
    if code:
        raise OSError(code, _THROUGH_PROC if code == errno.ELOOP else os.strerror(code))
    return descriptor


def _openat2(folder: int, name: bytes, flags: int) -> tuple[int, int]:
    """Calls openat2(2) without following links of the kernel. Returns the descriptor, and 0 or the error."""
    library = _library()
    how = (ctypes.c_uint64 * 3)(flags, 0, _NO_MAGICLINKS)
    while True:
        descriptor = library.syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(folder), name, how, ctypes.c_size_t(ctypes.sizeof(how))
        )
        if descriptor >= 0:
            return descriptor, 0
        if (code := ctypes.get_errno()) != errno.EINTR:
            return -1, code


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def leads_through_proc(path: Path) -> bool:
    """Returns whether a path, or a link on the way, leads through a link of the kernel, or through too many
    links. A path that cannot be looked at does not.
    """
    try:
        os.close(open_place(path))
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _mode(path: Path) -> int:
    """Returns the kind and the permissions of what a path leads to, or 0 if it cannot be looked at."""
    try:
        if is_of_the_kernel(path):
            return os.stat(path).st_mode  # noqa: PTH116
        place = open_place(path)
    except (OSError, ValueError):
        return 0
    try:
        return os.fstat(place).st_mode
    except OSError:
        return 0
    finally:
        os.close(place)


def written_at(status: os.stat_result) -> datetime:
    """Returns when a file was last modified, in UTC.

    Its owner can set that time, on some file systems to a year that a date cannot have. The result is then
    the time of the last change of its metadata.
    """
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(status.st_ctime, UTC)
