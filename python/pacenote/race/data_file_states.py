"""Notices data files that are changed while a race uses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells versions of a file apart without reading it."""

    path: Path
    """The file."""

    size: int
    """Size in bytes."""

    modified_ns: int
    """When its content was last modified, in nanoseconds."""

    identity: tuple[int, int]
    """Device and inode."""

    changed_ns: int
    """When its content, times, mode, owner or names were last changed, in nanoseconds.

    Unlike `modified_ns`, a program cannot set it.
    """

    access: tuple[int, int, int, int]
    """Mode, owner, group and number of names, whose changes do not matter."""

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Returns the current state of a file. Raises OSError."""
        status = path.stat()
        return cls(
            path,
            status.st_size,
            status.st_mtime_ns,
            (status.st_dev, status.st_ino),
            status.st_ctime_ns,
            (status.st_mode, status.st_uid, status.st_gid, status.st_nlink),
        )

    def change(self) -> str | None:
        """Returns what has happened to the file since, as a verb phrase, or None if nothing has."""
        try:
            now = FileState.of(self.path)
        except OSError as error:
            return f"cannot be found any more ({error.strerror})"
        if now.identity != self.identity:
            return "was replaced by another file"
        if now.size != self.size:
            return f"was changed from {self.size:,} to {now.size:,} bytes"
        if now.modified_ns != self.modified_ns:
            return "was modified"
        # A change of mode, owner or names explains the change of the status.
        if now.changed_ns != self.changed_ns and now.access == self.access:
            return "was modified, and its time was set back,"
        return None


def changes(states: Iterable[FileState]) -> tuple[str, ...]:
    """Returns a sentence for each file that is no longer in its state."""
    found = ((state.path, state.change()) for state in states)
    return tuple(f"{path} {change}" for path, change in found if change)
