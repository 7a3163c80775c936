"""A report as CSV: Rally's four columns, the mark and the interval. A note is a row with text as its
value.
"""

from __future__ import annotations

import csv
import io

from pacenote.report.rows import Report, note_lines

_COLUMNS = ("Metric", "Task", "Value", "Unit", "Mark", "Low", "High")


def render_csv(report: Report) -> str:
    """Returns the report as CSV text, with all digits of the values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in report.rows:
        writer.writerow((row.metric, row.task, row.value, row.unit, row.mark, row.low, row.high))
    for note in (*report.header, *note_lines(report)):
        writer.writerow((note.label, note.task, note.text, "", "", "", ""))
    return text.getvalue()
