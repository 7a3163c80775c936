"""What is at a path in a folder that others may have written to.

The methods of `Path` of the same names raise OSError for a link to a name that is too long, and below a
folder that the user cannot enter: one such neighbour would hide all others. To these functions, what cannot
be looked at does not exist.

Links are followed by their text, and not in /proc: the kernel would follow one such as `/proc/PID/root`
into the mounts of another process, where a user can have mounted a file system in which every look waits,
without end and without regard to signals, for a program of that user.
"""

from __future__ import annotations

import errno
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

_MAX_LINKS = 40
"""Links on the way to a path, at most, as for the kernel."""

_THROUGH_PROC = "it leads through /proc"

_DESCRIPTORS = tuple(("/", "dev", name) for name in ("fd", "stdin", "stdout", "stderr"))

_OF_THE_KERNEL = (("/", "proc"), ("/", "sys"))
"""Beginnings of paths in which only the kernel puts links."""


def exists(path: Path) -> bool:
    """Returns whether a path leads to anything. Never raises."""
    return _mode(path) != 0


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


def real_path(path: Path) -> Path:
    """Returns the absolute path without links, as far as they can be followed. Never raises, unlike
    `Path.resolve`, which raises RuntimeError for links that lead to each other.
    """
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
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

    Links are followed by their text, the last one only if `follows_last` says so; otherwise the descriptor is
    that of the link. Raises OSError, with ELOOP for a link in /proc.
    """
    waiting = Path(path).parts[::-1]
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "it has no valid name")
    place, links = _opened(".", folder), 0
    try:
        while waiting:
            name, waiting = waiting[-1], waiting[:-1]
            entry = _opened(name, place)
            if (waiting or follows_last) and stat.S_ISLNK(os.fstat(entry).st_mode):
                links += 1
                waiting += _target(entry, links)
            else:
                os.close(place)
                place = entry
    except BaseException:
        os.close(place)
        raise
    return place


def _target(link: int, links: int) -> tuple[str, ...]:
    """Closes a link, and returns the parts of the path that it has as its text, the last one first. Raises
    OSError for a link in /proc, and for too many.
    """
    try:
        if _is_in_proc(link):
            raise OSError(errno.ELOOP, _THROUGH_PROC)
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return Path(os.readlink("", dir_fd=link)).parts[::-1]  # a descriptor
    finally:
        os.close(link)


def _is_in_proc(link: int) -> bool:
    try:
        proc = os.stat("/proc").st_dev  # noqa: PTH116
        # It may be an empty folder, as in some containers.
        return os.fstat(link).st_dev == proc != os.stat("/").st_dev  # noqa: PTH116
    except OSError:
        return False


def leads_through_proc(path: Path) -> bool:
    """Returns whether a path, or a link on the way, leads through a link in /proc, also if it is one of the
    kernel's own. A path that cannot be looked at does not.
    """
    try:
        os.close(open_place(path))
    except OSError as error:
        return error.strerror == _THROUGH_PROC
    return False


def _opened(name: str, folder: int | None) -> int:
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except ValueError as error:  # It is not text of the file system.
        raise OSError(errno.EINVAL, "it has no valid name") from error


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
