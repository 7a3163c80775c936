"""What the driver measured: the result of one task, and snapshots while it runs.

The driver hands both over as documents whose fields are the fields of these types, one to one. Times are
milliseconds and end in `_ms`, moments and lengths of time are seconds and end in `_s`; definitions are those
of DESIGN.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pacenote.model.codec import decode, encode

EndedBy = Literal["iterations", "time", "source", "completed-by", "stopped", "aborted"]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Work per second in the task's unit, over one-second windows; `mean` is total work by measured time."""

    min: float
    mean: float
    median: float
    max: float


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile `q` (0 to 100) with its 95 % order-statistic interval, which few samples do not have.

    `supported` says whether there were enough samples for the percentile to mean something; one that is not
    must be marked wherever it is shown and must not decide anything.
    """

    q: float
    ms: float
    low_ms: float | None
    high_ms: float | None
    supported: bool


@dataclass(frozen=True, slots=True)
class Times:
    """The distribution of one kind of time over the measured operations of a task."""

    count: int
    min_ms: float
    mean_ms: float
    max_ms: float
    percentiles: tuple[Percentile, ...]

    def at(self, q: float) -> Percentile | None:
        """The percentile `q`, if the driver computed it."""
        # The driver may compute `q` from a share, so 99.9 need not be exactly this 99.9.
        return next((one for one in self.percentiles if math.isclose(one.q, q, rel_tol=1e-9)), None)


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where every operation of a task went: `operations` = `succeeded` + `failed` + `unanswered`.

    Unanswered ones were begun, but the race ended before their reply. `unsent` ones were due within the
    task's time, but no client was free before it was over; `waited` ones were sent late because none was free
    when they were due. `requests` are those on the wire;
    `reconnects` are connections that were opened again while the task ran.
    """

    operations: int
    succeeded: int
    failed: int
    unanswered: int
    retried: int
    warmup: int
    normal: int
    requests: int
    unsent: int = 0
    waited: int = 0
    reconnects: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """Work in the task's unit: `failed` work (a bulk's rejected documents) is not part of `done`."""

    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """One kind of failure of a task: how often, and the engine's reason for one of them.

    For a bulk, `count` is rejected documents. `first_s` and `last_s` count from the task's beginning.
    """

    error_class: str
    reason: str
    status: int | None
    count: int
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class PartResult:
    """What an operation within a task's composite operation came to, over all clients.

    The times are those of measured operations; `operations`, `failed`, `retried` and `requests` include the
    warm-up. `error_rate` (0 to 1) is over measured operations. Those that were cut short because another
    failed are not counted.
    """

    operation: str
    operation_type: str
    service_time: Times | None
    failed_service_time: Times | None
    operations: int
    failed: int
    retried: int
    requests: int
    error_rate: float
    errors: tuple[ErrorCount, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level while a task was measured, or a drift, which ends later than it begins.

    `from_s` and `to_s` count from the task's beginning. `before` and `after` are in the unit of what was
    judged: the task's unit per second, or milliseconds. `share` is the difference / before.
    """

    from_s: float
    to_s: float
    before: float
    after: float
    share: float


SteadyState = Literal["steady", "warming", "slowing", "not-steady", "unknown"]
Measure = Literal["throughput", "service-time", "latency"]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """Whether a task was warm when it was measured, and stayed so; see docs/measuring.md.

    `since_s` is from when on nothing changed any more that matters, counted from the task's beginning; None
    if it never settled. `changes` is empty for a steady task. `by` is what was judged, None if nothing could
    be. A lasting change of less than `smallest_share`, halfway, would not have been noticed.
    """

    state: SteadyState = "unknown"
    since_s: float | None = None
    changes: tuple[Change, ...] = ()
    by: Measure | None = None
    smallest_share: float | None = None


@dataclass(frozen=True, slots=True)
class SamplesKept:
    """How many samples of a task are in `samples.parquet`, those of operations within its operation included.

    `left_out` are those that `--samples` asked not to keep, `lost` those that the disk was too slow for.
    `from_s` is when the first of both ended, counted from the task's beginning; None if all were kept.
    """

    kept: int = 0
    left_out: int = 0
    lost: int = 0
    from_s: float | None = None


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """A number that the runner of a plug-in returned with its operations, such as a recall."""

    count: int
    min: float
    mean: float
    max: float


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What one finished task did.

    `latency` is None for unpaced tasks, where it equals the service time. Failed operations are only in
    `failed_service_time`, never in the other distributions. `error_rate` (0 to 1) is over measured
    operations. `started_s` counts from the race's first task; `duration_s` includes the warm-up, `window_s`
    does not. `open_loop`: its clients shared their schedule, and were the most connections in use at a time.
    `underruns` operations waited `underrun_s` in all, before they were sent, for a parameter source
    written in Python. `bytes_*` are what crossed the sockets for requests, TLS included; `content_*` are the
    bodies within, as they were before compression. `parts` are the operations within a composite one; they
    count for nothing else here. `values` are what a runner written in Python returned with measured
    operations.
    """

    task: str
    operation: str
    operation_type: str
    index: int
    unit: str
    clients: int
    started_s: float
    duration_s: float
    window_s: float
    paced: bool
    throughput: Throughput | None
    service_time: Times | None
    latency: Times | None
    processing_time: Times | None
    lateness: Times | None
    failed_service_time: Times | None
    accounting: Accounting
    work: Work
    bytes_out: int
    bytes_in: int
    error_rate: float
    errors: tuple[ErrorCount, ...]
    ended_by: EndedBy
    open_loop: bool = False
    underruns: int = 0
    underrun_s: float = 0.0
    content_out: int = 0
    content_in: int = 0
    steady: Steadiness = Steadiness()
    samples: SamplesKept = SamplesKept()
    parts: tuple[PartResult, ...] = ()
    values: Mapping[str, ValueSummary] = field(default_factory=dict)

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> TaskResult:
        """Reads what `to_document` or the driver wrote; raises PacenoteError naming the bad field."""
        name = document.get("task") if isinstance(document, Mapping) else None
        return decode(cls, document, f"result of task '{name}'" if name else "task result")

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document, with every field."""
        document: dict[str, Any] = encode(self)
        return document


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """One running task: rate and service time are those of the last second, counts are since the task
    began.
    """

    task: str
    unit: str
    warming_up: bool
    done_share: float | None
    rate: float
    p50_ms: float | None
    p99_ms: float | None
    operations: int
    errors: int
    eta_s: float | None


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot of the running race: step `step` of `steps` (from 1) and the tasks that run in it."""

    step: int
    steps: int
    elapsed_s: float
    tasks: tuple[TaskProgress, ...]

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Progress:
        """Reads the driver's snapshot; raises PacenoteError naming the bad field."""
        return decode(cls, document, "progress")

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document, with every field."""
        document: dict[str, Any] = encode(self)
        return document


def percentiles_for(count: int) -> tuple[float, ...]:
    """Which percentiles are shown for so many samples: Rally's rule, so that reports keep their rows."""
    extra = {10: 90.0, 100: 99.0, 1_000: 99.9, 10_000: 99.99}
    if count <= 0:
        return ()
    if count == 1:
        return (100.0,)
    return (50.0, *(q for enough, q in extra.items() if count >= enough), 100.0)
