"""Notices data files that are changed while a race uses them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

_BLOCKS = 128
"""Blocks of a file that are compared; those of a small file are all of it."""

_BLOCK_BYTES = 64 * 1024
"""Size of a block in bytes."""


class _FileStatus(Struct, frozen=True):
    """What tells versions of a file apart without reading it."""

    size: int
    """Size in bytes."""

    modified_ns: int
    """When its content was last modified, in nanoseconds."""

    identity: tuple[int, int]
    """Device and inode."""

    changed_ns: int
    """When its content, times, mode, owner, names or other attributes were last changed, in nanoseconds.

    Unlike `modified_ns`, a program cannot set it.
    """

    @classmethod
    def of(cls, path: Path) -> _FileStatus:
        """Returns the current status of a file. Raises OSError."""
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), status.st_ctime_ns)


class FileChange(Struct, frozen=True):
    """What has happened to a data file."""

    text: str
    """A sentence about it, which begins with the path."""

    certain: bool = True
    """Whether its content has changed; otherwise, it may have."""


class FileState(Struct, frozen=True):
    """A version of a file."""

    path: Path
    """The file."""

    status: _FileStatus
    """Its status."""

    checksum: int | None
    """The checksum of its blocks, or None if it cannot be read."""

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Returns the current state of a file. Raises OSError if it has none."""
        # What changes while the blocks are read, changes after this status.
        status = _FileStatus.of(path)
        return cls(path, status, _checksum(path, status.size))

    def change(self) -> FileChange | None:
        """Returns what has happened to the file since, or None if nothing has.

        The file is read only if its status has changed, and this does not tell whether its content has.
        """
        try:
            now = _FileStatus.of(self.path)
        except OSError as error:
            return self._changed(f"cannot be found any more ({error.strerror})")
        if now.identity != self.status.identity:
            return self._changed("was replaced by another file")
        if now.size != self.status.size:
            return self._changed(f"was changed from {self.status.size:,} to {now.size:,} bytes")
        if now.modified_ns != self.status.modified_ns:
            return self._changed("was modified")
        return None if now.changed_ns == self.status.changed_ns else self._changed_content()

    def _changed_content(self) -> FileChange | None:
        """Returns the change of a file whose status says only that something has happened to it."""
        checksum = _checksum(self.path, self.status.size)
        if checksum is None or self.checksum is None:
            return FileChange(f"{self.path} may have been modified (it cannot be read)", certain=False)
        if checksum != self.checksum:
            return self._changed("was modified and its time set back")
        if len(_block_starts(self.status.size)) * _BLOCK_BYTES >= self.status.size:
            return None
        return FileChange(
            f"{self.path} may have been modified ({_BLOCKS} blocks of it are the same)", certain=False
        )

    def _changed(self, what: str) -> FileChange:
        return FileChange(f"{self.path} {what}")


def _block_starts(size: int) -> list[int]:
    """Returns where the blocks of a file begin that are compared: all, or some at equal distances with the
    first and the last.
    """
    if size <= _BLOCKS * _BLOCK_BYTES:
        return list(range(0, size, _BLOCK_BYTES))
    return [(size - _BLOCK_BYTES) * index // (_BLOCKS - 1) for index in range(_BLOCKS)]


def _checksum(path: Path, size: int) -> int | None:
    """Returns the checksum of the blocks of a file, or None if it cannot be read."""
    checksum = 0
    try:
        with path.open("rb", buffering=0) as file:
            for start in _block_starts(size):
                file.seek(start)
                checksum = zlib.crc32(file.read(_BLOCK_BYTES), checksum)
    except OSError:
        return None
    return checksum


def changes(states: Iterable[FileState]) -> tuple[FileChange, ...]:
    """Returns a change for each file that differs from its recorded state."""
    return tuple(change for state in states if (change := state.change()) is not None)
