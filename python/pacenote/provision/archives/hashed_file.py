"""Reads an archive once, and computes the checksum of what is read.

An archive of the user may be in a folder in which others may replace it, and a build may write it anew. So
what was compared with a checksum is not opened again by its path without comparing what is read then.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pacenote.errors import EngineError
from pacenote.system.regular_files import open_regular_file
from pacenote.units import format_bytes

MAX_COPIED_BYTES = 2 << 30
"""Size of the largest archive that is copied; those of plugins have some hundred megabytes."""

_CHUNK_BYTES = 1 << 20


class HashedFile:
    """An open file that is read from its beginning to its end, up to the size that it had when it was opened:
    another process may append to it without end.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha512()
        self.size = os.fstat(file.fileno()).st_size
        """Its size."""
        self.position = 0
        """Number of bytes read."""

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes, at most `size` unless that is below zero. Raises OSError."""
        left = self.size - self.position
        data = self._file.read(left if size < 0 else min(size, left))
        self._digest.update(data)
        self.position += len(data)
        return data

    def seek(self, offset: int) -> None:
        """Refuses to go back: what is read a second time could be something else."""
        raise io.UnsupportedOperation(f"seek to {offset:,}")

    def read_rest(self) -> str:
        """Reads what is left, and returns the SHA-512 checksum of all. Raises OSError."""
        while self.read(_CHUNK_BYTES):
            pass
        return self._digest.hexdigest()


@contextmanager
def unchanged_file(path: Path, sha512: str) -> Generator[HashedFile, None, None]:
    """Yields an archive to read, and reads what the block leaves of it.

    Raises EngineError at the end if what was read does not have the checksum, and OSError.
    """
    try:
        opened = open_regular_file(path)
    except OSError as failure:
        raise EngineError(f"{path} cannot be read: {failure.strerror}") from failure
    with opened:
        file = HashedFile(opened)
        yield file
        if file.read_rest() != sha512:
            raise EngineError(
                f"{path} is not used: it was changed or replaced after its checksum was computed",
                hint="run again when nothing writes to it; if it is a download, remove it",
            )


def copy_unchanged(path: Path, sha512: str, target: Path) -> None:
    """Copies an archive to a file that does not exist, and that every user can read.

    Raises EngineError if what is copied does not have the checksum, or is too large, and OSError.
    """
    with unchanged_file(path, sha512) as source, target.open("xb") as copy:
        if source.size > MAX_COPIED_BYTES:
            raise EngineError(
                f"{path} is not used: it is larger than {format_bytes(MAX_COPIED_BYTES)}",
                hint="name the archive of a plugin",
            )
        while chunk := source.read(_CHUNK_BYTES):
            copy.write(chunk)
        os.fchmod(copy.fileno(), 0o644)
