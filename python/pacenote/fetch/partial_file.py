"""A file that is being downloaded, and the state file from which an interrupted download continues.

Both are hidden files in the folder of the target. Their names contain a hash of the URL, so data from two
servers is never mixed.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.fetch.disk import read_small_file, write_new_file
from pacenote.fetch.http_file import Digest, FileVersion
from pacenote.model.decoding import parse_json

_SAVE_EVERY_BYTES = 32 << 20
"""Bytes between two saved states; a killed download has to repeat at most this many."""

PARTIAL_FILES = ".*.download*"
"""Glob pattern of partial files and their state files."""


class FileSegment(Struct):
    """A range of the file that one request downloads, or several requests if a connection breaks."""

    start: int
    """Offset of the first byte."""
    end: int | None
    """Offset after the last byte, or None if the size of the file is not known."""
    position: int
    """Offset of the next byte to download."""

    @property
    def complete(self) -> bool:
        """Whether all bytes of the segment have been downloaded."""
        return self.position == self.end


class PartialFile:
    """The downloaded part of a file. Safe to use from several threads, each writing its own segment."""

    def __init__(self, target: Path, display_url: str) -> None:
        mark = hashlib.sha256(display_url.encode()).hexdigest()[:8]
        self.path = target.with_name(f".{target.name}.{mark}.download")
        self._state_path = self.path.with_name(f"{self.path.name}.json")
        self._new_state_path = self.path.with_name(f"{self.path.name}.json.new")
        self._lock = threading.Lock()
        self._descriptor = -1
        self._unsaved_bytes = 0
        self.version: FileVersion | None = None
        self.segments: list[FileSegment] = []

    @property
    def downloaded_bytes(self) -> int:
        """Number of downloaded bytes."""
        return sum(segment.position - segment.start for segment in self.segments)

    @property
    def resumable(self) -> bool:
        """Whether a later download can continue this one, because the size and version of the file are
        known.
        """
        version = self.version
        return version is not None and version.size is not None and bool(version.validator and version.ranges)

    def resume(self) -> bool:
        """Opens the partial file of an earlier download, and returns False if it cannot be continued."""
        try:
            state = parse_json(read_small_file(self._state_path))
            algorithm, value = state["digest"]
            digest = Digest(algorithm, bytes.fromhex(value)) if algorithm else None
            version = FileVersion(int(state["total"]), str(state["validator"]), ranges=True, digest=digest)
            segments = [FileSegment(*map(int, part)) for part in state["parts"]]
            if not all(segment.start <= segment.position <= (segment.end or 0) for segment in segments):
                return False
            if [segment.start for segment in segments] != [0, *(segment.end for segment in segments[:-1])]:
                return False
            if segments[-1].end != version.size:
                return False
            written = [segment.position for segment in segments if segment.position > segment.start]
            descriptor = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        status = os.fstat(descriptor)
        # What is written to a file with other names changes what these stand for.
        if status.st_nlink > 1 or status.st_size < max(written, default=1):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        self.version, self.segments = version, segments
        return True

    def create(self, version: FileVersion, segments: Sequence[FileSegment]) -> None:
        """Starts from the beginning. Raises OSError."""
        self.close()
        self._state_path.unlink(missing_ok=True)
        # This must be a new file, because a thread may still be writing to the old one.
        self.path.unlink(missing_ok=True)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self.version, self.segments = version, list(segments)

    def write(self, segment: FileSegment, chunk: bytes) -> None:
        """Writes the next bytes of a segment. Raises OSError."""
        rest = memoryview(chunk)
        while rest:
            written = os.pwrite(self._descriptor, rest, segment.position)
            segment.position += written
            rest = rest[written:]
        with self._lock:
            self._unsaved_bytes += len(chunk)
            due = self._unsaved_bytes >= _SAVE_EVERY_BYTES
            if due:
                self._unsaved_bytes = 0
        if due:
            self.save()

    def restart(self, segment: FileSegment) -> int:
        """Discards the downloaded bytes of a segment and returns their number."""
        discarded = segment.position - segment.start
        segment.position = segment.start
        return discarded

    def save(self) -> None:
        """Saves the state, if the download is resumable. Raises OSError."""
        version = self.version
        if version is None or not self.resumable:
            return
        digest = version.digest
        with self._lock:
            parts = [[segment.start, segment.end, segment.position] for segment in self.segments]
            # The bytes are synced first: the state must not list bytes that are not on disk.
            os.fdatasync(self._descriptor)
            state = {
                "total": version.size,
                "validator": version.validator,
                "digest": [digest.algorithm, digest.value.hex()] if digest else ["", ""],
                "parts": parts,
            }
            write_new_file(self._new_state_path, json.dumps(state))
            self._new_state_path.replace(self._state_path)

    def commit(self, target: Path) -> None:
        """Renames the complete file to its target and removes the target's other partial files. Raises
        OSError.
        """
        os.fsync(self._descriptor)
        self.check_name()
        self.path.replace(target)
        self._close_descriptor()
        for other in target.parent.glob(f".{glob.escape(target.name)}.*.download*"):
            other.unlink(missing_ok=True)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def check_name(self) -> None:
        """Raises OSError if the name of the file belongs to another one: the folder may be on a file system
        without locks, and another process may download the same file.
        """
        if not os.path.samestat(os.fstat(self._descriptor), self.path.lstat()):
            raise OSError(errno.ESTALE, "another process is downloading the same file")

    def make_public(self) -> None:
        """Lets every user read the file, whatever the umask. Raises OSError."""
        os.fchmod(self._descriptor, 0o644)

    def close(self) -> None:
        """Closes the file. Keeps it only if a later download can continue it."""
        if self._close_descriptor() and not self.resumable:
            self._remove()

    def discard(self) -> None:
        """Closes and removes the file."""
        self.close()
        self._remove()

    def _close_descriptor(self) -> bool:
        if self._descriptor < 0:
            return False
        os.close(self._descriptor)
        self._descriptor = -1
        return True

    def _remove(self) -> None:
        # Writing a state may have failed, or may have been interrupted by a kill.
        for path in (self._new_state_path, self._state_path, self.path):
            path.unlink(missing_ok=True)
