"""What was observed over time beside a race, made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pacenote.model.merged_series import MergedPercentile
from pacenote.model.race_timeline import (
    GcPause,
    PointTimes,
    RaceObservations,
    RaceTimeline,
    TaskArrivals,
    TaskTimeline,
    TelemetryLine,
    TimelinePoint,
)

NS_20_MS = 36
"""The level of durations that begins at 16 ms."""


def point(from_s: int, operations: int = 50, **changes: Any) -> TimelinePoint:
    """Returns a part with operations of 20 ms at the median."""
    own: dict[str, Any] = {
        "errors": 0,
        "work": operations,
        "least_work": operations,
        "most_work": operations,
        "times": PointTimes(20.0, 30.0, None, 45.5),
        "lateness": None,
        "levels": ((NS_20_MS, operations),),
    }
    return TimelinePoint(from_s, operations, **own | changes)


def line(operations: Sequence[int], **changes: Any) -> TaskTimeline:
    """Returns a task with these operations in each second, and a point for each in which operations ended."""
    own: dict[str, Any] = {
        "has_latency": False,
        "measured_from_s": 0,
        "points": tuple(point(second, count) for second, count in enumerate(operations) if count),
        "curve": (MergedPercentile(50.0, 20.0), MergedPercentile(90.0, 30.0), MergedPercentile(99.0, 45.0)),
    }
    return TaskTimeline(operations=tuple(operations), **own | changes)


def timeline(**tasks: TaskTimeline) -> RaceTimeline:
    """Returns tasks with parts of a second."""
    return RaceTimeline(1, 5.0, tasks)


def telemetry(name: str, mean: Sequence[float | None], **changes: Any) -> TelemetryLine:
    """Returns a counter of the host, growing evenly within each part."""
    own: dict[str, Any] = {"source": "host", "unit": "ms", "kind": "counter", "labels": {}}
    return TelemetryLine(name=name, mean=tuple(mean), max=tuple(mean), **own | changes)


def cpus(busy: Sequence[float]) -> tuple[TelemetryLine, ...]:
    """Returns the CPU time of a host with one CPU that is busy for these shares."""
    user = [1000 * share for share in busy]
    return telemetry("cpu.user", user), telemetry("cpu.idle", [1000 - each for each in user])


def observed(lines: RaceTimeline | None, **changes: Any) -> RaceObservations:
    """Returns what was observed, without GC log and telemetry unless given."""
    return RaceObservations(timeline=lines, **changes)


def pause(at_s: float, ms: float, node: str = "") -> GcPause:
    """Returns a pause of a young collection."""
    return GcPause(at_s, ms, "Young (Normal)", node)


def arrivals(due: Sequence[int], done: Sequence[int]) -> TaskArrivals:
    """Returns the operations that were due and done in each part."""
    return TaskArrivals(tuple(due), tuple(done))
