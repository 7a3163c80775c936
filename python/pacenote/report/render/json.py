"""A report as JSON."""

from __future__ import annotations

import json

from pacenote.model.codec import encode
from pacenote.report.model import Report


def render_json(report: Report) -> str:
    """The report as one JSON object: header, rows, verdict, notes, footnotes."""
    return json.dumps(encode(report), ensure_ascii=False, indent=2) + "\n"
