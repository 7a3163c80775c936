"""The load of a block device from second to second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from pacenote.model.telemetry_cuts import TaskTimes

Point = tuple[int, float | None]
"""A time in nanoseconds since 1970, and a value, or None if it could not be read."""

_QUIET_SHARE = 0.5
"""Share of an interval below which a device is quiet in it."""

_FIELDS = ("reads", "writes", "read_time", "write_time", "busy_time")
SERIES = tuple(f"disk.{name}" for name in _FIELDS)
"""The series that a history needs."""


class DeviceInterval(Struct, frozen=True):
    """What a device did between two samples."""

    begin_ns: int
    """Its beginning in nanoseconds since 1970."""

    end_ns: int
    """Its end in nanoseconds since 1970."""

    requests: float
    """Reads and writes that ended."""

    request_ms: float
    """Time of these requests in milliseconds, waiting included."""

    busy_ms: float
    """Time for which the device had requests, in milliseconds."""

    @property
    def length_ms(self) -> float:
        """Its length in milliseconds."""
        return (self.end_ns - self.begin_ns) / 1e6


def device_history(points: Mapping[str, Sequence[Point]]) -> tuple[DeviceInterval, ...]:
    """Returns the intervals between samples of a device, without gaps and without those in which its counters
    began again. `points` has the series of `SERIES` by name; all have the same times.
    """
    if any(name not in points for name in SERIES):
        return ()
    return tuple(_intervals([points[name] for name in SERIES]))


def _intervals(columns: Sequence[Sequence[Point]]) -> Iterator[DeviceInterval]:
    rows = list(zip(*columns, strict=False))
    for before, after in pairwise(rows):
        deltas = [
            None if old is None or new is None or new < old else new - old
            for (_, old), (_, new) in zip(before, after, strict=True)
        ]
        known = [delta for delta in deltas if delta is not None]
        if len(known) == len(deltas) and after[0][0] > before[0][0]:
            reads, writes, read_ms, write_ms, busy_ms = known
            yield DeviceInterval(before[0][0], after[0][0], reads + writes, read_ms + write_ms, busy_ms)


def within(history: Sequence[DeviceInterval], task: TaskTimes) -> tuple[DeviceInterval, ...]:
    """Returns the intervals that are within a task."""
    return tuple(span for span in history if task.begin_ns <= span.begin_ns and span.end_ns <= task.end_ns)


def quiet_await_ms(history: Sequence[DeviceInterval]) -> float | None:
    """Returns the mean time of a request in the intervals in which the device was quiet, in milliseconds.

    None if there were no requests in any.
    """
    quiet = [interval for interval in history if interval.busy_ms < _QUIET_SHARE * interval.length_ms]
    requests = sum(interval.requests for interval in quiet)
    return sum(interval.request_ms for interval in quiet) / requests if requests > 0 else None


def busiest_share(history: Sequence[DeviceInterval], length_s: float) -> float | None:
    """Returns the largest share of `length_s` successive seconds in which the device had requests.

    None if the history is shorter.
    """
    best, first, busy_ms, length_ns = None, 0, 0.0, length_s * 1e9
    for number, last in enumerate(history):
        if number and history[number - 1].end_ns != last.begin_ns:
            first, busy_ms = number, 0.0  # There is a gap before it.
        busy_ms += last.busy_ms
        while first < number and last.end_ns - history[first + 1].begin_ns >= length_ns:
            busy_ms -= history[first].busy_ms
            first += 1
        span_ns = last.end_ns - history[first].begin_ns
        if span_ns >= length_ns:
            share = min(1e6 * busy_ms / span_ns, 1.0)
            best = share if best is None else max(best, share)
    return best


def queue_growth(history: Sequence[DeviceInterval], task: TaskTimes) -> float | None:
    """Returns the requests in flight in the second half of a task / those in the first half, by Little's law.

    None if there were none in the first half.
    """
    middle = (task.begin_ns + task.end_ns) // 2
    first = _little_queue(within(history, TaskTimes(task.task, task.begin_ns, middle)))
    second = _little_queue(within(history, TaskTimes(task.task, middle, task.end_ns)))
    return second / first if first and second is not None else None


def _little_queue(history: Sequence[DeviceInterval]) -> float | None:
    length_ms = sum(interval.length_ms for interval in history)
    return sum(interval.request_ms for interval in history) / length_ms if length_ms > 0 else None
