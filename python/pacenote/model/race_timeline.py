"""What a race did over time, in parts of equal length: few enough for a chart.

Times of the race are in seconds since its first task began. A part is what lies between two multiples of the
length; parts of a task are counted from its own beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from pacenote.model.codec import Integer, Number, Stored, decode
from pacenote.model.merged_series import MergedPercentile
from pacenote.model.result import TaskResult
from pacenote.model.telemetry_sample import SampleKind

MOST_PARTS = 20_000
"""The most parts of a race: those of its tasks are about 600, but it may wait between them."""


class PointTimes(Stored, frozen=True):
    """Durations in a part. A percentile is one of the observed durations, and None if none is above it."""

    p50_ms: Number | None
    """The median in milliseconds."""

    p90_ms: Number | None
    """The 90th percentile in milliseconds."""

    p99_ms: Number | None
    """The 99th percentile in milliseconds."""

    max_ms: Number | None
    """The longest in milliseconds; None if there are none."""


class TimelinePoint(Stored, frozen=True):
    """The operations of a task that ended in one part."""

    from_s: Integer
    """Beginning of the part, in seconds since the task began."""

    operations: Integer
    """Operations that ended, including failed ones."""

    errors: Integer
    """Operations that failed."""

    work: Integer
    """Work done, in the task's unit."""

    least_work: Integer
    """Work done in the second with the least of it."""

    most_work: Integer
    """Work done in the second with the most of it."""

    times: PointTimes
    """Latency of successes, or service time in a task without a schedule."""

    lateness: PointTimes | None
    """Lateness of all operations, or None without a schedule."""

    levels: tuple[tuple[Integer, Integer], ...]
    """Levels of durations with the number of successes: level n begins at 10^(n / `levels_per_decade`) ns."""


class TaskTimeline(Stored, frozen=True):
    """The operations of a task over time, without sub-operations."""

    has_latency: bool
    """Whether its durations are latencies; otherwise they are service times."""

    measured_from_s: Integer | None
    """The first second in which an operation of the measured part ended, or None if there is none."""

    operations: tuple[Integer, ...]
    """Operations that ended in each second since the task began."""

    points: tuple[TimelinePoint, ...]
    """The parts in which operations ended."""

    curve: tuple[MergedPercentile, ...]
    """Percentiles of the measured operations, as far as there are enough of them."""


class RaceTimeline(Stored, frozen=True):
    """The operations of a race over time."""

    length_s: Integer
    """Length of a part in seconds."""

    levels_per_decade: Number
    """Number of levels of durations for each power of ten."""

    tasks: Mapping[str, TaskTimeline]
    """The tasks by name."""

    @classmethod
    def from_json(cls, text: str) -> RaceTimeline:
        """Reads the document of the core. Raises PacenoteError if it is invalid."""
        return decode(cls, json.loads(text), "timeline")

    def parts(self, tasks: Iterable[TaskResult]) -> int:
        """Returns the number of parts of the race until the last of the tasks that it has ended, at most
        `MOST_PARTS`: the times of tasks come from another file than the timeline.
        """
        ends = (task.started_s + task.duration_s for task in tasks if task.task in self.tasks)
        return min(max(0, int(max(ends, default=0.0) // self.length_s)) + 1, MOST_PARTS)


class TaskArrivals(Stored, frozen=True):
    """Operations of a task in parts of its time."""

    due: tuple[Integer, ...]
    """Operations that were due in each part."""

    done: tuple[Integer, ...]
    """Operations that ended in each part."""


class TelemetryLine(Stored, frozen=True):
    """A series of telemetry in the parts of a race."""

    source: str
    """What has read it: the name of a telemetry device, or `host`."""

    name: str
    """Name of the value."""

    unit: str
    """Its unit; empty if it has none. The values of a counter are per second."""

    kind: SampleKind
    """Whether it is a gauge or a counter."""

    labels: Mapping[str, str]
    """What it belongs to."""

    mean: tuple[Number | None, ...]
    """Mean of each part, or growth per second; None where it is not known."""

    max: tuple[Number | None, ...]
    """Largest value of each part, or largest growth per second between two samples."""


class GcPause(Struct, frozen=True):
    """A pause of a node for garbage collection."""

    at_s: float
    """Its beginning, in seconds since the race's first task began."""

    ms: float
    """Its length in milliseconds."""

    kind: str
    """Its kind, as the log names it."""

    node: str = ""
    """The node; empty for the only one."""


class RaceObservations(Struct, frozen=True):
    """What was observed over time beside the race; empty where nothing was."""

    timeline: RaceTimeline | None = None
    """The operations, or None if the series cannot be read."""

    arrivals: Mapping[str, TaskArrivals] = field(default_factory=dict)
    """When operations were due and done, by name of tasks with a schedule, in the parts of the timeline."""

    telemetry: tuple[TelemetryLine, ...] = ()
    """Telemetry of host and nodes, in the parts of the race."""

    pauses: tuple[GcPause, ...] = ()
    """The pauses for garbage collection while the tasks ran, in the order of time."""

    has_gc_log: bool = False
    """Whether a GC log was read; otherwise the pauses are not known."""

    missing: tuple[str, ...] = ()
    """What could not be read, and why, one sentence each."""
