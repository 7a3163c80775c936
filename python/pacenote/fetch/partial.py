"""A file that is being downloaded, with a note beside it that says what is here already.

Both lie beside the target under hidden names that hold a mark of the address, so that a download that was
cut, or killed, goes on where it stood, and two addresses never mix.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.fetch.server import Version

_NOTE_EVERY = 32 << 20
"""Bytes from one note to the next: what a killed download has to fetch again."""


@dataclass(slots=True)
class Part:
    """A piece of the file: from `first` up to `end` (None: not known), here up to `at`."""

    first: int
    end: int | None
    at: int

    @property
    def complete(self) -> bool:
        """Whether all of it is here."""
        return self.at == self.end


class Partial:
    """The beginnings of a file. Safe to use from several threads, each writing a part of its own."""

    def __init__(self, target: Path, shown: str) -> None:
        mark = hashlib.sha256(shown.encode()).hexdigest()[:8]
        self.file = target.with_name(f".{target.name}.{mark}.download")
        self._note = self.file.with_name(f"{self.file.name}.json")
        self._lock = threading.Lock()
        self._descriptor = -1
        self._unnoted = 0
        self.version: Version | None = None
        self.parts: list[Part] = []

    @property
    def here(self) -> int:
        """How many bytes are here."""
        return sum(part.at - part.first for part in self.parts)

    def resume(self) -> bool:
        """Takes up what an earlier download left; False if there is nothing that could be continued."""
        try:
            note = json.loads(self._note.read_text())
            name, digest = note["digest"]
            whole = Version(int(note["total"]), str(note["validator"]), True, (name, bytes.fromhex(digest)))
            parts = [Part(*map(int, part)) for part in note["parts"]]
            if not all(part.first <= part.at <= (part.end or 0) for part in parts):
                return False
            if self.file.stat().st_size < max(part.at for part in parts if part.at > part.first):
                return False
            self._descriptor = os.open(self.file, os.O_RDWR)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        self.version, self.parts = whole, parts
        return True

    def begin(self, version: Version, parts: Sequence[Part]) -> None:
        """Begins anew. Raises OSError."""
        self.close()
        self._note.unlink(missing_ok=True)
        # Another file of the same name: a thread that still writes to the old one does no harm.
        self.file.unlink(missing_ok=True)
        self._descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self.version, self.parts = version, list(parts)

    def write(self, part: Part, chunk: bytes) -> None:
        """Puts the next bytes of a part in place. Raises OSError."""
        left = memoryview(chunk)
        while left:
            written = os.pwrite(self._descriptor, left, part.at)
            part.at += written
            left = left[written:]
        with self._lock:
            self._unnoted += len(chunk)
            due = self._unnoted >= _NOTE_EVERY
            if due:
                self._unnoted = 0
        if due:
            self.save()

    def restart(self, part: Part) -> int:
        """Forgets what is here of a part; returns how much it was."""
        lost = part.at - part.first
        part.at = part.first
        return lost

    def save(self) -> None:
        """Notes what is here, if that is of use: a file of unknown length, or without a name for its version,
        cannot be continued. Raises OSError.
        """
        version = self.version
        if version is None or version.total is None or not (version.validator and version.ranges):
            return
        with self._lock:
            parts = [[part.first, part.end, part.at] for part in self.parts]
            # The bytes first: the note must never say more than the disk has.
            os.fdatasync(self._descriptor)
            new = self._note.with_name(f"{self._note.name}.new")
            note = {
                "total": version.total,
                "validator": version.validator,
                "digest": [version.digest[0], version.digest[1].hex()],
                "parts": parts,
            }
            new.write_text(json.dumps(note))
            new.replace(self._note)

    def finish(self, target: Path) -> None:
        """Gives the whole file its name. Raises OSError."""
        os.fsync(self._descriptor)
        self.close()
        self.file.replace(target)
        for left in target.parent.glob(f".{glob.escape(target.name)}.*.download*"):
            left.unlink(missing_ok=True)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Closes the file; what is here stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def discard(self) -> None:
        """Removes what is here."""
        self.close()
        self._note.unlink(missing_ok=True)
        self.file.unlink(missing_ok=True)
