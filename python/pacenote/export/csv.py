"""Races as CSV, one figure per row: the tidy form that spreadsheets, pandas and R take."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from pacenote.export.document import ExportedRace
from pacenote.export.table import COLUMNS, race_rows
from pacenote.export.text import visible

_WIDE = map(chr, (0xFF1D, 0xFF0B, 0xFF0D, 0xFF20))
"""Full-width forms of the characters that begin a formula."""

_FORMULA = ("=", "+", "-", "@", *_WIDE)
"""Beginnings of text that a spreadsheet takes for a formula."""


def csv_text(races: Iterable[ExportedRace]) -> Iterator[str]:
    """Yields a header line, and then a line for each figure of each race."""
    yield ",".join(column.name for column in COLUMNS) + "\n"
    for race in races:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([_cell(value) for value in row] for row in race_rows(race))
        yield text.getvalue()


def _cell(value: object) -> object:
    if value is None or isinstance(value, bool):
        return "" if value is None else json.dumps(value)
    if not isinstance(value, str):
        return value
    text = visible(value)
    # An apostrophe tells spreadsheets that it is text.
    return f"'{text}" if text.startswith(_FORMULA) else text
