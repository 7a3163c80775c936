"""The interface through which a caller follows a race while it runs."""

from __future__ import annotations

from typing import Protocol

from pacenote.model.race_progress import RaceProgress
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult


class DriveListener(Protocol):
    """Receives the events of a plan, in the thread that drives it. Methods must not block or raise."""

    def progress(self, progress: RaceProgress) -> None:
        """Reports the running tasks, about twice a second."""

    def task_finished(self, result: TaskResult) -> None:
        """Reports a task that has ended and whose result is stored."""

    def warning(self, text: str) -> None:
        """Reports one line about a problem that does not end the race."""


class RaceListener(DriveListener, Protocol):
    """Receives the events of a whole race as well, under the same conditions."""

    def preparing(self, label: str, done: int, total: int) -> None:
        """Reports progress before the race (download, assembly, generation); a `total` of 0 means unknown."""

    def started(self, record: RaceRecord) -> None:
        """Reports that the race begins; the record contains everything except results."""

    def info(self, text: str) -> None:
        """Reports one line for the user, such as where the track comes from."""

    def finished(self, record: RaceRecord) -> None:
        """Reports that the race has ended, successfully or not, and that its record is stored."""
