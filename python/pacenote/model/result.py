"""The results of tasks, and snapshots of a running race, as the driver measures them.

The driver passes both as documents whose fields are those of these types. Durations are milliseconds and end
in `_ms`; moments and longer spans are seconds and end in `_s`. docs/measuring.md defines all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pacenote.model.codec import decode, encode

EndedBy = Literal["iterations", "time", "source", "completed-by", "stopped", "aborted"]
"""Why a task ended."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Work per second, in the task's unit, over the one-second windows of the measured window."""

    min: float
    """The slowest second."""
    mean: float
    """All work / length of the measured window."""
    median: float
    """The median second."""
    max: float
    """The fastest second."""


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile with its 95 % order-statistic interval."""

    q: float
    """Which percentile, 0 to 100."""
    ms: float
    """Its value in milliseconds."""
    low_ms: float | None
    """Lower bound of the interval in milliseconds; None if there are too few values for one."""
    high_ms: float | None
    """Upper bound of the interval in milliseconds; None if there are too few values for one."""
    supported: bool
    """Whether there are enough values for it. Otherwise it must be marked wherever it is shown, and must not
    decide anything."""


@dataclass(frozen=True, slots=True)
class DurationSummary:
    """The distribution of one kind of duration over the measured operations of a task."""

    count: int
    """Number of durations."""
    min_ms: float
    """The smallest, in milliseconds."""
    mean_ms: float
    """The arithmetic mean, in milliseconds."""
    max_ms: float
    """The largest, in milliseconds."""
    percentiles: tuple[Percentile, ...]
    """The percentiles that the driver computed, in ascending order."""

    def at(self, q: float) -> Percentile | None:
        """The percentile `q` (0 to 100), if the driver computed it."""
        # The driver computes `q` from a share, so 99.9 may be slightly off.
        return next((found for found in self.percentiles if math.isclose(found.q, q, rel_tol=1e-9)), None)


@dataclass(frozen=True, slots=True)
class OperationTotals:
    """Where the operations of a task went: `operations` = `succeeded` + `failed` + `unanswered`."""

    operations: int
    """Operations begun."""
    succeeded: int
    """Operations that succeeded."""
    failed: int
    """Operations that failed."""
    unanswered: int
    """Operations begun whose reply had not come when the race ended."""
    retried: int
    """Attempts after the first."""
    warmup: int
    """Operations of the warm-up that ended."""
    normal: int
    """Measured operations that ended."""
    requests: int
    """Requests, every attempt counted."""
    unsent: int = 0
    """Operations due within the task's time for which no client was free before its end."""
    waited: int = 0
    """Operations sent late because no client was free when they were due."""
    reconnects: int = 0
    """Connections that were opened again while the task ran."""


@dataclass(frozen=True, slots=True)
class WorkTotals:
    """Work in the task's unit."""

    done: int
    """Work done."""
    failed: int
    """Work attempted and failed, such as the rejected documents of a bulk; not part of `done`."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures of one class, status and kind."""

    error_class: str
    """The class, for example `http-status`."""
    reason: str
    """The engine's error type and the reason of the first failure."""
    status: int | None
    """HTTP status, None if there was none."""
    count: int
    """Failed operations; for a bulk, rejected documents."""
    first_s: float
    """When the first failed, seconds since the task began."""
    last_s: float
    """When the last failed, seconds since the task began."""


@dataclass(frozen=True, slots=True)
class SubOperationResult:
    """The result of a sub-operation of a composite operation, over all clients.

    Those that were cut short because another one failed are not counted.
    """

    operation: str
    """Name of the sub-operation."""
    operation_type: str
    """Type of the sub-operation."""
    service_time: DurationSummary | None
    """Service time of measured successes."""
    failed_service_time: DurationSummary | None
    """Service time of measured failures."""
    operations: int
    """How often it ended, warm-up included."""
    failed: int
    """How often it failed, warm-up included."""
    retried: int
    """Attempts after the first, warm-up included."""
    requests: int
    """Requests, every attempt and the warm-up included."""
    error_rate: float
    """Measured failures / measured ends, 0 to 1."""
    errors: tuple[FailureGroup, ...]
    """Failures, most frequent first, warm-up included."""


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level while a task was measured, or a drift, which ends later than it begins."""

    from_s: float
    """When it began, seconds since the task began."""
    to_s: float
    """When it ended, seconds since the task began; equals `from_s` for a change of level."""
    before: float
    """The level before, in the task's unit per second or in milliseconds."""
    after: float
    """The level after, in the unit of `before`."""
    share: float
    """`after / before - 1`."""


SteadyState = Literal["steady", "warming", "slowing", "not-steady", "unknown"]
"""Label of a task: whether it became faster or slower while it was measured."""
SteadinessMetric = Literal["throughput", "service-time", "latency"]
"""The per-second value by which steadiness is judged."""


@dataclass(frozen=True, slots=True)
class Steadiness:
    """Whether a task was warm when it was measured, and stayed so; see docs/measuring.md."""

    state: SteadyState = "unknown"
    """The label."""
    since_s: float | None = None
    """From when on nothing that matters changed any more, seconds since the task began; None if it never
    settled."""
    changes: tuple[LevelChange, ...] = ()
    """What changed, in order of time; empty for a steady task."""
    by: SteadinessMetric | None = None
    """The metric that decided, None if none could be judged."""
    smallest_share: float | None = None
    """The smallest share by which the level could have changed for good, halfway, and been noticed."""


@dataclass(frozen=True, slots=True)
class SamplesKept:
    """How many samples of a task, those of sub-operations included, are in `samples.parquet`."""

    kept: int = 0
    """Samples in the file."""
    left_out: int = 0
    """Samples that `--samples` asked not to keep."""
    lost: int = 0
    """Samples dropped because the disk was too slow."""
    from_s: float | None = None
    """When the first operation ended whose sample is not in the file, seconds since the task began; None if
    there is none."""


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """A number that the runner of a plug-in returned with its operations, such as a recall."""

    count: int
    """How often it was returned."""
    min: float
    """The smallest value."""
    mean: float
    """The arithmetic mean."""
    max: float
    """The largest value."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one finished task. Only measured operations count unless a field says otherwise."""

    task: str
    """Name of the task."""
    operation: str
    """Name of its operation."""
    operation_type: str
    """Type of its operation."""
    index: int
    """Position of the task in the plan, from 0."""
    unit: str
    """Unit of its work."""
    clients: int
    """Number of its clients."""
    started_s: float
    """When it began, seconds since the race's first task."""
    duration_s: float
    """From its beginning to its last reply, seconds, warm-up included."""
    window_s: float
    """Length of the measured window, seconds."""
    paced: bool
    """Whether it has a schedule."""
    throughput: Throughput | None
    """Work per second; None if no work was done in the measured window."""
    service_time: DurationSummary | None
    """Service time of successes."""
    latency: DurationSummary | None
    """Latency of successes; None without a schedule, where it equals service time."""
    processing_time: DurationSummary | None
    """Processing time of successes."""
    lateness: DurationSummary | None
    """Lateness of all operations; None without a schedule."""
    failed_service_time: DurationSummary | None
    """Service time of failures, which no other distribution contains."""
    accounting: OperationTotals
    """Where every operation went, warm-up included."""
    work: WorkTotals
    """Work done and failed, warm-up included."""
    bytes_out: int
    """Bytes written to sockets for requests, with TLS, warm-up included."""
    bytes_in: int
    """Bytes read from sockets for replies, with TLS, warm-up included."""
    error_rate: float
    """Failed operations / operations, 0 to 1."""
    errors: tuple[FailureGroup, ...]
    """Failures, most frequent first, warm-up included."""
    ended_by: EndedBy
    """Why it ended."""
    open_loop: bool = False
    """Whether its clients shared their schedule; `clients` is then the most connections in use at a time."""
    underruns: int = 0
    """Operations that waited for a parameter source in Python before they were sent, warm-up included."""
    underrun_s: float = 0.0
    """How long they waited, seconds, the sum over all clients."""
    content_out: int = 0
    """Bytes of request bodies before compression and TLS, warm-up included."""
    content_in: int = 0
    """Bytes of reply bodies after TLS and decompression, warm-up included."""
    steady: Steadiness = Steadiness()
    """Whether it was warm when it was measured, and stayed so."""
    samples: SamplesKept = SamplesKept()
    """How many of its samples are in `samples.parquet`."""
    parts: tuple[SubOperationResult, ...] = ()
    """Its sub-operations, in the order in which they were first seen; they count for no other field."""
    values: Mapping[str, ValueSummary] = field(default_factory=dict)
    """What a runner in Python returned with measured operations, by name."""

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> TaskResult:
        """Reads a document of the driver or of `to_document`; raises PacenoteError naming the bad field."""
        name = document.get("task") if isinstance(document, Mapping) else None
        return decode(cls, document, f"result of task '{name}'" if name else "task result")

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document, with every field."""
        document: dict[str, Any] = encode(self)
        return document


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """Progress of a running task."""

    task: str
    """Name of the task."""
    unit: str
    """Unit of `rate`."""
    warming_up: bool
    """Whether nothing has been measured yet."""
    done_share: float | None
    """Share of the task that is done, 0 to 1; None if it cannot be known."""
    rate: float
    """Work per second in the last whole second."""
    p50_ms: float | None
    """Median service time in the last whole second, milliseconds."""
    p99_ms: float | None
    """99th percentile of service time in the last whole second, milliseconds."""
    operations: int
    """Operations ended so far."""
    errors: int
    """Operations failed so far."""
    eta_s: float | None
    """Seconds left at the present pace."""


@dataclass(frozen=True, slots=True)
class RaceProgress:
    """A snapshot of a running race."""

    step: int
    """The step that runs, from 1."""
    steps: int
    """Number of steps."""
    elapsed_s: float
    """Seconds since the first step began."""
    tasks: tuple[TaskProgress, ...]
    """The tasks that run."""

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> RaceProgress:
        """Reads a snapshot of the driver; raises PacenoteError naming the bad field."""
        return decode(cls, document, "progress")

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document, with every field."""
        document: dict[str, Any] = encode(self)
        return document


def percentiles_for(count: int) -> tuple[float, ...]:
    """The percentiles (0 to 100) shown of `count` values: Rally's rule, so that reports keep their rows."""
    extra = {10: 90.0, 100: 99.0, 1_000: 99.9, 10_000: 99.99}
    if count <= 0:
        return ()
    if count == 1:
        return (100.0,)
    return (50.0, *(q for minimum, q in extra.items() if count >= minimum), 100.0)
