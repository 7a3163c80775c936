"""Parses the target rate of a task, `target-throughput` or `target-interval`.

The plan converts both to an interval; see `pacenote.plan.pacing`.
"""

from __future__ import annotations

import math

from pacenote.model.field_reader import MAX_NUMBER, FieldReader
from pacenote.model.problems import preview
from pacenote.units import Rate

_MAX_RATE = 1e9
"""One operation per nanosecond, the resolution of the driver's clock."""

_NO_TARGET = (None, False, 0, "", "0", "none", "None")


def parse_target_throughput(item: FieldReader) -> Rate | None:
    """Parses operations per second, or a string such as `10 docs/s`. 0, false, none and empty mean no
    target.
    """
    value = item.data.get("target-throughput")
    if value in _NO_TARGET:
        return None
    rate: Rate | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        rate = Rate(_to_float(value))
    elif isinstance(value, str):
        rate = _parse_rate(value)
    if rate is None or math.isnan(rate.value) or rate.value < 0:
        text = f'is {preview(value)}, but must be a number of at least 0 or a string such as "10 docs/s"'
        item.problem("target-throughput", text)
        return None
    if rate.value and not 1 / MAX_NUMBER <= rate.value <= _MAX_RATE:
        text = f"is {preview(value)}, but must be 0, or from one in 100 years to {_MAX_RATE:.0f} per second"
        item.problem("target-throughput", text)
        return None
    return rate if rate.value else None


def parse_target_interval(item: FieldReader) -> float | None:
    """Parses the seconds between two operations over all clients. 0, false, none and empty mean no target."""
    value = item.data.get("target-interval")
    if value in _NO_TARGET:
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        stated = preview(item.data["target-interval"])
        item.problem("target-interval", f"is {stated}, but must be a number of seconds of at least 0")
        return None
    if value and not 1 / _MAX_RATE <= value <= MAX_NUMBER:
        stated = preview(item.data["target-interval"])
        text = f"is {stated}, but must be 0, or from {1 / _MAX_RATE:g} to {MAX_NUMBER:.0f} seconds"
        item.problem("target-interval", text)
        return None
    return float(value)


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _parse_rate(text: str) -> Rate | None:
    try:
        return Rate(float(text))
    except ValueError:
        pass
    try:
        return Rate.parse(text)
    except ValueError:
        return None
