"""Removes secrets from a text file that another program has written."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.errors import StoreError
from pacenote.model.secrets import redact, redact_urls
from pacenote.store.atomic_files import PRIVATE_FILE, is_regular_file, store_error, sync_folder
from pacenote.units import format_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MAX_LINE_CHARS = 1 << 20
"""Characters of a longer line are redacted in parts, so that no file exhausts the memory."""

_OVERLAP_CHARS = 1 << 16
"""Characters at the end of a part that are redacted again with the next one: a secret may be in both."""

MAX_DATA_BYTES = 256 << 20
"""Bytes of the largest file in which secrets are searched, without its holes: this takes minutes."""


def redact_file(path: Path, secrets: Collection[str]) -> None:
    """Replaces a file by a copy without secrets and user information of URLs, if it contains any; the copy
    has no holes, which another program can make of any size.

    Does nothing if it is not a regular file. Raises StoreError if it cannot be read or replaced, and for a
    file with more than `MAX_DATA_BYTES`, which it deletes.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _DataReader(path) as data:
            status = os.fstat(data.descriptor)
            if not is_regular_file(status):
                return
            if shutil.disk_usage(path.parent).free < min(status.st_blocks * 512, MAX_DATA_BYTES):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            # One that was left behind is not written to, because it may be a link.
            temporary.unlink(missing_ok=True)
            changed = _write_redacted(data, temporary, secrets)
        if changed:
            temporary.replace(path)
            sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise store_error("remove secrets from", path, error) from error
        path.unlink(missing_ok=True)
        limit = format_bytes(MAX_DATA_BYTES)
        raise StoreError(f"{path} was deleted: it is larger than {limit}, too large to search it") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _write_redacted(data: _DataReader, target: Path, secrets: Collection[str]) -> bool:
    """Writes a copy without secrets, and returns whether it differs from the data. Raises OSError."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as new:
        old = io.TextIOWrapper(
            io.BufferedReader(data), encoding="utf-8", errors="surrogateescape", newline="\n"
        )
        changed, waiting = False, ""
        while part := old.readline(_MAX_LINE_CHARS):
            text = waiting + part
            hidden = redact_urls(redact(text, secrets))
            changed |= hidden != text
            written = len(hidden) if part.endswith("\n") else max(0, len(hidden) - _OVERLAP_CHARS)
            new.write(hidden[:written])
            waiting = hidden[written:]
        new.write(waiting)
        new.flush()
        if changed:
            os.fsync(descriptor)
    return changed


class _DataReader(io.RawIOBase):
    """Reads a file without its holes. Raises OSError with EFBIG after `MAX_DATA_BYTES`."""

    def __init__(self, path: Path) -> None:
        """Opens a file. Raises OSError, also for a link."""
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        self._position = self._end = self._read = 0

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Reads the next bytes that are not in a hole; returns 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._position >= self._end:
            try:
                self._position = os.lseek(self.descriptor, self._position, os.SEEK_DATA)
                self._end = os.lseek(self.descriptor, self._position, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return 0
                raise
        part = os.pread(self.descriptor, min(len(view), self._end - self._position), self._position)
        view[: len(part)] = part
        self._position += len(part)
        self._read += len(part)
        if self._read > MAX_DATA_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return len(part)

    def close(self) -> None:
        """Closes the file."""
        if not self.closed:
            os.close(self.descriptor)
        super().close()
