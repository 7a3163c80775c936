"""Reads GC logs with the Rust core: statistics of the whole log, or of the time of a task."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote import _core
from pacenote.errors import EvidenceError
from pacenote.evidence.core_errors import as_evidence_errors
from pacenote.evidence.recording import LONGEST_S, too_many_windows
from pacenote.model.codec import decode
from pacenote.model.gc_log import GcInput, GcLog

MOST_PAUSES = 200_000
"""Largest number of pauses that are returned one by one: those of five hours with ten in each second."""


class GcLogReader:
    """The GC log of an engine, which is read once.

    `files` are all files of one log, which may be rotated, in any order, plain or compressed. If the JVM was
    restarted, there is one log for each of its runs. Logs of OpenJ9 have local times without a time zone;
    `time_zone` is that of the JVM, and None the one of this machine. Raises EvidenceError if a file cannot be
    read, or if none has a line of a GC log; all methods raise it if what a file states cannot be shown.
    """

    def __init__(
        self,
        files: Sequence[Path],
        time_zone: tzinfo | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` returns seconds; it limits how long `between` takes."""
        self._clock = clock
        self._files = tuple(files)
        self._time_zone = time_zone
        with as_evidence_errors(self._files):
            self._core = _core.GcLogs(list(files))

    def read_input(self) -> GcInput:
        """Returns what was read, and what is missing."""
        with as_evidence_errors(self._files):
            return decode(GcInput, json.loads(self._core.input), "the GC log")

    def logs(self) -> tuple[GcLog, ...]:
        """Returns the log of each run of a JVM, in the order of their first lines; at least one."""
        with as_evidence_errors(self._files):
            return tuple(self._log(self._core.log(index)) for index in range(len(self._core)))

    def log(self) -> GcLog:
        """Returns the log of the last run of the JVM."""
        with as_evidence_errors(self._files):
            return self._log(self._core.log(len(self._core) - 1))

    def between(self, windows: Sequence[tuple[float, float]]) -> tuple[GcLog | None, ...]:
        """Returns the log with the statistics of each window: its start and end in seconds since 1970.

        If there are several runs of a JVM, it is the one that has most of the window; None if no run has a
        line in it. The part of a window before the first line of the run is left out, so that it does not
        count as time without pauses, and so is that after the last line, if another run follows. Raises
        EvidenceError if lines have no wall-clock times, and after a minute.
        """
        with as_evidence_errors(self._files):
            runs = [
                _Run(index, *self._on_wall_clock(start, end, is_local), is_local)
                for index, (start, end, is_local) in enumerate(self._core.times())
            ]
            logs = list[GcLog | None]()
            deadline_s = self._clock() + LONGEST_S
            for number, (start, end) in enumerate(windows):
                if self._clock() > deadline_s:
                    raise too_many_windows(self._files, number, len(windows))
                logs.append(self._window(runs, start, end))
            return tuple(logs)

    def pauses(self) -> list[tuple[float, float, str]]:
        """Returns the pauses of all runs of the JVM: begin in seconds since 1970, length in milliseconds, and
        kind; none of a log without wall-clock times. There are at most `MOST_PAUSES`, the first ones.
        """
        pauses: list[tuple[float, float, str]] = []
        with as_evidence_errors(self._files):
            for index, (_, _, is_local) in enumerate(self._core.times()):
                kinds, of_run = self._core.pauses(index, MOST_PAUSES - len(pauses))
                for at, ms, kind in of_run:
                    pauses.append((self._unix(at) if is_local else at, ms, kinds[kind]))
        return pauses

    def _window(self, runs: Sequence[_Run], start: float, end: float) -> GcLog | None:
        best = max(runs, key=lambda run: run.seconds_in(start, end))
        if best.seconds_in(start, end) <= 0:
            return None
        start = max(start, best.start)
        if best is not runs[-1]:
            end = min(end, best.end)
        if best.is_local:
            start, end = self._local(start), self._local(end)
        return self._log(self._core.between(best.index, start, end))

    def _on_wall_clock(self, start: float | None, end: float | None, is_local: bool) -> tuple[float, float]:
        if start is None or end is None:
            raise EvidenceError(
                f"the lines of {self._files[0]} have no wall-clock times",
                hint="add the decorator utctime to -Xlog",
            )
        return (self._unix(start), self._unix(end)) if is_local else (start, end)

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


class _Run(Struct, frozen=True):
    """The times of one run of a JVM."""

    index: int
    """Its position in the log."""

    start: float
    """Time of its first line in seconds since 1970."""

    end: float
    """Time of its last line in seconds since 1970."""

    is_local: bool
    """Whether the log has local times."""

    def seconds_in(self, start: float, end: float) -> float:
        """Returns the length of the part of a window that it covers; negative if it covers none."""
        return min(end, self.end) - max(start, self.start)
