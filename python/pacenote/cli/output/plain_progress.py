"""Progress as plain lines, for output that is not a terminal.

For running tasks, time is the driver's (`RaceProgress.elapsed_s`), so that the times at which lines are
printed depend on nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.cli.console import Console
from pacenote.cli.output.progress_text import ProgressEstimator, progress_line, race_line, result_line
from pacenote.model.finding import name_tasks
from pacenote.model.printable import single_line
from pacenote.model.race_progress import RaceProgress
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import race_state
from pacenote.model.result import TaskResult
from pacenote.units import format_count

INTERVAL_S = 10.0
"""Seconds between two lines about the same work."""


class PlainListener:
    """Prints a line when work starts or ends, and every ten seconds in between."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._printed_at: dict[str, float] = {}
        self._estimator = ProgressEstimator(clock)
        self._running: set[str] = set()

    def preparing(self, label: str, done: int, total: int) -> None:
        """Shows the progress of a job before the race."""
        now = self._clock()
        ended = total > 0 and done >= total
        words = self._estimator.describe(label, done, total)
        if label not in self._printed_at:
            self._console.progress(f"{single_line(label)} …")
        elif not ended and now - self._printed_at[label] < INTERVAL_S:
            return
        elif self._printed_at[label] < float("inf"):
            self._console.progress(f"{single_line(label)}: {words}")
        # The end of a job is printed once.
        self._printed_at[label] = float("inf") if ended else now

    def started(self, record: RaceRecord) -> None:
        """Announces the race."""
        self._console.progress(race_line(record))

    def progress(self, progress: RaceProgress) -> None:
        """Shows the running tasks."""
        activity = progress.activity or f"{progress.step}/{progress.steps}"
        for task in progress.tasks:
            if task.task not in self._running:
                self._running.add(task.task)
                self._printed_at[task.task] = progress.elapsed_s
                self._console.progress(f"[{activity}] {single_line(task.task)} started")
            elif progress.elapsed_s - self._printed_at[task.task] >= INTERVAL_S:
                self._printed_at[task.task] = progress.elapsed_s
                self._console.progress(f"[{activity}] {progress_line(task, progress)}")

    def task_finished(self, result: TaskResult) -> None:
        """Shows the result of a task."""
        self._running.discard(result.task)
        self._console.progress(result_line(result))

    def info(self, text: str) -> None:
        """Shows a line of information."""
        self._console.progress(single_line(text))

    def warning(self, text: str) -> None:
        """Shows a warning."""
        self._console.warning(single_line(text))

    def finished(self, record: RaceRecord) -> None:
        """Shows the verdict with its first reason, or that the race ended early."""
        early = {"interrupted": "was interrupted and ", "aborted": "was aborted and "}.get(
            race_state(record), ""
        )
        line = f"race {record.race_id} {early}is {record.verdict.state}"
        if not early and (findings := record.verdict.findings):
            more = f" (and {format_count(len(findings) - 1, 'more reason')})" if len(findings) > 1 else ""
            tasks = f"{name_tasks(findings[0].tasks)}: " if findings[0].tasks else ""
            line += f": {tasks}{findings[0].text}{more}"
        self._console.progress(single_line(line))
