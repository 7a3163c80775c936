"""Reads GC logs with the Rust core: statistics of the whole log, or of the time of a task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from pacenote import _core
from pacenote.errors import EvidenceError
from pacenote.model.codec import decode
from pacenote.model.gc_log import GcInput, GcLog


class GcLogReader:
    """The GC log of an engine, which is read once.

    `files` are all files of one log, which may be rotated, in any order, plain or compressed. If the JVM was
    restarted, there is one log for each of its runs. Logs of OpenJ9 have local times without a time zone;
    `time_zone` is that of the JVM, and None the one of this machine. Raises EvidenceError if a file cannot be
    read, or if none has a line of a GC log.
    """

    def __init__(self, files: Sequence[Path], time_zone: tzinfo | None = None) -> None:
        self._files = tuple(files)
        self._time_zone = time_zone
        try:
            self._core = _core.GcLogs(list(files))
        except _core.CoreError as error:
            raise _evidence_error(error) from error

    def read_input(self) -> GcInput:
        """Returns what was read, and what is missing."""
        return decode(GcInput, json.loads(self._core.input), "the GC log")

    def logs(self) -> tuple[GcLog, ...]:
        """Returns the log of each run of a JVM, in the order of their first lines; at least one."""
        return tuple(self._log(self._core.log(index)) for index in range(len(self._core)))

    def log(self) -> GcLog:
        """Returns the log of the last run of the JVM."""
        return self._log(self._core.log(len(self._core) - 1))

    def between(self, start: float, end: float) -> GcLog:
        """Returns the log with the statistics of a window in seconds since 1970.

        If there are several runs of a JVM, it is the one that has most of the window. Raises EvidenceError if
        lines have no wall-clock times, or if no run has a line in the window.
        """
        best = max(range(len(self._core)), key=lambda index: self._seconds_in(index, start, end))
        if self._seconds_in(best, start, end) <= 0:
            raise EvidenceError(
                f"{self._files[0]} has no line between {start:.3f} and {end:.3f} (seconds since 1970)",
                hint="read the log of the same time",
            )
        if self._log(self._core.log(best)).openj9:
            start, end = self._local(start), self._local(end)
        try:
            return self._log(self._core.between(best, start, end))
        except _core.CoreError as error:
            raise _evidence_error(error) from error

    def pauses(self) -> Iterator[tuple[float, float, str]]:
        """Yields the pauses of all runs of the JVM: begin in seconds since 1970, length in milliseconds, and
        kind; none of a log without wall-clock times.
        """
        for index in range(len(self._core)):
            is_local = self._log(self._core.log(index)).openj9 is not None
            for at, ms, kind in self._core.pauses(index):
                yield (self._unix(at) if is_local else at), ms, kind

    def _seconds_in(self, index: int, start: float, end: float) -> float:
        log = self._log(self._core.log(index))
        if log.start is None or log.end is None:
            raise EvidenceError(
                f"the lines of {self._files[0]} have no wall-clock times",
                hint="add the decorator utctime to -Xlog",
            )
        return min(end, log.end) - max(start, log.start)

    def _log(self, document: str) -> GcLog:
        log = decode(GcLog, json.loads(document), "the GC log")
        if log.openj9 is None or log.start is None or log.end is None:
            return log
        return replace(log, start=self._unix(log.start), end=self._unix(log.end))

    def _unix(self, local: float) -> float:
        """Converts a time of the JVM's local clock, written as if its time zone were UTC."""
        clock = datetime.fromtimestamp(local, UTC).replace(tzinfo=self._time_zone)
        return clock.timestamp()

    def _local(self, unix: float) -> float:
        """Converts in the opposite direction."""
        return datetime.fromtimestamp(unix, self._time_zone).replace(tzinfo=UTC).timestamp()


def _evidence_error(error: _core.CoreError) -> EvidenceError:
    """Returns the error with the part after the first semicolon as its hint, as the core writes messages."""
    message, _, hint = str(error).rpartition("; ")
    return EvidenceError(message, hint=hint) if message else EvidenceError(hint)
