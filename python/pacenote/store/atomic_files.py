"""Atomic writes: after a crash, a kill or a full disk, a file has either its old or its new content.

Reads never wait, even if a pipe or a device has the name of a file.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
from pathlib import Path

from pacenote.errors import StoreError

PRIVATE_FOLDER = 0o700
"""Mode of folders that only their owner may read."""

PRIVATE_FILE = 0o600
"""Mode of files that only their owner may read."""


_REASONS = {
    errno.ENOENT: "its folder was removed",
    errno.ELOOP: "it is a symbolic link",
    errno.EMLINK: "it has other names, too (hard links); put a copy in its place",
}

_TEMPORARY = re.compile(
    r"\.(?:race|saturation|plan|snapshot|engine|noise|experiment)\.(?:json|toml)\.([1-9]\d{0,18})\.tmp"
)
"""Name of a file that replaces another one, with the id of the process that writes it."""

ANY_TEMPORARY = re.compile(r"\..+\.([1-9]\d{0,18})\.tmp", re.DOTALL)
"""The same in a folder that Pacenote alone writes to, whatever the file is called that is replaced."""


def store_error(action: str, path: Path, error: OSError) -> StoreError:
    """Returns the error for a failed file operation; `action` is a verb such as `write`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(
            f"cannot {action} {path}: the disk is full", hint="free some space or set PACENOTE_HOME"
        )
    if error.errno == errno.EROFS:
        return StoreError(
            f"cannot {action} {path}: the file system is read-only",
            hint="set PACENOTE_HOME to another folder",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return StoreError(
            f"cannot {action} {path}: permission denied", hint="make it writable or set PACENOTE_HOME"
        )
    reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
    if action == "create" and error.errno == errno.ENOENT:
        reason = "a folder above it does not exist"
    return StoreError(f"cannot {action} {path}: {reason}")


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces the content of a file: readers see the old or the new content, even after a power failure.

    If that fails, the old content remains and StoreError is raised.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # One that was left behind is not written to, because it may be a link.
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise store_error("write", path, error) from error


def unreadable_path(path: Path) -> Path:
    """Returns a new name beside a file, under which what cannot be read of it is kept."""
    for number in itertools.count(1):
        kept = path.with_name(f"{path.name}.unreadable{f'-{number}' if number > 1 else ''}")
        if not os.path.lexists(kept):
            return kept
    raise AssertionError


def remove_abandoned(folder: Path, names: re.Pattern[str] = _TEMPORARY) -> None:
    """Removes what processes that were killed had begun to write atomically in a folder: files with `names`,
    whose group is the id of the process.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            match = names.fullmatch(path.name)
            if match is not None and not _is_running(int(match[1])):
                path.unlink()


def _is_running(process: int) -> bool:
    try:
        # A process of another user may not be signalled, but is running.
        with contextlib.suppress(PermissionError):
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    return True


def open_in_place(path: Path, flags: int) -> int:
    """Opens a file whose content is changed in place, and returns its descriptor. Raises OSError, also for a
    link and for a file with other names: in a folder that was copied from others, it may be one of a race.
    """
    descriptor = _open(path, flags)
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
    return descriptor


def _open(path: Path, flags: int) -> int:
    """Opens a file, but no link, and returns its descriptor. Raises OSError."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE_FILE)


def append_line(path: Path, line: bytes) -> None:
    """Appends one line, which is on disk when the function returns, to a file that the caller has created or
    has opened with `open_in_place` before. Since then, a backup may have given it another name (`cp -al`),
    which is no reason to end what runs.

    If that fails, the file is truncated to its old length so that later lines can be read, and StoreError is
    raised.
    """
    try:
        descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            old_size = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, line + b"\n")
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, old_size)
                raise
    except OSError as error:
        raise store_error("write", path, error) from error


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def sync_folder(folder: Path) -> None:
    """Makes a rename durable on file systems that can sync a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
