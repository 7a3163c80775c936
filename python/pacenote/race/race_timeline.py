"""Reads what a stored race did over time: its operations, arrivals and telemetry, in parts for charts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.model.codec import decode
from pacenote.model.race_timeline import RaceTimeline, TaskArrivals, TelemetryLine

MOST_POINTS = 600
"""The most points of the operations of a race, unless it has more tasks."""

MOST_SAMPLES = 5_000_000
"""The most samples of which arrivals are read: they take about a second."""


def race_timeline(file: Path) -> RaceTimeline:
    """Returns the operations of a race from its `series.parquet`. Raises StoreError."""
    from pacenote import _core  # Not needed for races without series, such as imported ones.

    try:
        return RaceTimeline.from_json(_core.race_timeline(file, MOST_POINTS))
    except _core.CoreError as error:
        raise StoreError(str(error)) from None


def arrivals(file: Path, tasks: Sequence[str], length_s: int) -> Mapping[str, TaskArrivals]:
    """Returns when operations of these tasks were due and done, from `samples.parquet`. Raises StoreError,
    also if the file has too many samples.
    """
    from pacenote import _core

    try:
        text = _core.arrivals(file, set(tasks), length_s, MOST_SAMPLES)
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    if text is None:
        raise StoreError(f"{file} has more than {MOST_SAMPLES:,} samples, so that arrivals are not read")
    return decode(dict[str, TaskArrivals], json.loads(text), "arrivals")


def telemetry_lines(
    file: Path, names: Sequence[tuple[str, str]], grid: tuple[int, int, int]
) -> tuple[TelemetryLine, ...]:
    """Returns series of `telemetry.parquet` in the parts of a race: `grid` is the beginning of the first part
    in nanoseconds since 1970, the length of the parts in seconds, and their number. A name that ends with a
    dot stands for all that begin with it. Raises StoreError.
    """
    from pacenote import _core

    try:
        text = _core.telemetry_timeline(file, list(names), grid)
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    return decode(tuple[TelemetryLine, ...], json.loads(text), "telemetry")
