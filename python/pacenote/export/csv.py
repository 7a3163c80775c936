"""Races as CSV, one figure per row: the tidy form that spreadsheets, pandas and R take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pacenote.export.document import ExportedRace
from pacenote.export.table import COLUMNS, race_rows
from pacenote.model import output_text


def csv_text(races: Iterable[ExportedRace]) -> Iterator[str]:
    """Yields a header line, and then a line for each figure of each race."""
    yield output_text.csv_text([[column.name for column in COLUMNS]])
    for race in races:
        yield output_text.csv_text(race_rows(race))
