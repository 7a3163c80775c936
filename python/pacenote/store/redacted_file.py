"""Removes secrets from a text file that another program has written."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import string
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.model.messages import list_with_rest
from pacenote.model.secret_lines import SecretLines
from pacenote.store.atomic_files import PRIVATE_FILE, store_error, sync_folder
from pacenote.system.regular_files import is_regular_file
from pacenote.system.sparse_files import copy_content, data_bytes
from pacenote.units import format_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BLOCK_BYTES = 1 << 20
"""Bytes that are read at once."""

_MAX_LINE_BYTES = 4 << 20
"""Bytes of a longer line are redacted in parts, so that no file exhausts the memory."""

_OVERLAP_BYTES = 1 << 18
"""Bytes at the end of a part that are redacted again with the next one: a secret may be in both."""

_CREDENTIAL_BYTES = string.ascii_letters.encode() + string.digits.encode() + b"_.~+/%=-"
"""Bytes of which credentials in an HTTP header consist."""

MAX_DATA_BYTES = 16 << 30
"""Bytes of the largest file in which secrets are searched, without its holes; it takes a quarter of an hour.

A GC log that is not rotated can have as many in a day: with `gc*=info`, a collection takes about 3 kB, and
fifty collections per second take 13 GB.
"""

MAX_SEARCHED_BYTES = 256 << 20
"""Bytes of lines that may contain a secret, with what each line costs, in the largest file: these take
minutes, and the engine's user can write any number of them.
"""

_LOGS = re.compile(r".*(\.log(\.\d+)?|_(server|audit|deprecation|[a-z_]+log)(-[\d-]+)?\.json)", re.DOTALL)

_MAX_NAMED = 3
"""Number of logs that a message names."""


def redact_file(path: Path, secrets: Collection[str]) -> None:
    """Replaces a file by a copy without secrets and user information of URLs, if it contains any; the copy
    has no holes, which another program can make of any size.

    Does nothing if it is not a regular file. Raises StoreError if it cannot be read or replaced, and for a
    file with more than `MAX_DATA_BYTES` or `MAX_SEARCHED_BYTES`, which it deletes.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    lines = SecretLines(secrets)
    try:
        # A file without secrets, as most are, is not copied.
        with _opened(path) as log:
            status = os.fstat(log)
            if not is_regular_file(status) or not any(part.changed for part in _redacted_parts(log, lines)):
                return
        # One that was left behind is not written to, because it may be a link.
        temporary.unlink(missing_ok=True)
        with _opened(path) as log:
            if shutil.disk_usage(path.parent).free < data_bytes(log, status.st_size):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            _write_new(_redacted_parts(log, lines), temporary)
        temporary.replace(path)
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise store_error("remove secrets from", path, error) from error
        path.unlink(missing_ok=True)
        raise StoreError(f"{path} was deleted: {error.strerror}, too much to search") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def redact_logs(files: Iterable[Path], secrets: Collection[str]) -> None:
    """Removes secrets from those of the files that are logs which an engine writes, as far as they are not
    compressed: `*.log`, `*.log.N`, and those of official archives such as `CLUSTER_server.json`.

    Raises StoreError, after all of them, if a log cannot be replaced or was too large and is deleted.
    """
    problems = list[str]()
    for path in files:
        if _LOGS.fullmatch(path.name):
            try:
                redact_file(path, secrets)
            except StoreError as error:
                problems.append(error.message)
    if problems:
        raise StoreError(list_with_rest(problems, _MAX_NAMED))


class RedactedCopy:
    """Copies the files of an engine so that the copies of its logs, those that `redact_logs` searches, never
    contain secrets, whenever this process ends.
    """

    def __init__(self, secrets: Collection[str]) -> None:
        self._lines = SecretLines(secrets)

    def __call__(self, name: str, source: int, target: int, size: int, /) -> None:
        """Copies the first `size` bytes of an open file with this name to an empty one; the copy of a log has
        no holes.

        Raises OSError, also for a log with more than `MAX_DATA_BYTES` or `MAX_SEARCHED_BYTES`.
        """
        if _LOGS.fullmatch(name):
            with open(target, "wb", closefd=False) as file:
                file.writelines(part.data for part in _redacted_parts(source, self._lines, size))
        else:
            copy_content(source, target, size)


class _Part(Struct, frozen=True):
    """A part of a file without secrets."""

    data: bytes
    changed: bool
    """Whether the file contains something else here."""


def _redacted_parts(log: int, lines: SecretLines, size: int | None = None) -> Iterator[_Part]:
    """Yields the parts of the first `size` bytes of an open file, by default of all.

    Raises OSError with EFBIG after `MAX_SEARCHED_BYTES`.
    """
    reader, waiting, searched = io.BufferedReader(_DataReader(log, size)), b"", 0
    while block := reader.read(_BLOCK_BYTES):
        waiting += block
        end = waiting.rfind(b"\n") + 1
        is_whole = end > 0
        if not is_whole and len(waiting) < _MAX_LINE_BYTES:
            continue
        end = end or _end_of_part(waiting)
        text, waiting = waiting[:end], waiting[end:]
        redacted = lines.redact(text)
        searched += redacted.searched
        if searched > MAX_SEARCHED_BYTES:
            lines_size = format_bytes(MAX_SEARCHED_BYTES)
            raise OSError(errno.EFBIG, f"more than {lines_size} of it may be secrets")
        hidden = redacted.data
        if not is_whole:
            kept = max(0, len(hidden) - _OVERLAP_BYTES)
            hidden, waiting = hidden[:kept], hidden[kept:] + waiting
        yield _Part(hidden, redacted.data != text)
    hidden = lines.redact(waiting).data
    yield _Part(hidden, hidden != waiting)


def _end_of_part(line: bytes) -> int:
    """Returns where to end the first part of a long line: not within credentials, of which only the beginning
    would be redacted.
    """
    end = line[-_OVERLAP_BYTES:]
    before = len(end.rstrip(_CREDENTIAL_BYTES))
    return len(line) - len(end) + before if before else len(line)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Yields the descriptor of a file. Raises OSError, also for a link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_new(parts: Iterable[_Part], target: Path) -> None:
    """Writes a new file. Raises OSError."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        for part in parts:
            file.write(part.data)
        file.flush()
        os.fsync(descriptor)


class _DataReader(io.RawIOBase):
    """Reads an open file without its holes. Raises OSError with EFBIG after `MAX_DATA_BYTES`."""

    def __init__(self, descriptor: int, size: int | None) -> None:
        """Begins at the start of the file, and ends after `size` bytes or at its end."""
        self._descriptor = descriptor
        self._size = sys.maxsize if size is None else size
        self._position = self._end = self._read = 0

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Reads the next bytes that are not in a hole; returns 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._position >= self._end:
            try:
                self._position = os.lseek(self._descriptor, self._position, os.SEEK_DATA)
                self._end = os.lseek(self._descriptor, self._position, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return 0
                raise
        end = min(self._end, self._size)
        part = os.pread(self._descriptor, max(0, min(len(view), end - self._position)), self._position)
        view[: len(part)] = part
        self._position += len(part)
        self._read += len(part)
        if self._read > MAX_DATA_BYTES:
            raise OSError(errno.EFBIG, f"it is larger than {format_bytes(MAX_DATA_BYTES)}")
        return len(part)
