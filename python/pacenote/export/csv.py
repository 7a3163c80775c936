"""Races as CSV, one figure per row: the tidy form that spreadsheets, pandas and R take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from pacenote.export.document import ExportedRace
from pacenote.export.table import COLUMNS, race_rows
from pacenote.model import output_text

_PART_ROWS = 256
"""Rows that are in memory as text at a time."""


def csv_text(races: Iterable[ExportedRace]) -> Iterator[str]:
    """Yields a header line, and then a line for each figure of each race."""
    yield output_text.csv_text([[column.name for column in COLUMNS]])
    for race in races:
        rows = race_rows(race)
        while part := list(islice(rows, _PART_ROWS)):
            yield output_text.csv_text(part)
