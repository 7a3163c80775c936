"""Reads Flight Recorder recordings with the Rust core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pacenote import _core
from pacenote.errors import EvidenceError
from pacenote.evidence.core_errors import evidence_error
from pacenote.model.recording import Recording

_MOST_WINDOWS = 16
"""Largest number of windows for which files are read at a time."""


class RecordingReader:
    """One or several recordings of the same JVM, plain or compressed with gzip.

    What cannot be read of a file is among its `problems`. All methods raise EvidenceError if a file cannot be
    opened, or if no file has a chunk that can be read.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)

    def recording(self, window_ns: tuple[int, int] | None = None) -> Recording:
        """Reads the files, all of them or the events that begin between two times in ns since 1970."""
        (recording,) = self._read([window_ns])
        return recording

    def between(self, windows_ns: Sequence[tuple[int, int]]) -> tuple[Recording, ...]:
        """Reads the files once for many such windows, such as the start and the end of each task."""
        # Each window needs memory for its stacks.
        return tuple(
            recording
            for number in range(0, len(windows_ns), _MOST_WINDOWS)
            for recording in self._read(windows_ns[number : number + _MOST_WINDOWS])
        )

    def _read(self, windows_ns: Sequence[tuple[int, int] | None]) -> list[Recording]:
        import msgspec  # Slow to import, and not needed for `--help`.

        try:
            documents = _core.read_recordings(list(self._paths), list(windows_ns))
        except _core.CoreError as error:
            raise evidence_error(error) from error
        found = [msgspec.json.decode(document, type=Recording) for document in documents]
        for recording in found:
            if not any(each.chunks for each in recording.files):
                raise _unreadable(recording)
        return found


def _unreadable(recording: Recording) -> EvidenceError:
    hint = "name a recording of JDK 9 or newer, such as those that `jcmd PID JFR.dump` writes"
    for file in recording.files:
        return EvidenceError(f"{file.path}: {'; '.join(file.problems)}", hint=hint)
    return EvidenceError("no recording was given", hint=hint)
