"""The live display of a race on a terminal, drawn with rich."""

from __future__ import annotations

from rich.live import Live
from rich.table import Table
from rich.text import Text

from pacenote.cli.console import Console
from pacenote.cli.progress_text import ProgressEstimator, race_line, result_line
from pacenote.model.printable import shortened, single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import RaceProgress, TaskProgress, TaskResult
from pacenote.units import format_seconds

_MAX_NAME = 60
"""Most characters of a task or a unit."""

_BAR = 20


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
        self._live.update(progress_table(progress), refresh=True)

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


def progress_table(progress: RaceProgress) -> Table:
    """Returns the running tasks, one row each."""
    title = f"step {progress.step} of {progress.steps}, {format_seconds(round(progress.elapsed_s))}"
    table = Table(title=Text(title), title_justify="left", show_edge=False, pad_edge=False)
    for column in ("Task", "", "Rate", "p50", "p99", "Errors", "Left"):
        table.add_column(column, justify="left" if column in ("Task", "") else "right", no_wrap=True)
    for task in progress.tasks:
        table.add_row(*_cells(task))
    return table


def _cells(task: TaskProgress) -> list[Text]:
    return [
        Text(shortened(single_line(task.task), _MAX_NAME)),
        Text(_bar(task.done_share), style="dim" if task.warming_up else "green"),
        Text(f"{task.rate:,.0f} {shortened(single_line(task.unit), _MAX_NAME)}/s"),
        Text(_ms(task.p50_ms)),
        Text(_ms(task.p99_ms)),
        Text(f"{task.errors:,}", style="red" if task.errors else ""),
        Text("" if task.eta_s is None else format_seconds(round(task.eta_s))),
    ]


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return "█" * full + "░" * (_BAR - full)


def _ms(value: float | None) -> str:
    return "" if value is None else format_seconds(value / 1e3)
