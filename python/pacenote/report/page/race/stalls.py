"""When a task stood still, or nearly so."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import accumulate
from statistics import mean, median

from msgspec import Struct

from pacenote.model.race_timeline import GcPause, RaceObservations, TaskTimeline, TimelinePoint
from pacenote.model.result import TaskResult

STALLED_SHARE = 0.2
"""Share of the usual operations per second below which a second is a stall."""

MISSED_OPERATIONS = 20
"""Least number of operations that would have been usual in a stall: fewer may be missing by chance."""

MOST_STALLS = 1_000
"""Largest number of stalls of a race that are found; of more, the longest ones."""

_STALLS = 5
"""Number of such stalls that a task must have room for: otherwise, its usual rate is not known."""


class Stall(Struct, frozen=True):
    """Consecutive seconds in which far fewer operations of a task ended than usual."""

    task: str
    """Name of the task."""

    from_s: float
    """Its beginning, in seconds since the race's first task began."""

    to_s: float
    """Its end."""

    operations: int
    """Operations that ended in it."""

    usual_per_s: float
    """Usual number of operations per second of the task."""

    gc_ms: float | None
    """Time of pauses for garbage collection in it on the node that paused longest, in milliseconds; None if
    there is no GC log.
    """

    longest_ms: float | None = None
    """The longest operation that ended in it or in the second after, in milliseconds; None if not known."""

    gc_node: str = ""
    """The node of `gc_ms`; empty for the only one, or if none paused."""

    @property
    def length_s(self) -> float:
        """Its length in seconds."""
        return self.to_s - self.from_s


class _Span(Struct, frozen=True):
    """Consecutive seconds of a task in which far fewer operations ended than usual."""

    task: TaskResult
    line: TaskTimeline
    begin: int
    """The first second, since the task began."""

    end: int
    """The second after the last one."""

    operations: int
    usual: float

    @property
    def length(self) -> int:
        """The number of seconds."""
        return self.end - self.begin


def find_stalls(tasks: Sequence[TaskResult], observed: RaceObservations) -> tuple[Stall, ...]:
    """Returns the stalls of all tasks in the order of time, at most `MOST_STALLS`."""
    timelines = observed.timeline.tasks if observed.timeline else {}
    spans = nlargest(
        MOST_STALLS,
        (span for task in tasks if (line := timelines.get(task.task)) for span in _spans(task, line)),
        key=lambda span: span.length,
    )
    pauses = _PausedNodes(observed.pauses) if observed.has_gc_log and spans else None
    length_s = observed.timeline.length_s if observed.timeline else 1
    return tuple(sorted((_stall(span, pauses, length_s) for span in spans), key=lambda stall: stall.from_s))


def is_examined(task: TaskResult, line: TaskTimeline) -> bool:
    """Returns whether enough operations ended to notice a stall."""
    seconds = _measured(task, line)
    return len(seconds) >= _STALLS and _usual(seconds) * len(seconds) >= _STALLS * MISSED_OPERATIONS


def _usual(seconds: Sequence[int]) -> float:
    """Returns the usual operations per second: the median, or the mean if most seconds have none."""
    return median(seconds) or mean(seconds)


def _measured(task: TaskResult, line: TaskTimeline) -> Sequence[int]:
    """Returns the operations of the whole seconds of the measured part."""
    return line.operations[line.measured_from_s or 0 : int(task.duration_s)]


def _spans(task: TaskResult, line: TaskTimeline) -> Iterator[_Span]:
    if not is_examined(task, line):
        return
    seconds, first = _measured(task, line), line.measured_from_s or 0
    usual = _usual(seconds)
    begin: int | None = None
    for number, operations in enumerate([*seconds, usual]):
        if operations <= STALLED_SHARE * usual:
            begin = number if begin is None else begin
        elif begin is not None:
            if usual * (number - begin) >= MISSED_OPERATIONS:
                yield _Span(task, line, first + begin, first + number, sum(seconds[begin:number]), usual)
            begin = None


def _stall(span: _Span, pauses: _PausedNodes | None, length_s: int) -> Stall:
    from_s, to_s = (span.task.started_s + each for each in (span.begin, span.end))
    gc_ms, node = (None, "") if pauses is None else pauses.longest(from_s, to_s)
    return Stall(
        span.task.task,
        from_s,
        to_s,
        span.operations,
        span.usual,
        gc_ms,
        _longest_ms(span.line.points, span.begin, span.end, length_s),
        node,
    )


def _longest_ms(points: Sequence[TimelinePoint], begin: int, end: int, length_s: int) -> float | None:
    """Returns the longest operation that ended in these seconds or in the one after them, when those end that
    the stall held up.
    """
    ended = (point for point in points if point.from_s <= end and point.from_s + length_s > begin)
    return max((point.times.max_ms for point in ended if point.times.max_ms is not None), default=None)


class _PausedNodes:
    """How long each node paused between two times. The pauses of several nodes are not added up: they may be
    simultaneous, and a node that pauses does not stop the others.
    """

    def __init__(self, pauses: Sequence[GcPause]) -> None:
        by_node: dict[str, list[GcPause]] = {}
        for pause in pauses:
            by_node.setdefault(pause.node, []).append(pause)
        self._nodes = {node: _PausedTime(own) for node, own in by_node.items()}

    def longest(self, from_s: float, to_s: float) -> tuple[float, str]:
        """Returns the time of pauses between two times of the node that paused longest, in milliseconds, and
        its name.
        """
        times = ((paused.between_ms(from_s, to_s), node) for node, paused in self._nodes.items())
        ms, node = max(times, default=(0.0, ""), key=lambda each: each[0])
        return ms, node if ms else ""


class _PausedTime:
    """How long the pauses of a node took between two times, without looking at all of them: a log has
    200,000.
    """

    def __init__(self, pauses: Sequence[GcPause]) -> None:
        """Pauses that overlap each count."""
        spans = [(_ns(pause.at_s), _ns(pause.at_s + pause.ms / 1000)) for pause in pauses if pause.ms > 0]
        self._begins, self._ends = (sorted(span[side] for span in spans) for side in (0, 1))
        self._begin_sums, self._end_sums = ([0, *accumulate(times)] for times in (self._begins, self._ends))

    def between_ms(self, from_s: float, to_s: float) -> float:
        """Returns the time of pauses between two times, in milliseconds."""
        return (self._until(_ns(to_s)) - self._until(_ns(from_s))) / 1e6

    def _until(self, at: int) -> int:
        """Returns the time of pauses until a time: that since all that began, less that since all that ended.
        The numbers are whole, so that nothing is lost in the difference.
        """
        begun, ended = bisect_right(self._begins, at), bisect_left(self._ends, at)
        return at * (begun - ended) - self._begin_sums[begun] + self._end_sums[ended]


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
