"""Reads Flight Recorder recordings with the Rust core."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pacenote import _core
from pacenote.errors import EvidenceError
from pacenote.evidence.core_errors import as_evidence_errors
from pacenote.model.recording import Recording

_MOST_WINDOWS = 4
"""Largest number of windows for which files are read at a time; they share the memory of the core."""


LONGEST_S = 60.0
"""Seconds after which files are not read for further windows."""


class RecordingReader:
    """One or several recordings of the same JVM, plain or compressed with gzip.

    What cannot be read of a file is among its `problems`. All methods raise EvidenceError if a file cannot be
    opened, or if no file has a chunk that can be read.
    """

    def __init__(self, paths: Sequence[Path], clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds; it limits how long `between` reads."""
        self._paths = tuple(paths)
        self._clock = clock

    def recording(self, window_ns: tuple[int, int] | None = None) -> Recording:
        """Reads the files, all of them or the events that begin between two times in ns since 1970."""
        (recording,) = self._read([window_ns])
        return recording

    def between(self, windows_ns: Sequence[tuple[int, int]]) -> Iterator[Recording]:
        """Yields the recording of each such window, such as the start and the end of each task. The files are
        read once for several windows. Raises EvidenceError after a minute: a race may have very many tasks.
        """
        deadline_s = self._clock() + LONGEST_S
        for number in range(0, len(windows_ns), _MOST_WINDOWS):
            if number and self._clock() > deadline_s:
                raise too_many_windows(self._paths, number, len(windows_ns))
            yield from self._read(windows_ns[number : number + _MOST_WINDOWS])

    def _read(self, windows_ns: Sequence[tuple[int, int] | None]) -> list[Recording]:
        # Slow to import, and not needed for `--help`.
        from pacenote.evidence.recording_document import decode_recording

        with as_evidence_errors(self._paths):
            documents = _core.read_recordings(list(self._paths), list(windows_ns))
            documents.reverse()
            recordings = []
            while documents:  # Each text is released before the next one is decoded.
                recordings.append(decode_recording(documents.pop()))
        for recording in recordings:
            if not any(file.chunks for file in recording.files):
                raise _unreadable(recording)
        return recordings


def too_many_windows(paths: Sequence[Path], known: int, wanted: int) -> EvidenceError:
    """Returns the error for files that are not read for all windows, because that takes too long."""
    return EvidenceError(
        f"{paths[0]} was read for {known:,} of {wanted:,} tasks only: more take over {LONGEST_S:.0f} s",
        hint="record for less time, or race fewer tasks",
    )


def _unreadable(recording: Recording) -> EvidenceError:
    hint = "name a recording of JDK 9 or newer, such as those that `jcmd PID JFR.dump` writes"
    for file in recording.files:
        return EvidenceError(f"{file.path}: {'; '.join(file.problems)}", hint=hint)
    return EvidenceError("no recording was given", hint=hint)
