"""The results of tasks, and snapshots of a running race, as the driver measures them.

The driver passes both as documents with the fields of these types. Short durations are in milliseconds and
have the suffix `_ms`; points in time and longer durations are in seconds and have the suffix `_s`.
docs/measuring.md defines all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from msgspec import field

from pacenote.errors import PacenoteError
from pacenote.model.codec import Integer, Name, Number, Stored, decode, encode
from pacenote.model.failure_group import FailureGroup
from pacenote.model.merged_series import MergedPercentile
from pacenote.model.sample_counts import PERCENTILES

EndedBy = Literal["iterations", "time", "source", "completed-by", "stopped", "aborted"]
"""The reason why a task ended."""


class Throughput(Stored, frozen=True):
    """Work per second, in the task's unit, over the one-second windows of the measured window, or over the
    operations of a task whose times the engine or a runner reports.
    """

    min: Number
    """Throughput of the slowest second."""
    mean: Number
    """All work divided by the length of the measured window."""
    median: Number
    """Median throughput of the seconds."""
    max: Number
    """Throughput of the fastest second."""


class Percentile(Stored, frozen=True):
    """One percentile with its 95 % order-statistic interval, which allows for dependent operations."""

    q: Number
    """The percentile, from 0 to 100."""
    ms: Number
    """Value of the percentile in milliseconds."""
    low_ms: Number | None
    """Lower bound of the interval in milliseconds, or None if there are too few values, or too few stretches
    of time to see how operations depend on each other.
    """
    high_ms: Number | None
    """Upper bound of the interval in milliseconds, or None if there are too few values, or too few stretches
    of time.
    """
    supported: bool
    """Whether there would be enough values for the interval if they were independent. If not, the percentile
    must be marked where it is shown, and must not affect decisions.
    """


class CensoredPercentile(Stored, frozen=True):
    """One percentile of durations of which some never ended, with the upper bound of its 95 % order-statistic
    interval: for independent durations, except in a probe of `saturate` whose slow ones come in bursts.
    """

    q: Number
    """The percentile, above 0 and below 100."""
    ms: Number | None
    """Value of the percentile in milliseconds, or None if it is a duration that never ended."""
    high_ms: Number | None
    """Upper bound of the interval in milliseconds, or None if it is a duration that never ended, or if there
    are too few durations.
    """
    supported: bool
    """Whether there are enough durations for a confidence interval."""


class DurationSummary(Stored, frozen=True):
    """The distribution of one kind of duration over the measured operations of a task."""

    count: Integer
    """Number of durations."""
    min_ms: Number
    """The smallest duration, in milliseconds."""
    mean_ms: Number
    """The arithmetic mean of the durations, in milliseconds."""
    max_ms: Number
    """The largest duration, in milliseconds."""
    percentiles: tuple[Percentile, ...]
    """The percentiles that the driver computed, in ascending order."""

    def at(self, q: float) -> Percentile | None:
        """Returns the percentile `q` (0 to 100), or None if the driver did not compute it."""
        return find_percentile(self.percentiles, q)


class OperationTotals(Stored, frozen=True):
    """Outcomes of a task's operations: `operations` = `succeeded` + `failed` + `unanswered`."""

    operations: Integer
    """Operations that were started."""
    succeeded: Integer
    """Operations that succeeded."""
    failed: Integer
    """Operations that failed."""
    unanswered: Integer
    """Operations that were started and had no reply when the race ended."""
    retried: Integer
    """Retries: attempts after the first of each operation."""
    warmup: Integer
    """Operations of the warm-up that ended."""
    normal: Integer
    """Measured operations that ended."""
    requests: Integer
    """Requests, including those of retries."""
    unsent: Integer = 0
    """Operations that were due before the task ended, for whatever reason, but did not begin."""
    waited: Integer = 0
    """Operations that waited for a response because no client was free when they were due."""
    reconnects: Integer = 0
    """Connections that were reopened while the task ran."""

    @property
    def failed_share(self) -> float:
        """Failed operations divided by those that ended, warm-up included, from 0 to 1; 0 if none ended."""
        return self.failed / (self.succeeded + self.failed) if self.failed else 0.0


class WorkTotals(Stored, frozen=True):
    """Work of a task, in its unit."""

    done: Integer
    """Work done."""
    failed: Integer
    """Work attempted and failed, such as the rejected documents of a bulk; not part of `done`."""


class SubOperationResult(Stored, frozen=True):
    """The result of a sub-operation of a composite operation, over all clients.

    Executions that were aborted because another sub-operation failed are not counted.
    """

    operation: Name
    """Name of the sub-operation."""
    operation_type: Name
    """Type of the sub-operation."""
    service_time: DurationSummary | None
    """Service time of measured executions that succeeded."""
    failed_service_time: DurationSummary | None
    """Service time of measured executions that failed."""
    operations: Integer
    """Number of executions that ended, warm-up included."""
    failed: Integer
    """Number of executions that failed, warm-up included."""
    retried: Integer
    """Retries: attempts after the first, warm-up included."""
    requests: Integer
    """Requests, including those of retries and of the warm-up."""
    error_rate: Number | None
    """Measured failures divided by measured executions, from 0 to 1; None if none was measured."""
    errors: tuple[FailureGroup, ...]
    """Failures, most frequent first, warm-up included."""


class LevelChange(Stored, frozen=True):
    """A change of level while a task was measured: a step, or a drift, whose end is later than its start."""

    from_s: Number
    """Start of the change, in seconds since the task began."""
    to_s: Number
    """End of the change, in seconds since the task began; equal to `from_s` for a step."""
    before: Number
    """The level before the change, in the task's unit per second or in milliseconds."""
    after: Number
    """The level after the change, in the unit of `before`."""
    share: Number
    """Relative change: `after / before - 1`."""


SteadyState = Literal["steady", "warming", "slowing", "not-steady", "unknown"]
"""Label of a task: whether it became faster or slower while it was measured."""
SteadinessMetric = Literal["throughput", "service-time", "latency"]
"""The per-second value by which steadiness is judged."""


class Steadiness(Stored, frozen=True):
    """Whether a task was in a steady state while it was measured; see docs/measuring.md."""

    state: SteadyState = "unknown"
    """The label of the task."""
    since_s: Number | None = None
    """When the last relevant change ended, in seconds since the task began, or None if the task
    never settled.
    """
    changes: tuple[LevelChange, ...] = ()
    """Changes in chronological order; empty for a steady task."""
    by: SteadinessMetric | None = None
    """The metric that determined the label, or None if no metric could be judged."""
    smallest_share: Number | None = None
    """The smallest permanent change of level halfway through the task that would be detected, as a
    fraction.
    """


class WarmupDrain(Stored, frozen=True):
    """How the measured window of a task waited until the backlog of its warm-up was gone."""

    window_from_s: Number | None = None
    """When the window began, in seconds since the task began, or None if no operation was measured."""
    operations: Integer = 0
    """Number of operations that began before, and were planned to be measured; they belong to the warm-up."""
    gave_up: bool = False
    """Whether the backlog was not gone halfway through the planned window, or after 60 s if its end is not
    known, so that the window began then.
    """


class WarmupBacklog(Stored, frozen=True):
    """Measured operations of a task that waited for one of its warm-up, or for one that had waited for it,
    behind their client or in the engine.
    """

    operations: Integer = 0
    """Number of those that ended."""
    until_s: Number | None = None
    """When the last of them was due, in seconds since the task began, or None if there is none."""
    gone: bool = True
    """Whether each client had caught up with its schedule before it ended; if they share one, whether its
    last operation did not have to wait for the warm-up. Of operations that waited in the engine, whether as
    few were in flight as on average again.
    """
    iterations: Integer | None = None
    """Warm-up iterations of each client that would have contained them, or None if the warm-up is limited by
    time or there is none of them.
    """
    marked: bool = False
    """Whether latency is marked: they are at least five and more than 1 % of the measured operations, a
    figure of latency is more than 10 % higher than without them, and they are unlike the operations that the
    warm-up did not delay.
    """
    effect: Number | None = None
    """How many times as large as without them a figure of latency is, for the one of p50, p90, p99 and mean
    where that is largest; None if none of them or of the others succeeded, or if an older version did not
    record it.
    """
    drain: WarmupDrain | None = None
    """What `--warmup-drain` did, or None without it."""
    in_engine: Integer = 0
    """The part of `operations` that waited in the engine, behind no client; 0 if an older version recorded
    it.
    """
    from_quantile: Number | None = None
    """The lowest of the quantiles 0.5, 0.9, 0.99, 0.999, 0.9999 and 1 (the largest value) of latency that
    they decide: they are at least five and a larger share of the measured operations than is above it, it is
    more than 10 % lower without them, and they are unlike the others. None if there is none, or if an older
    version did not record it.
    """
    surplus: Integer = 0
    """By how many operations the measured window exceeds its own schedule, because the warm-up left them; 0
    if an older version recorded it.
    """
    throughput_marked: bool = False
    """Whether throughput is marked: these are at least five and more than 1 % of the operations of the
    window, and more than chance explains.
    """


class DriverTime(Stored, frozen=True):
    """The driver's own work on the measured operations of a task that succeeded, compared with their service
    times.
    """

    operations: Integer
    """Number of operations; without those that opened a connection, and of those that run in Python only
    those of plug-ins' runners.
    """
    mean_ms: Number
    """Mean of the driver's own work in milliseconds: building, compressing, decompressing, checking; for
    operations of a runner, Pacenote's work on what it returned.
    """
    service_ms: Number
    """Mean service time in milliseconds."""
    share: Number
    """`mean_ms` / `service_ms`."""


class CleanUps(Stored, frozen=True):
    """Requests that clean up what operations left in the engine, such as scrolls; their outcomes are not part
    of the operations.
    """

    requests: Integer = 0
    """Number of requests."""
    failed: Mapping[Name, Integer] = field(default_factory=dict)
    """Number of those that failed, by error class."""
    duration_s: Number = 0.0
    """Their total duration in seconds, without opening connections."""

    @property
    def all_failed(self) -> int:
        """Number of requests that failed."""
        return sum(self.failed.values())


class UnsolicitedData(Stored, frozen=True):
    """Data that servers sent without a request."""

    arrivals: Integer = 0
    """How often a connection had such data, after which it was closed."""
    bytes: Integer = 0
    """Number of its bytes."""


class PythonDelay(Stored, frozen=True):
    """The waits of a task's operations for the event loop of Python, compared with their service times."""

    operations: Integer
    """Number of measured operations that succeeded."""
    mean_ms: Number
    """Mean over the operations of the time from their request by the driver to their start, without waits
    for parameter sources, and from their replies to the code that awaits them, in milliseconds; 0 if no
    other client of the step needs Python.
    """
    service_ms: Number
    """Mean service time in milliseconds."""
    share: Number
    """`mean_ms` / `service_ms`."""


class SampleCounts(Stored, frozen=True):
    """Number of samples of a task, including those of sub-operations, that are in `samples.parquet`."""

    kept: Integer = 0
    """Samples in the file."""
    left_out: Integer = 0
    """Samples that were not kept because of `--samples`."""
    lost: Integer = 0
    """Samples dropped because the disk was too slow or full."""
    details_lost: Integer = 0
    """Samples in the file without their details, because the disk was too slow."""
    from_s: Number | None = None
    """End of the first operation whose sample is not in the file, in seconds since the task began, or None if
    all samples are in it.
    """


LEAST_VALUES = 8
"""Number of operations from which on the mean of the numbers that they returned has an interval."""

LEAST_EQUAL_VALUES = 64
"""The same if all numbers are equal."""


class ValueSummary(Stored, frozen=True):
    """A number that the runner of a plug-in returned with its operations, such as a recall."""

    count: Integer
    """Number of times that the number was returned."""
    min: Number
    """The smallest value."""
    mean: Number
    """The arithmetic mean."""
    max: Number
    """The largest value."""
    standard_deviation: Number | None = None
    """Standard deviation over the operations; None of one operation, or if an older version did not record
    it.
    """
    low: Number | None = None
    """Lower bound of the 95 % interval of the mean, from means of consecutive operations; None with fewer
    operations than `LEAST_VALUES`, or than `LEAST_EQUAL_VALUES` if all numbers are equal, or if an older
    version did not record it.
    """
    high: Number | None = None
    """Upper bound of the interval; None if `low` is."""


class TaskResult(Stored, frozen=True):
    """The result of one finished task. Only measured operations count unless a field says otherwise."""

    task: Name
    """Name of the task."""
    operation: Name
    """Name of its operation."""
    operation_type: Name
    """Type of its operation."""
    index: Integer
    """Position of the task in the plan, from 0."""
    unit: Name
    """Unit of its work."""
    clients: Integer
    """Number of its clients."""
    started_s: Number
    """Start of the task, in seconds since the start of the race's first task."""
    duration_s: Number
    """Seconds from the start of the task to its last reply, warm-up included."""
    window_s: Number
    """Length of the measured window in seconds."""
    paced: bool
    """Whether the task has a schedule, by target rate or scheduler."""
    throughput: Throughput | None
    """Throughput, or None if no work was done in the measured window."""
    service_time: DurationSummary | None
    """Service time of successes."""
    latency: DurationSummary | None
    """Latency of successes, or None if there is no schedule, where latency equals service time."""
    processing_time: DurationSummary | None
    """Processing time of successes."""
    lateness: DurationSummary | None
    """Lateness of all operations, or None if there is no schedule."""
    failed_service_time: DurationSummary | None
    """Service time of failures, which no other distribution contains."""
    accounting: OperationTotals
    """Outcomes of all operations, warm-up included."""
    work: WorkTotals
    """Work done and failed, warm-up included."""
    bytes_out: Integer
    """Bytes written to sockets for requests, including TLS and the warm-up."""
    bytes_in: Integer
    """Bytes read from sockets for replies, including TLS and the warm-up."""
    error_rate: Number | None
    """Failed operations divided by all operations, from 0 to 1; None if none was measured."""
    errors: tuple[FailureGroup, ...]
    """Failures, most frequent first, warm-up included."""
    ended_by: EndedBy
    """The reason why the task ended."""
    open_loop: bool = False
    """Whether its clients shared one schedule; `clients` is then the maximum number of busy connections."""
    window_operations: Integer = 0
    """Operations that ended in the measured window, whatever their outcome; 0 if an older version did not
    record it.
    """
    window_from_s: Number | None = None
    """When the measured window began, in seconds since the task began; None in older races."""
    window_succeeded: Integer | None = None
    """The part of these that succeeded, or None if an older version did not record it."""
    reported_failures: Integer = 0
    """Measured operations that failed with an error that the engine itself reported, such as status 429 or a
    rejected document; a slow driver cannot cause these. 0 if an older version did not record it.
    """
    overload_failures: Integer = 0
    """The part of `reported_failures` that failed only because the engine, or a proxy before it, could not
    keep up, for example with status 429. 0 if an older version did not record it.
    """
    queues: Integer | None = None
    """Number of queues from which its clients took operations: 1 if they shared a schedule, the number of
    clients if each had its own; None without a schedule, or if an older version did not record it.
    """
    underruns: Integer = 0
    """Operations that waited for a parameter source in Python before they were sent, warm-up included."""
    underrun_s: Number = 0.0
    """Seconds that operations waited for a parameter source in Python, summed over all clients."""
    content_out: Integer = 0
    """Bytes of request bodies before compression and TLS, warm-up included."""
    content_in: Integer = 0
    """Bytes of reply bodies after TLS and decompression, warm-up included."""
    steady: Steadiness = Steadiness()
    """Whether the task was in a steady state while it was measured."""
    warmup_backlog: WarmupBacklog = WarmupBacklog()
    """Measured operations that waited for its warm-up."""
    samples: SampleCounts = SampleCounts()
    """Number of the task's samples that are in `samples.parquet`."""
    parts: tuple[SubOperationResult, ...] = ()
    """Its sub-operations in the order of their first execution; no other field includes them."""
    values: Mapping[Name, ValueSummary] = field(default_factory=dict)
    """Numbers that a runner in Python returned with measured operations, by name."""
    driver_time: DriverTime | None = None
    """The driver's own work on its operations, or None if there is no operation to compare."""
    connecting_s: Number = 0.0
    """Seconds that requests waited for a connection, summed over all clients, warm-up included."""
    absent_s: Number = 0.0
    """Seconds of the measured window in which clients had left the task or, unless it begins at a planned
    time, had not begun to be measured, summed over all clients, without what follows from a ramp-up. Races of
    older versions do not have it.
    """
    error_design_effect: Number | None = None
    """How many times as many operations as independent ones say the same about the error rate (Kish's design
    effect); None if too few stretches of time were measured, or if an older version did not record it.
    """
    cleanup: CleanUps = CleanUps()
    """Requests that clean up what its operations left in the engine, warm-up included."""
    unsolicited: UnsolicitedData = UnsolicitedData()
    """Data that servers sent without a request, warm-up included."""
    python_delay: PythonDelay | None = None
    """The waits of its operations for Python, or None if no runner in Python executed them."""
    scheduler_delay_s: Number = 0.0
    """Seconds that operations waited for a scheduler in Python after they were due, summed over all clients,
    warm-up included.
    """
    unsent_is_least: bool = False
    """Whether more operations may be unsent than `accounting` counts, because its scheduler in Python could
    not be asked for all of them.
    """
    failed_sources: Integer = 0
    """Clients whose parameter source or scheduler in Python failed: the rest of their schedules is unsent,
    unless other clients share it.
    """
    unfinished_requests: Integer = 0
    """Requests of its runner in Python that had not ended when their client did, so that no total has their
    bytes.
    """
    caught_failures: Integer = 0
    """Requests with an error status or without a reply in operations of a runner in Python that succeeded,
    warm-up included; not those that only tell that something is missing or exists already.
    """
    inconsistent_results: Integer = 0
    """Operations that succeeded, but whose runner in Python returned counts that do not add up to its weight,
    warm-up included.
    """
    latency_with_failures: tuple[CensoredPercentile, ...] = ()
    """Percentiles of latency in which operations that failed, or were not answered or not sent, rank above
    all others; empty if there is no schedule.
    """
    reported_s: Number | None = None
    """Seconds that the engine or a runner in Python reports for the measured work; `throughput` is then the
    work divided by them. None if it refers to the measured window.
    """

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> TaskResult:
        """Reads a document of the driver or `to_document`. Raises PacenoteError with the invalid field."""
        name = document.get("task") if isinstance(document, Mapping) else None
        path = f"result of task '{name}'" if name else "task result"
        result = decode(cls, document, path)
        check_result(result, path)
        return result

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document with all fields."""
        document: dict[str, Any] = encode(self)
        return document


_LONGEST_S = 10 * 366 * 86_400.0
"""The longest time in a result, in seconds: ten years."""


def check_result(result: TaskResult, path: str) -> None:
    """Raises PacenoteError if the task had no clients, or ran at a time at which no race does; `path` is
    where it is stored.
    """
    if result.clients < 1:
        raise PacenoteError(f"{path}.clients is {result.clients}, but a task has at least one client")
    for name in ("started_s", "duration_s", "window_s", "window_from_s"):
        if not -_LONGEST_S <= (getattr(result, name) or 0.0) <= _LONGEST_S:
            raise PacenoteError(f"{path}.{name} is not a time of a race: {getattr(result, name):g} s")


_AnyPercentile = TypeVar("_AnyPercentile", Percentile, CensoredPercentile, MergedPercentile)


def find_percentile(percentiles: Iterable[_AnyPercentile], q: float) -> _AnyPercentile | None:
    """Returns the percentile `q` (0 to 100), or None if the driver did not compute it."""
    # The driver computes `q` from a share, so 99.9 may have a rounding error.
    return next((p for p in percentiles if math.isclose(p.q, q, rel_tol=1e-9)), None)


REPORTED_PERCENTILES = (*PERCENTILES, 100.0)
"""The percentiles that reports have rows for."""


def percentiles_for(count: int) -> tuple[float, ...]:
    """Returns the percentiles (0 to 100) that are shown for `count` values: Rally's rule, so reports have the
    same rows.
    """
    extra = {10: 90.0, 100: 99.0, 1_000: 99.9, 10_000: 99.99}
    if count <= 0:
        return ()
    if count == 1:
        return (100.0,)
    return (50.0, *(q for minimum, q in extra.items() if count >= minimum), 100.0)


def in_plan_order(results: Iterable[TaskResult]) -> tuple[TaskResult, ...]:
    """Returns the results in the order of the tasks in the plan, as in Rally's report."""
    return tuple(sorted(results, key=lambda result: result.index))
