"""Values over time as a row of bars, one character each."""

from __future__ import annotations

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
"""The bars, from the lowest to the highest."""


def sparkline(values: Sequence[float | None]) -> str:
    """Returns a bar for each value, from 0 to the largest of them; a space stands for a value that is not
    known.
    """
    top = max((value for value in values if value is not None), default=0.0)
    scale = len(BARS) / top if top > 0 else 0.0
    return "".join(
        " " if value is None else BARS[max(0, min(int(value * scale), len(BARS) - 1))] for value in values
    )
