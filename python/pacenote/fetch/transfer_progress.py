"""Progress of transfers: bytes counted by several threads, reported to one callback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from pacenote.model.progress import ProgressCallback

_REPORT_EVERY_S = 0.1

ByteCallback = Callable[[int, int], None]
"""Called with the number of bytes done and the total; a total of 0 means that it is not known."""


class ProgressMeter:
    """Counts the bytes of all threads of a transfer, and reports the sum at most ten times a second."""

    def __init__(self, report: ByteCallback) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._next_report = 0.0
        self.total = 0
        self.done = 0

    def add(self, count: int) -> None:
        """Adds bytes; a negative count subtracts bytes that have to be downloaded again."""
        with self._lock:
            self.done += count
            now = time.monotonic()
            if now >= self._next_report or self.done == self.total:
                self._next_report = now + _REPORT_EVERY_S
                self._report(self.done, self.total)


class FileProgress(Struct, frozen=True):
    """Callbacks for the two phases of a download."""

    transferred: ByteCallback
    """Called while bytes arrive."""
    verified: ByteCallback
    """Called while the checksum is computed."""

    @classmethod
    def labelled(cls, name: str, callback: ProgressCallback) -> FileProgress:
        """Reports a single file by its name."""
        return cls(
            lambda done, total: callback(f"downloading {name}", done, total),
            lambda done, total: callback(f"verifying {name}", done, total),
        )


class BatchProgress:
    """Adds up the progress of several files. Calls the callback from one thread at a time."""

    def __init__(self, label: str, total: int, callback: ProgressCallback) -> None:
        """Creates a batch. `total` is in bytes; it is 0 if the size of a file is not known."""
        self._label = label
        self._total = total
        self._callback = callback
        self._lock = threading.Lock()
        self._done = 0

    def file(self) -> FileProgress:
        """Returns the callbacks for one more file."""
        reported = 0

        def transferred(done: int, _: int) -> None:
            nonlocal reported
            with self._lock:
                self._done += done - reported
                reported = done
                self._callback(self._label, self._done, self._total)

        return FileProgress(transferred, lambda *_: None)
