"""When a task stood still, or nearly so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from pacenote.model.race_timeline import GcPause, RaceObservations, TaskTimeline
from pacenote.model.result import TaskResult

STALLED_SHARE = 0.2
"""Share of the usual operations per second below which a second is a stall."""

MISSED_OPERATIONS = 20
"""Least number of operations that would have been usual in a stall: fewer may be missing by chance."""

_STALLS = 5
"""Number of such stalls that a task must have room for: otherwise, its usual rate is not known."""


@dataclass(frozen=True, slots=True)
class Stall:
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
    """Time of pauses for garbage collection in it, in milliseconds; None if there is no GC log."""

    longest_ms: float | None = None
    """The longest operation that ended in it or in the second after, in milliseconds; None if not known."""

    @property
    def length_s(self) -> float:
        """Its length in seconds."""
        return self.to_s - self.from_s


def find_stalls(tasks: Sequence[TaskResult], observed: RaceObservations) -> tuple[Stall, ...]:
    """Returns the stalls of all tasks in the order of time."""
    timelines = observed.timeline.tasks if observed.timeline else {}
    found = [
        stall
        for task in tasks
        if (line := timelines.get(task.task))
        for stall in _stalls(task, line, observed)
    ]
    return tuple(sorted(found, key=lambda stall: stall.from_s))


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


def _stalls(task: TaskResult, line: TaskTimeline, observed: RaceObservations) -> Iterator[Stall]:
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
                from_s, to_s = (task.started_s + first + each for each in (begin, number))
                gc_ms = _gc_ms(observed.pauses, from_s, to_s) if observed.has_gc_log else None
                longest_ms = _longest_ms(line, observed, first + begin, first + number)
                yield Stall(task.task, from_s, to_s, sum(seconds[begin:number]), usual, gc_ms, longest_ms)
            begin = None


def _longest_ms(line: TaskTimeline, observed: RaceObservations, begin: int, end: int) -> float | None:
    """Returns the longest operation that ended in these seconds or in the one after them, when those end that
    the stall held up.
    """
    length_s = observed.timeline.length_s if observed.timeline else 1
    ended = (point for point in line.points if point.from_s <= end and point.from_s + length_s > begin)
    return max((point.times.max_ms for point in ended if point.times.max_ms is not None), default=None)


def _gc_ms(pauses: Sequence[GcPause], from_s: float, to_s: float) -> float:
    return sum(
        max(0.0, min(to_s, pause.at_s + pause.ms / 1000) - max(from_s, pause.at_s)) * 1000 for pause in pauses
    )
