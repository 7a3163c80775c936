"""Progress as plain lines, for output that is not a terminal.

The clock of running tasks is the driver's (`RaceProgress.elapsed_s`), so that what is printed when depends on
nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.cli.console import Console
from pacenote.cli.progress_text import Pace, progress_line, race_line, result_line
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import RaceProgress, TaskResult

EVERY_S = 10.0
"""How often a plain line says how it goes."""


class PlainListener:
    """Prints a line when something begins or ends, and every ten seconds in between."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._said: dict[str, float] = {}
        self._pace = Pace(clock)
        self._running: set[str] = set()

    def preparing(self, label: str, done: int, total: int) -> None:
        """See `RaceListener`."""
        now = self._clock()
        ended = total > 0 and done >= total
        words = self._pace.words(label, done, total)
        if label not in self._said:
            self._console.progress(f"{single_line(label)} …")
        elif not ended and now - self._said[label] < EVERY_S:
            return
        elif self._said[label] < float("inf"):
            self._console.progress(f"{single_line(label)}: {words}")
        # What has ended is not said to end once more.
        self._said[label] = float("inf") if ended else now

    def started(self, record: RaceRecord) -> None:
        """See `RaceListener`."""
        self._console.progress(race_line(record))

    def progress(self, progress: RaceProgress) -> None:
        """See `RaceListener`."""
        for task in progress.tasks:
            if task.task not in self._running:
                self._running.add(task.task)
                self._said[task.task] = progress.elapsed_s
                self._console.progress(f"[{progress.step}/{progress.steps}] {single_line(task.task)} started")
            elif progress.elapsed_s - self._said[task.task] >= EVERY_S:
                self._said[task.task] = progress.elapsed_s
                self._console.progress(f"[{progress.step}/{progress.steps}] {progress_line(task)}")

    def task_finished(self, result: TaskResult) -> None:
        """See `RaceListener`."""
        self._running.discard(result.task)
        self._console.progress(result_line(result))

    def info(self, text: str) -> None:
        """See `RaceListener`."""
        self._console.progress(single_line(text))

    def warning(self, text: str) -> None:
        """See `RaceListener`."""
        self._console.warning(single_line(text))

    def finished(self, record: RaceRecord) -> None:
        """See `RaceListener`."""
        self._console.progress(f"race {record.race_id} is {record.verdict.state}")
