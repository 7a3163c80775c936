"""A report for a terminal: a table, the verdict in its colour, and the notes below."""

from __future__ import annotations

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from pacenote.model.printable import shortened
from pacenote.report.formatting import format_interval, format_value
from pacenote.report.render.markdown import HOTTEST, pad_decimals
from pacenote.report.rows import Alignment, Note, Report, note_lines
from pacenote.units import format_share

_COLOURS = {"valid": "bold green", "suspect": "bold yellow", "void": "bold red"}
_LABELS = {
    "Reason": "yellow",
    "Warning": "yellow",
    "Error": "red",
    "Telemetry missing": "yellow",
    "Footnote": "dim",
}

_MAX_NAME = 100
"""Most characters of a metric, a task or a unit: names from a track may fill the screen."""


def render_terminal(report: Report, console: Console, align: Alignment = "decimal") -> None:
    """Prints the report on `console`. Texts are not interpreted as markup."""
    console.print(Group(*(_line(note) for note in report.header)))
    if report.rows:
        console.print(_table(report, align))
    if report.hottest:
        console.print(_hottest(report))
    console.print(Group(*(_line(note) for note in note_lines(report))))


def _table(report: Report, align: Alignment) -> Table:
    values = [format_value(row.value) for row in report.rows]
    if align == "decimal":
        # rich removes blanks at the end of a cell, so cells are padded on the left as well.
        padded = pad_decimals(values)
        values = [value.rjust(max(map(len, padded))) for value in padded]
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("Metric")
    table.add_column("Task", overflow="fold")
    table.add_column("Value", justify="left" if align == "decimal" else align, no_wrap=True)
    table.add_column("Unit")
    if report.has_marks:
        table.add_column("95 % interval", no_wrap=True)
    for row, value in zip(report.rows, values, strict=True):
        names = [shortened(name, _MAX_NAME) for name in (row.metric, row.task, row.unit)]
        cells = [*names[:2], value, names[2], format_interval(row)]
        style = "yellow" if row.mark else ""
        table.add_row(*(Text(cell, style=style) for cell in cells[: len(table.columns)]))
    return table


def _hottest(report: Report) -> Table:
    """Returns the table of the hottest methods."""
    table = Table(show_edge=False, pad_edge=False)
    for number, head in enumerate(HOTTEST):
        is_share = number == len(HOTTEST) - 1
        table.add_column(head, justify="right" if is_share else "left", no_wrap=is_share, overflow="fold")
    for method in report.hottest:
        name = shortened(method.method, _MAX_NAME)
        table.add_row(*map(Text, (method.events, name, format_share(method.share))))
    return table


def _line(note: Note) -> Text:
    colour = _COLOURS.get(note.text, "bold yellow") if note.label == "Verdict" else ""
    task = f" [{note.task}]" if note.task else ""
    return Text.assemble((f"{note.label}{task}: ", _LABELS.get(note.label, "bold")), (note.text, colour))
