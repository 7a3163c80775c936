"""A report as Markdown: Rally's table, then the notes as lists. It is readable on a terminal and in a log."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pacenote.model.output_text import markdown_text
from pacenote.report.formatting import format_interval, format_value
from pacenote.report.rows import Alignment, Note, Report, note_lines
from pacenote.units import format_share

_VALUES = (2,)
"""Indices of the columns that `--report-numbers-align` applies to."""

HOTTEST = ("Events", "Hottest method", "Share")
"""The heads of the table of the hottest methods."""


def render_markdown(report: Report, align: Alignment = "decimal") -> str:
    """Returns the report as Markdown text that ends in a newline, with an interval column if a value is
    marked.
    """
    headers = ["Metric", "Task", "Value", "Unit"] + (["95 % interval"] if report.has_marks else [])
    rows = [
        [row.metric, row.task, format_value(row.value), row.unit, format_interval(row)][: len(headers)]
        for row in report.rows
    ]
    parts = [
        "\n".join(_line(note) for note in report.header),
        pipe_table(headers, rows, align) if rows else "",
        _hottest(report),
        "\n".join(_line(note) for note in note_lines(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _hottest(report: Report) -> str:
    """Returns the table of the hottest methods; nothing if no JVM was recorded."""
    rows = [(method.events, method.method, format_share(method.share)) for method in report.hottest]
    return pipe_table(HOTTEST, rows, "decimal") if rows else ""


def pipe_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: Alignment,
    numbers: Collection[int] = _VALUES,
) -> str:
    """Returns a Markdown table that is padded to be readable as text. Heads and cells are escaped, and
    right-aligned as in Rally; `align` applies to the columns with the indices `numbers`.
    """
    titles = [escape(header) for header in headers]
    columns = [[escape(row[index]) for row in rows] for index in range(len(titles))]
    cells: list[list[str]] = []
    rules: list[str] = []
    for index, (title, column) in enumerate(zip(titles, columns, strict=True)):
        how = align if index in numbers else "right"
        padded = pad_decimals(column) if how == "decimal" else column
        width = max([3, len(title), *(len(cell) for cell in padded)])
        justify = {"left": str.ljust, "center": str.center}.get(how, str.rjust)
        cells.append([justify(text, width) for text in (title, *padded)])
        rules.append(
            {"left": ":" + "-" * (width + 1), "center": ":" + "-" * width + ":"}.get(
                how, "-" * (width + 1) + ":"
            )
        )
    lines = ["| " + " | ".join(line) + " |" for line in zip(*cells, strict=True)]
    return "\n".join([lines[0], "|" + "|".join(rules) + "|", *lines[1:]])


def escape(text: str) -> str:
    """Returns the text in one line, escaped for Markdown."""
    return markdown_text(text)


def pad_decimals(column: Sequence[str]) -> list[str]:
    """Pads cells on the right so that the decimal points in a right-aligned column line up."""
    tails = [len(cell) - cell.find(".") if "." in cell else 0 for cell in column]
    longest = max(tails, default=0)
    return [cell + " " * (longest - tail) for cell, tail in zip(column, tails, strict=True)]


def _line(note: Note) -> str:
    task = f" [{escape(note.task)}]" if note.task else ""
    return f"- {note.label}{task}: {escape(note.text)}"
