"""Reads Flight Recorder recordings with the Rust core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pacenote import _core
from pacenote.errors import EvidenceError
from pacenote.evidence.core_errors import evidence_error
from pacenote.model.recording import Recording


class RecordingReader:
    """One or several recordings of the same JVM, plain or compressed with gzip.

    `window_ns` limits what is counted to events that begin between two times in ns since 1970, such as the
    start and the end of a task.
    """

    def __init__(self, paths: Sequence[Path], window_ns: tuple[int, int] | None = None) -> None:
        self._paths = tuple(paths)
        self._window_ns = window_ns

    def recording(self) -> Recording:
        """Reads the files. What cannot be read of a file is among its `problems`.

        Raises EvidenceError if a file cannot be opened, or if no file has a chunk that can be read.
        """
        import msgspec  # Slow to import, and not needed for `--help`.

        try:
            document = _core.read_recordings(list(self._paths), self._window_ns)
        except _core.CoreError as error:
            raise evidence_error(error) from error
        recording = msgspec.json.decode(document, type=Recording)
        if not any(each.chunks for each in recording.files):
            raise _unreadable(recording)
        return recording


def _unreadable(recording: Recording) -> EvidenceError:
    hint = "name a recording of JDK 9 or newer, such as those that `jcmd PID JFR.dump` writes"
    for file in recording.files:
        return EvidenceError(f"{file.path}: {'; '.join(file.problems)}", hint=hint)
    return EvidenceError("no recording was given", hint=hint)
