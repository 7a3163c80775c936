"""How a caller follows a race while it runs."""

from __future__ import annotations

from typing import Protocol

from pacenote.model.race_record import RaceRecord
from pacenote.model.result import Progress, TaskResult


class RaceListener(Protocol):
    """Told how a race goes, from the thread that runs it. Methods return at once and never raise."""

    def preparing(self, label: str, done: int, total: int) -> None:
        """Something before the race advances (download, assembly, generation); `total` 0 when it is not
        known.
        """

    def started(self, record: RaceRecord) -> None:
        """The race begins; the record holds everything but results."""

    def progress(self, progress: Progress) -> None:
        """About once a second while tasks run."""

    def task_finished(self, result: TaskResult) -> None:
        """A task has ended and its result is stored."""

    def info(self, text: str) -> None:
        """Something said once, in one line: where the track comes from, what its author wants to be known."""

    def warning(self, text: str) -> None:
        """Something the user should know, in one line."""

    def finished(self, record: RaceRecord) -> None:
        """The race has ended, whichever way, and its record with the verdict is stored."""
