"""The live display of a race on a terminal, drawn with rich."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, JustifyMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pacenote.cli.console import Console
from pacenote.cli.progress_text import (
    ProgressEstimator,
    left_text,
    race_line,
    rate_text,
    result_line,
    silence_text,
    wait_text,
)
from pacenote.model.printable import shortened, single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import RaceProgress, TaskProgress, TaskResult
from pacenote.units import format_seconds

_WIDE = 110
"""Columns of a terminal from which on bars are shown."""

_MAX_NAME = 60
"""Most characters of a task or a unit."""

_BAR = 20

_NUMBERS_FROM = 2
"""Position of the first column with numbers."""

_GAP = 2
"""Columns of the terminal between two columns of the table."""

_MIN_NAME = 8
"""Columns of the terminal that names of tasks have at least."""


class LiveListener:
    """One row per running task, redrawn in place, below the lines about finished tasks."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._estimator = ProgressEstimator()
        self._live = Live(console=console.rich_progress(), auto_refresh=False, transient=True)
        self._live.start()

    def preparing(self, label: str, done: int, total: int) -> None:
        """Shows the progress of a job before the race."""
        text = self._estimator.describe(label, done, total)
        self._live.update(Text(f"{single_line(label)}: {text}"), refresh=True)

    def started(self, record: RaceRecord) -> None:
        """Announces the race."""
        self._print(race_line(record))

    def progress(self, progress: RaceProgress) -> None:
        """Shows the running tasks."""
        self._live.update(progress_table(progress, self._live.console.width), refresh=True)

    def task_finished(self, result: TaskResult) -> None:
        """Shows the result of a task."""
        self._print(result_line(result))

    def info(self, text: str) -> None:
        """Shows a line of information."""
        self._print(single_line(text))

    def warning(self, text: str) -> None:
        """Shows a warning."""
        self._print(f"warning: {single_line(text)}", style="yellow")

    def finished(self, record: RaceRecord) -> None:  # noqa: ARG002  # part of the protocol
        """Ends the display."""
        self.close()

    def close(self) -> None:
        """Restores the terminal. May be called again."""
        self._live.update(Text(""))
        self._live.stop()

    def _print(self, line: str, style: str = "") -> None:
        self._live.console.print(Text(line, style=style))


def progress_table(progress: RaceProgress, width: int = _WIDE) -> Group:
    """Returns the running tasks, one row each, and below what they wait for.

    A narrow terminal shows no bars, and shortens the names of tasks.
    """
    activity = progress.activity or f"step {progress.step} of {progress.steps}"
    title = f"{activity}, {format_seconds(round(progress.elapsed_s))}"
    if left := left_text(progress):
        title += f"; {left}"
    rows = [_cells(task, _BAR if width >= _WIDE else 0) for task in progress.tasks]
    table = Table(
        show_edge=False,
        pad_edge=False,
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    names = ("Task", "", "Rate", "Service p50", "p99", "Errors", "Left")
    longest = [
        max([len(name), *(cell.cell_len for cell in column)])
        for name, *column in zip(names, *rows, strict=True)
    ]
    # rich would cut off the last columns.
    longest[0] = max(_MIN_NAME, min(longest[0], width - sum(longest[1:]) - _GAP * len(longest[1:])))
    for number, (name, columns) in enumerate(zip(names, longest, strict=True)):
        justify: JustifyMethod = "left" if number < _NUMBERS_FROM else "right"
        table.add_column(name, justify=justify, no_wrap=True, width=columns)
    for row in rows:
        table.add_row(*row)
    waits = [(task.task, wait_text(task, progress) or silence_text(task)) for task in progress.tasks]
    lines = [Text(f"{single_line(task)}: {text}", style="yellow") for task, text in waits if text]
    # A title of the table would be wrapped to the width of the table.
    return Group(Text(title), table, *lines)


def _cells(task: TaskProgress, bar: int) -> list[Text]:
    shown = _bar(None if task.one_off else task.done_share, bar)
    if task.warming_up:
        shown = f"{shown} warm-up".lstrip()
    return [
        Text(shortened(single_line(task.task), _MAX_NAME)),
        Text(shown, style="dim" if task.warming_up else "green"),
        Text(shortened(single_line(rate_text(task)), _MAX_NAME)),
        Text(_ms(None if task.one_off else task.p50_ms)),
        Text(_ms(None if task.one_off else task.p99_ms)),
        Text(f"{task.errors:,}", style="red" if task.errors else ""),
        Text("" if task.eta_s is None else format_seconds(round(task.eta_s))),
    ]


def _bar(share: float | None, width: int) -> str:
    if share is None:
        return ""
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def _ms(value: float | None) -> str:
    return "" if value is None else format_seconds(value / 1e3)
