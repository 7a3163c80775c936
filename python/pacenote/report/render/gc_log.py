"""Statistics of GC logs as Markdown and CSV, and as rows for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.output_text import csv_text
from pacenote.model.printable import single_line
from pacenote.report.gc_log import GcReport
from pacenote.report.gc_row import GcRow, GcValue
from pacenote.report.render.markdown import escape, pipe_table
from pacenote.units import format_number

_ABSENT = "not available"


def gc_headers(report: GcReport) -> tuple[str, ...]:
    """Returns the titles of the columns."""
    return ("Metric", *report.names, "Unit")


def gc_cells(report: GcReport) -> Iterator[tuple[str, ...]]:
    """Yields the cells of each row as texts."""
    for row in report.rows:
        texts = row.texts or tuple(_text(value) for value in row.values)
        if row.at_least:
            texts = tuple(map(_bound, texts, row.values, row.at_least))
        yield (single_line(row.metric), *(single_line(text) for text in texts), row.unit)


def render_gc_markdown(report: GcReport) -> str:
    """Returns the report as Markdown that ends in a newline."""
    values = range(1, len(report.names) + 1)
    text = pipe_table(gc_headers(report), list(gc_cells(report)), "right", values)
    notes = "".join(f"- {escape(note)}\n" for note in report.notes)
    return f"{text}\n\n{notes}" if notes else f"{text}\n"


def render_gc_csv(report: GcReport) -> str:
    """Returns the rows as CSV with all digits; what is not available is empty."""
    return csv_text([gc_headers(report), *map(_csv_cells, report.rows)])


def _csv_cells(row: GcRow) -> tuple[GcValue, ...]:
    return (row.metric, *row.values, row.unit)


def _bound(text: str, value: GcValue, at_least: bool) -> str:
    """Returns the text of a value that may be a lower bound."""
    if value is None:
        return _ABSENT
    return f"at least {text}" if at_least else text


def _text(value: GcValue) -> str:
    if value is None:
        return _ABSENT
    return value if isinstance(value, str) else format_number(value)
