"""How far the tasks of a running race are, for other processes: one small file in its folder.

The race overwrites the file in place: replacing it each time would have the file system write to the disk
that the engine uses. A reader may therefore see parts of two versions, which the checksum detects. A version
ends with a newline; what follows is left of longer ones.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path

import msgspec
from msgspec import Struct

from pacenote.model.printable import encodable_value
from pacenote.model.race_progress import RaceProgress
from pacenote.model.secrets import redact_value
from pacenote.store.atomic_files import open_in_place
from pacenote.system.regular_files import is_regular_file

PROGRESS_FILE = ".progress"
"""Name of the file in the folder of a race."""

_MAX_BYTES = 1 << 20
_TRIES = 3


class StoredProgress(Struct, frozen=True):
    """The last progress that a race has stored."""

    progress: RaceProgress
    """How far the race is."""

    stored_at_s: float
    """When it was stored, in seconds since 1970."""


class ProgressFile:
    """The file of one race, to write to. Its failures do not matter to the race."""

    def __init__(self, folder: Path, secrets: frozenset[str] = frozenset()) -> None:
        """Creates the file. `secrets` are never stored."""
        self._path = folder / PROGRESS_FILE
        self._secrets = secrets
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):
            self._descriptor = open_in_place(self._path, os.O_WRONLY | os.O_CREAT)

    def write(self, progress: RaceProgress) -> None:
        """Replaces the stored progress."""
        if self._descriptor is None:
            return
        try:
            os.pwrite(self._descriptor, _line(progress, self._secrets), 0)
        except OSError:  # The disk is full, or gone.
            self.close()

    def close(self) -> None:
        """Removes the file: the results of the race say more."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def read_progress(folder: Path) -> StoredProgress | None:
    """Returns the last progress of the race in a folder, or None if there is none that can be read."""
    with contextlib.suppress(OSError):
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(folder / PROGRESS_FILE, flags)
        try:
            return _read(descriptor)
        finally:
            os.close(descriptor)
    return None


def _read(descriptor: int) -> StoredProgress | None:
    for _ in range(_TRIES):
        status = os.fstat(descriptor)
        if not is_regular_file(status):
            return None
        checksum, _, text = os.pread(descriptor, _MAX_BYTES, 0).partition(b"\n")[0].partition(b" ")
        if checksum == _checksum(text):
            # A different version of Pacenote may have other fields.
            with contextlib.suppress(ValueError):
                return StoredProgress(RaceProgress.from_json(text.decode()), status.st_mtime)
            return None
    return None


def _line(progress: RaceProgress, secrets: frozenset[str]) -> bytes:
    document = encodable_value(redact_value(progress.to_document(), secrets))
    text = msgspec.json.encode(document)
    return b"%b %b\n" % (_checksum(text), text)


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
