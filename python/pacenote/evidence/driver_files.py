"""Reads what the driver's files of a stored race say: its operations, arrivals and telemetry over time,
merged times of several races, and the times that the engine reports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.model.codec import decode
from pacenote.model.engine_time import EngineTime
from pacenote.model.merged_series import MergedSeries, UnreadSeries
from pacenote.model.race_timeline import RaceTimeline, TaskArrivals, TelemetryLine
from pacenote.system.paths import exists

MOST_POINTS = 600
"""The most points of the operations of a race, unless it has more tasks."""

MOST_SAMPLES = 5_000_000
"""The most samples of which arrivals are read: they take about a second."""

MOST_GROUPS = 64
"""Largest number of row groups of `samples.parquet` whose times of the engine are read: 8 million operations.
"""

MOST_TIMES = 500_000
"""About the largest number of times of the engine that are read, spread over the samples: enough for the mean
of many tasks.
"""


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


def merged_series(files: Sequence[Path]) -> MergedSeries:
    """Returns the merged times of `series.parquet` files, and which of the files cannot be read."""
    if not any(exists(file) for file in files):
        missing = (UnreadSeries(index, "does not exist") for index in range(len(files)))
        return MergedSeries(unread=tuple(missing))
    from pacenote import _core

    return MergedSeries.from_document(json.loads(_core.merged_percentiles([*files])))


def engine_times(file: Path) -> dict[str, EngineTime]:
    """Returns the times by task, of tasks for which the engine reports any. Raises StoreError if the file
    does not exist or cannot be read.
    """
    from pacenote import _core

    try:
        document = json.loads(_core.engine_times(file, MOST_GROUPS, MOST_TIMES))
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    return {task: EngineTime(**times) for task, times in document.items()}
