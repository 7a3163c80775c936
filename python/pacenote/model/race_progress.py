"""A snapshot of a running race."""

from __future__ import annotations

from typing import Any

from pacenote.model.codec import Integer, Number, Stored, decode_text, encode


class TaskProgress(Stored, frozen=True):
    """Progress of a running task."""

    task: str
    """Name of the task."""
    unit: str
    """Unit of `rate`."""
    warming_up: bool
    """Whether the task is still warming up."""
    done_share: Number | None
    """Share of the task that is done, from 0 to 1, or None if unknown."""
    rate: Number
    """Work per second in the last full second."""
    p50_ms: Number | None
    """Median latency or service time in the last full second, milliseconds."""
    p99_ms: Number | None
    """99th percentile of latency or service time in the last full second, milliseconds."""
    operations: Integer
    """Operations ended so far."""
    errors: Integer
    """Operations failed so far."""
    eta_s: Number | None
    """Estimated seconds until the end of the task at its current pace, or None if unknown."""
    target: Number | None = None
    """Work per second according to the schedule of the task, or None if it has none."""
    one_off: bool = False
    """Whether each client executes at most one operation, so that rates say nothing."""
    silent_s: Number | None = None
    """Seconds since an operation ended, or since the task began, if that is longer than its schedule and
    pauses explain; otherwise None.
    """
    has_latency: bool = False
    """Whether the task has a schedule, so that its percentiles are those of latency; otherwise they are those
    of service time.
    """
    late_p99_ms: Number | None = None
    """99th percentile of lateness in the last full second, milliseconds, or None without a schedule."""


class RetryWait(Stored, frozen=True):
    """An operation that is retried until it succeeds."""

    task: str
    """Name of its task."""
    reason: str
    """Why its last attempt failed."""
    attempts: Integer
    """Number of attempts so far."""
    waited_s: Number
    """Seconds from the start of the first attempt to the end of the last one."""
    limit_s: Number
    """Seconds after the start of the first attempt from which on no attempt is made."""


class TimeLeft(Stored, frozen=True):
    """How long a race still takes if the engine keeps up with its schedules."""

    seconds: Number
    """Seconds that are known."""
    complete: bool
    """Whether they include all tasks; the others last as long as the engine needs."""


class TasksToCome(Stored, frozen=True):
    """The tasks of a race that have not begun."""

    count: Integer
    """Number of tasks."""
    first: tuple[str, ...]
    """Names of the first of them, in the order of the plan."""


class RaceProgress(Stored, frozen=True):
    """A snapshot of a running race."""

    step: Integer
    """Number of the running step, from 1."""
    steps: Integer
    """Number of steps."""
    elapsed_s: Number
    """Seconds since the first step began."""
    tasks: tuple[TaskProgress, ...]
    """The running tasks."""
    waits: tuple[RetryWait, ...] = ()
    """Operations that are retried until they succeed, at most one per task."""
    left: TimeLeft | None = None
    """How long the race still takes, or None if nothing is known about it."""
    activity: str = ""
    """What runs if it is not a step of a race, such as a probe; otherwise empty."""
    to_come: TasksToCome | None = None
    """The tasks that have not begun, or None if they are not known."""

    @classmethod
    def from_json(cls, text: str) -> RaceProgress:
        """Reads a snapshot of the driver, which is taken twice a second on the machine of the race. Raises
        ValueError if it is invalid.
        """
        return decode_text(cls, text)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document with all fields."""
        document: dict[str, Any] = encode(self)
        return document
