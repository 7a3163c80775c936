"""Races as one JSON document, with one race a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pacenote.export.document import EXPORT_FORMAT, ExportedRace
from pacenote.model.codec import encode
from pacenote.model.printable import visible


def json_text(races: Iterable[ExportedRace]) -> Iterator[str]:
    """Yields an `ExportDocument` in parts."""
    yield f'{{"format": {EXPORT_FORMAT}, "races": ['
    separator = "\n"
    for race in races:
        # Only strings have other characters than printable ones, and there the escapes mean the same.
        yield separator + visible(json.dumps(encode(race), ensure_ascii=False))
        separator = ",\n"
    yield "\n]}\n"
