"""The live display of a race on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.cli.console import Console
from pacenote.cli.output.live_region import LiveRegion
from pacenote.cli.output.live_view import RaceView
from pacenote.cli.output.progress_text import ProgressEstimator, race_line, result_line
from pacenote.model.printable import single_line
from pacenote.model.race_progress import RaceProgress
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.report.screen.text import Style, broken_lines

INTERVAL_S = 1.0
"""Seconds between two redraws: rates and percentiles are those of whole seconds, and what a redraw costs is
taken from the engine.
"""


class LiveListener:
    """Redraws what has ended, what runs and what is to come, below warnings and information.

    Lines about tasks that have ended are printed at the end, unless the report of the race shows them.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._estimator = ProgressEstimator(clock)
        self._view = RaceView()
        self._region = LiveRegion(console)
        self._drawn_at = -INTERVAL_S
        self._label = ""
        self._results: list[str] = []
        self._region.open()

    def preparing(self, label: str, done: int, total: int) -> None:
        """Shows the progress of a job outside the measured part of the race."""
        self._view.job(f"{label}: {self._estimator.describe(label, done, total)}")
        self._draw(is_due=label != self._label or done >= total > 0)
        self._label = label

    def started(self, record: RaceRecord) -> None:
        """Announces the race."""
        self._view.started(record)
        self._print(race_line(record))

    def progress(self, progress: RaceProgress) -> None:
        """Shows the running tasks."""
        self._view.update(progress)
        # The line about a job before the race does not stay.
        self._draw(is_due=bool(self._label))
        self._label = ""

    def task_finished(self, result: TaskResult) -> None:
        """Shows the result of a task."""
        self._view.finished(result)
        self._results.append(result_line(result))

    def info(self, text: str) -> None:
        """Shows a line of information."""
        self._print(single_line(text))

    def warning(self, text: str) -> None:
        """Shows a warning."""
        self._print(f"warning: {single_line(text)}", "doubtful")

    def finished(self, record: RaceRecord) -> None:  # noqa: ARG002  # part of the protocol
        """Ends the display."""
        if self._console.shows_results_on_terminal:
            self._results.clear()
        self.close()

    def close(self) -> None:
        """Restores the terminal. May be called again."""
        self._region.close()
        for line in self._results:
            self._console.progress(line)
        self._results.clear()

    def _print(self, text: str, style: Style = "") -> None:
        """Prints a text above the region, broken between words."""
        first, *more = broken_lines(text, self._region.size[0] - 2)
        self._region.print(first, style)
        for part in more:
            self._region.print(f"  {part}", style)

    def _draw(self, *, is_due: bool = False) -> None:
        """Redraws the region once a second, and at once if the terminal was resized."""
        now = self._clock()
        if is_due or now - self._drawn_at >= INTERVAL_S or self._region.is_resized:
            self._drawn_at = now
            self._region.draw(self._view.lines(*self._region.size))
