"""The units of figures, and how values with these units are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

from pacenote.diagnose.expression import Kind, Scalar
from pacenote.units import (
    format_bytes,
    format_frequency,
    format_number,
    format_rate,
    format_seconds,
    format_share,
)

Unit = Literal[
    "share",
    "s",
    "ms",
    "bytes",
    "bytes/s",
    "count",
    "1/s",
    "1/min",
    "ratio",
    "cores",
    "Hz",
    "text",
    "truth",
    "heap",
    "whole",
]
"""A unit. `share` is a fraction that is shown as a percentage, `ratio` a quotient. Two are only forms of
values in advice: `heap` of bytes, such as `4g` or `512m`, and `whole` of counts, rounded down, as `1024`.
"""

FigureTable = Mapping[str, tuple[Unit, str]]
"""Figures by name, with their units and meanings."""

KINDS: Mapping[Unit, Kind] = {
    **dict.fromkeys(("share", "s", "ms", "bytes", "bytes/s", "count", "1/s", "1/min"), "number"),
    **dict.fromkeys(("ratio", "cores", "Hz", "heap", "whole"), "number"),
    "text": "text",
    "truth": "truth",
}
"""The kind of the values of each unit."""

_FORMATS: Mapping[str, Callable[[float], str]] = {
    "share": format_share,
    "s": format_seconds,
    "ms": lambda value: format_seconds(value / 1000),
    "bytes": format_bytes,
    "bytes/s": lambda value: f"{format_bytes(value)}/s",
    "1/s": lambda value: f"{format_rate(value)}/s",
    "1/min": lambda value: f"{format_rate(value)}/min",
    "ratio": lambda value: f"{value:.3g}",
    "cores": lambda value: f"{value:.3g} {'core' if value == 1 else 'cores'}",
    "Hz": format_frequency,
    "heap": lambda value: _heap(value),
    "whole": lambda value: str(math.floor(value)),
}


def format_value(value: Scalar, unit: Unit) -> str:
    """Returns a value as text, in its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return _FORMATS.get(unit, format_number)(value)


def _heap(size: float) -> str:
    megabytes = max(1, round(size / (1 << 20)))
    return f"{megabytes}m" if megabytes % 1024 else f"{megabytes // 1024}g"
