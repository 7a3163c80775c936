"""Writing files so that a crash, a kill or a full disk never leaves half of one behind."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from pacenote.errors import StoreError

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def store_error(action: str, path: Path, error: OSError) -> StoreError:
    """The error for a failed file operation, in one line and with what to do about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(
            f"cannot {action} {path}: the disk is full", hint="free some space or set PACENOTE_HOME"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"cannot {action} {path}: permission denied", hint="make it writable for you or set PACENOTE_HOME"
        )
    return StoreError(f"cannot {action} {path}: {error.strerror or error}")


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces a file by new content: readers see the old or the new one, also after a power cut.

    Raises StoreError; the old content is then still there.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise store_error("write", path, error) from error


def append_line(path: Path, line: bytes) -> None:
    """Appends one line that is on disk when this returns.

    Raises StoreError; the file is then as before, so that a later line can still be read.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            before = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, line + b"\n")
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(descriptor, before)
                raise
    except OSError as error:
        raise store_error("write", path, error) from error


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _sync_folder(folder: Path) -> None:
    """A rename is durable only once the folder is; file systems that cannot do this are left in peace."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
