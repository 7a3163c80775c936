"""Every error that Pacenote raises on purpose, with its exit code.

    PacenoteError            64  could not run
    ├── UsageError            2  the command line or the configuration is wrong
    ├── TrackError           64  the track cannot be read, rendered or understood
    ├── CorpusError          64  the data of a track is missing or wrong
    ├── DownloadError        64  a file cannot be downloaded
    ├── DiskError            64  a file cannot be written, or the disk is full
    ├── EngineError          64  the engine cannot be provisioned, started or reached
    ├── DriverError          64  the load driver could not run the plan
    ├── EvidenceError        64  a GC log or another file about a run cannot be read or is not one
    ├── StoreError           64  a race folder cannot be written or read
    ├── VoidRace              3  the race finished, but its numbers must not be used
    └── Interrupted         130  the user stopped the race; results so far are kept

A message is one line that states what is wrong and where (file, line, key). The hint states what to do.
Neither contains secrets.
"""

from __future__ import annotations

from typing import ClassVar


class PacenoteError(Exception):
    """An error that is not a bug in Pacenote: shown in one line, without a stack trace."""

    exit_code: ClassVar[int] = 64

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PacenoteError):
    """The command line or the configuration is wrong."""

    exit_code: ClassVar[int] = 2


class TrackError(PacenoteError):
    """The track cannot be read, rendered or understood. `problems` lists all problems, each with its
    location.
    """

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class CorpusError(PacenoteError):
    """The data of a track is missing, incomplete or not what the track declares."""


class DownloadError(PacenoteError):
    """A file cannot be downloaded."""


class DiskError(PacenoteError):
    """A file cannot be written, or the disk is full."""


class EngineError(PacenoteError):
    """The engine cannot be provisioned, started or reached."""


class DriverError(PacenoteError):
    """The load driver could not run the plan."""


class EvidenceError(PacenoteError):
    """A GC log or another file about the run of an engine cannot be read, or is not such a file."""


class StoreError(PacenoteError):
    """A race folder cannot be written or read."""


class VoidRace(PacenoteError):
    """The race finished, but its numbers must not be used."""

    exit_code: ClassVar[int] = 3


class Interrupted(PacenoteError):
    """The user stopped the race; results so far are kept."""

    exit_code: ClassVar[int] = 130
