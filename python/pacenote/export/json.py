"""Races as one JSON document, with one race a line. Only a part of it is in memory as text at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from pacenote.export.document import EXPORT_FORMAT, ExportedRace
from pacenote.model.codec import encode
from pacenote.model.printable import visible

_PART_FIGURES = 256
"""Figures that are in memory as text at a time."""

_NO_FIGURES = "]}"
"""The end of a race without figures: they are its last field."""


def json_text(races: Iterable[ExportedRace]) -> Iterator[str]:
    """Yields an `ExportDocument` in parts."""
    yield f'{{"format": {EXPORT_FORMAT}, "races": ['
    separator = "\n"
    for race in races:
        yield separator
        yield from _race_text(race)
        separator = ",\n"
    yield "\n]}\n"


def _race_text(race: ExportedRace) -> Iterator[str]:
    """Yields a race in parts."""
    yield _text(replace(race, figures=())).removesuffix(_NO_FIGURES)
    figures = iter(race.figures)
    separator = ""
    while part := list(islice(figures, _PART_FIGURES)):
        yield separator + _text(part)[1:-1]
        separator = ", "
    yield _NO_FIGURES


def _text(value: object) -> str:
    # Only strings have other characters than printable ones, and there the escapes mean the same.
    return visible(json.dumps(encode(value), ensure_ascii=False))
