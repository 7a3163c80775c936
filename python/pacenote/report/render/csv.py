"""A report as CSV: Rally's rows and columns, or all of it, with the race, marks, intervals and notes."""

from __future__ import annotations

from pacenote.model.output_text import csv_text
from pacenote.report.rows import Report, Row, note_lines

_COLUMNS = ("Metric", "Task", "Value", "Unit")
_FULL_COLUMNS = (*_COLUMNS, "Mark", "Low", "High", "Race ID")


def render_csv(report: Report) -> str:
    """Returns Rally's rows and columns as CSV text, with the digits that Rally shows."""
    # As in Rally, a row without a value has no unit.
    rows = [
        (row.metric, row.task, _digits(row), "" if row.value is None else row.unit)
        for row in report.rows
        if row.is_rallys
    ]
    return csv_text([_COLUMNS, *rows])


def _digits(row: Row) -> str | float | int | None:
    """Returns the value with Rally's decimals, unless they are too few for it, such as for 0.001 %."""
    if row.value is None or row.decimals is None:
        return row.value
    text = f"{row.value:.{row.decimals}f}"
    return text if float(text) == row.value else row.value


def render_full_csv(report: Report, race_id: str) -> str:
    """Returns the report as CSV text. A note is a row with text as its value."""
    rows = [
        (row.metric, row.task, row.value, row.unit, row.mark, row.low, row.high, race_id)
        for row in report.rows
    ]
    notes = [
        (note.label, note.task, note.text, "", "", "", "", race_id)
        for note in (*report.header, *note_lines(report))
    ]
    return csv_text([_FULL_COLUMNS, *rows, *notes])
