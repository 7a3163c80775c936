"""Reads numbers as people and programs write them in tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pacenote.model.codec import MIN_NUMBER

_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_GROUPED_BY_DOTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
_DECIMAL_COMMA = re.compile(rf"(?:[+-]?\d+|{_GROUPED_BY_DOTS.pattern}),\d+(?:[eE][+-]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SPACES = re.compile(r"(?<=\d)[\s\u00a0\u2009\u202f_'\u2019](?=\d{3}(?:\D|$))")
"""Separators of thousands that are not part of a number otherwise."""

_NO_VALUES = frozenset({
    *(
        "",
        "-",
        "\u2013",
        "\u2014",
        "?",
        "...",
        "\u2026",
        "n/a",
        "na",
        "nan",
        "none",
        "null",
        "inf",
        "-inf",
        "infinity",
    ),
})
"""Cells without a value."""

_MAX_LENGTH = 40
_LARGEST = 1e18
"""No figure of a race is larger."""


def is_no_value(text: str) -> bool:
    """Returns whether a cell states that there is no value."""
    return text.strip().lower() in _NO_VALUES


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Returns whether the numbers of a table have decimal commas: at least one has a comma that cannot
    separate thousands, and none has a point that can only be a decimal one.
    """
    # A pattern takes a second for ten thousand digits, of which a file may have thousands of cells.
    texts = [
        text for cell in cells if len(text := cell.strip()) <= _MAX_LENGTH and ("," in text or "." in text)
    ]
    only_decimal = any(_DECIMAL_COMMA.fullmatch(text) and not _GROUPED.fullmatch(text) for text in texts)
    return only_decimal and not any(map(_has_decimal_point, texts))


def parse_number(text: str, *, decimal_comma: bool = False) -> float | None:
    """Returns the number in a cell, or None if it is not one, or not finite or too large for a figure. With
    decimal commas, points separate thousands.
    """
    text = _SPACES.sub("", text.strip().replace("\u2212", "-"))
    if len(text) > _MAX_LENGTH:
        return None
    if decimal_comma:
        if _DECIMAL_COMMA.fullmatch(text) or _GROUPED_BY_DOTS.fullmatch(text):
            text = text.replace(".", "").replace(",", ".")
    elif _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    if not _PLAIN.fullmatch(text):
        return None
    return figure_of(float(text))


def figure_of(value: float) -> float | None:
    """Returns a number as a figure: 0 if it is too close to it, and None if it is larger than any figure."""
    if not abs(value) <= _LARGEST:
        return None
    return float(value) if abs(value) >= MIN_NUMBER else 0.0


def _has_decimal_point(text: str) -> bool:
    if "." not in text or _GROUPED_BY_DOTS.fullmatch(text):
        return False
    return bool(_PLAIN.fullmatch(text) or _GROUPED.fullmatch(text))
