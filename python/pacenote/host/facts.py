"""Collects facts, and the reasons why others could not be read."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from pacenote.model.snapshot import Snapshot

MAX_FACT_BYTES = 64 << 10
"""Size up to which a file is read: most files of the kernel are small."""


class Facts:
    """The facts that have been read so far. Its methods never raise for what they cannot read."""

    def __init__(self) -> None:
        self._facts: dict[str, str] = {}
        self._unread: dict[str, str] = {}

    def set(self, key: str, value: object) -> None:
        """Adds a fact; None adds nothing, and a truth value is `true` or `false`."""
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self._facts[key] = " ".join(text.split())

    def unread(self, key: str, reason: str) -> None:
        """States why a fact, or a group of facts (`GROUP.*`), was not read."""
        self._unread[key] = reason

    def file(self, key: str, path: Path, parse: Callable[[str], object] = str) -> None:
        """Adds the content of a file, or the reason why it cannot be read."""
        text = self.text(key, path)
        if text is None:
            return
        try:
            self.set(key, parse(text))
        except (ValueError, LookupError):
            self.unread(key, f"{path} has an unexpected form")

    def text(self, key: str, path: Path, max_bytes: int = MAX_FACT_BYTES) -> str | None:
        """Returns the content of a file; if it cannot be read, adds the reason and returns None."""
        try:
            return read_text(path, max_bytes)
        except OSError as error:
            self.unread(key, f"{path}: {error.strerror or error}")
            return None

    def optional(self, key: str, path: Path) -> None:
        """Adds the content of a file that only some machines have; if it is absent or empty, adds nothing."""
        with contextlib.suppress(OSError):
            self.set(key, read_text(path) or None)

    def snapshot(self) -> Snapshot:
        """Returns what was read, sorted by key."""
        return Snapshot(self._facts, self._unread).merged()


def read_text(path: Path, max_bytes: int = MAX_FACT_BYTES) -> str:
    """Returns the beginning of a small file, without the blanks around it. Raises OSError.

    Never waits: a pipe is not read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        data = b""
        while len(data) < max_bytes and (part := os.read(descriptor, max_bytes - len(data))):
            data += part
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").strip()


def selected(text: str) -> str:
    """Returns the word in brackets, as the kernel marks the selected one of several values."""
    before, _, rest = text.partition("[")
    word, closed, _ = rest.partition("]")
    return word if closed else before.strip()


def combined(values: Iterable[str]) -> str:
    """Returns a value that all have, or the different ones with their numbers, such as `a (6), b (2)`."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{value} ({count})" for value, count in counts.items())


def names_in(folder: Path) -> tuple[str, ...]:
    """Returns the sorted names in a folder, none if it cannot be read."""
    try:
        return tuple(sorted(os.listdir(folder)))  # noqa: PTH208  # sysfs has no types of entries to keep
    except OSError:
        return ()
