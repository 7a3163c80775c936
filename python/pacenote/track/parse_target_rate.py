"""Target rates of tasks: `target-throughput` and `target-interval`."""

from __future__ import annotations

import math

from pacenote.model.field_reader import MAX_NUMBER, FieldReader
from pacenote.model.problems import preview
from pacenote.units import Rate

_LARGEST_RATE = 1e9
"""One operation each nanosecond, the finest time the driver knows."""

_UNPACED = (None, False, 0, "", "0", "none", "None")


def parse_target_throughput(item: FieldReader) -> Rate | None:
    """A number of operations per second, or a text such as `10 docs/s`; 0 and its like mean no target."""
    value = item.data.get("target-throughput")
    if value in _UNPACED:
        return None
    rate: Rate | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        rate = Rate(_float(value))
    elif isinstance(value, str):
        rate = _parsed(value)
    if rate is None or math.isnan(rate.value) or rate.value < 0:
        text = f'is {preview(value)}, must be a number of at least 0 or a text such as "10 docs/s"'
        item.problem("target-throughput", text)
        return None
    if rate.value and not 1 / MAX_NUMBER <= rate.value <= _LARGEST_RATE:
        text = f"is {preview(value)}, must be 0, or from one in 100 years to {_LARGEST_RATE:.0f} each second"
        item.problem("target-throughput", text)
        return None
    return rate if rate.value else None


def parse_target_interval(item: FieldReader) -> float | None:
    """Seconds between two operations over all clients; 0 and its like mean no target."""
    value = item.data.get("target-interval")
    if value in _UNPACED:
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        found = preview(item.data["target-interval"])
        item.problem("target-interval", f"is {found}, must be a number of seconds of at least 0")
        return None
    if value and not 1 / _LARGEST_RATE <= value <= MAX_NUMBER:
        found = preview(item.data["target-interval"])
        text = f"is {found}, must be 0, or from {1 / _LARGEST_RATE:g} to {MAX_NUMBER:.0f} seconds"
        item.problem("target-interval", text)
        return None
    return float(value)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _parsed(text: str) -> Rate | None:
    try:
        return Rate(float(text))
    except ValueError:
        pass
    try:
        return Rate.parse(text)
    except ValueError:
        return None
