"""A report as JSON."""

from __future__ import annotations

from pacenote.model.codec import encode
from pacenote.model.output_text import json_text
from pacenote.report.rows import Report


def render_json(report: Report) -> str:
    """Returns the report as one JSON object: header, rows, verdict, notes, footnotes, and how far a running
    race is.
    """
    document = encode(report) | {"verdict": report.verdict.to_document()}
    if not report.progress:
        del document["progress"]
    # `pacenote jfr --report-format=json` has all that was recorded.
    del document["hottest"]
    for row in document["rows"]:
        # They are used only to select rows and footnotes, and to format values.
        del row["kind"], row["is_rallys"], row["decimals"]
    return json_text(document)
