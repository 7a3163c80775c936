"""What other programs had of CPUs while hardly any of them was idle, from sample to sample.

Over a whole task, idle time and the time of others say nothing about each other: another program may have had
all CPUs for some seconds of a task in which most time was idle, or an engine some seconds in which it was
alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

from msgspec import Struct

from pacenote.model.reported_cpu import contended_part
from pacenote.model.sampler_facts import CHILDREN
from pacenote.model.telemetry_cuts import TaskTimes
from pacenote.stats.device_history import Point

_IDLE, _WAITING, _STOLEN = "cpu.idle", "cpu.iowait", "cpu.steal"
_OWN = ("process.user", "process.system")
SERIES = (_IDLE, _WAITING, _STOLEN, *_OWN, CHILDREN)
"""The series of the host sampler that a history needs."""

_LEAST_KNOWN = 0.5
"""Part of a task of which it must be known what others had."""

_NS_PER_S = 1e9

Counters = Mapping[tuple[str, str], Sequence[Point]]
"""Counters in milliseconds, in the order of time, by the name of their series and that of the CPU or process:
none for all CPUs.
"""


class CpuHistory(Struct, frozen=True):
    """The counters of CPUs and processes around a task."""

    counters: Counters
    """They, of the whole race."""

    task: TaskTimes
    """When the task ran."""

    def contended_ms(self, cpus: frozenset[int], processes: Iterable[str], total_ms: float) -> float | None:
        """Returns what programs beside these processes had of CPUs, none for all, while hardly any of them
        was idle, at most: interrupts are included. In milliseconds per second, of which the CPUs have
        `total_ms`; None if it is not known of most of the task.
        """
        free = self._states(cpus)
        own = self._processes(processes)
        if free is None or own is None:
            return None
        known_s = contended = 0.0
        for length_s, idle_ms, stolen_ms, own_ms in _intervals(self._times(free[0]), (*free, own)):
            of_all = total_ms * length_s
            # The kernel may count a little less time of waits for disks than before.
            idle = max(idle_ms, 0.0)
            others = max(of_all - idle - max(stolen_ms, 0.0) - own_ms, 0.0)
            # What a process had that has begun again is not known.
            if own_ms >= 0:
                known_s += length_s
                contended += others * contended_part(idle / of_all, total_ms / 1_000)
        enough = known_s > 0 and known_s >= _LEAST_KNOWN * self.task.duration_s
        return contended / known_s if enough else None

    def _states(self, cpus: frozenset[int]) -> tuple[list[Sequence[Point]], list[Sequence[Point]]] | None:
        """Returns the counters of idle and of stolen time of these CPUs; not all kernels have all of them."""
        names = [str(cpu) for cpu in sorted(cpus)] or [""]
        if not all(self.counters.get((_IDLE, name)) for name in names):
            return None
        return self._of(names, _IDLE, _WAITING), self._of(names, _STOLEN)

    def _processes(self, processes: Iterable[str]) -> list[Sequence[Point]] | None:
        """Returns the counters of these processes; races of earlier versions did not record those of the
        processes that nodes started.
        """
        names = tuple(processes)
        if not all(self.counters.get((kind, name)) for name in names for kind in _OWN):
            return None
        return self._of(names, *_OWN, CHILDREN)

    def _of(self, names: Iterable[str], *kinds: str) -> list[Sequence[Point]]:
        keys = [(kind, name) for name in names for kind in kinds]
        return [points for key in keys if (points := self.counters.get(key))]

    def _times(self, counters: Sequence[Sequence[Point]]) -> list[int]:
        """Returns when the task began and ended, and the times of the samples in between."""
        points, begin, end = counters[0], self.task.begin_ns, self.task.end_ns
        first = bisect_right(points, begin, key=itemgetter(0))
        last = bisect_left(points, end, key=itemgetter(0))
        return [begin, *(time_ns for time_ns, _ in points[first:last]), end]


def _intervals(
    times: Sequence[int], columns: Sequence[Sequence[Sequence[Point]]]
) -> Iterator[tuple[float, float, float, float]]:
    """Yields the lengths in seconds of the intervals between those of these times at which all is known, each
    with the growth of the counters of idle time, of stolen time and of processes.
    """
    totals = (_totals(counters, times) for counters in columns)
    known = [
        (time_ns, (idle, stolen, own))
        for time_ns, idle, stolen, own in zip(times, *totals, strict=True)
        if idle is not None and stolen is not None and own is not None
    ]
    for (begin, before), (end, after) in pairwise(known):
        if end > begin:
            idle, stolen, own = (new - old for old, new in zip(before, after, strict=True))
            yield (end - begin) / _NS_PER_S, idle, stolen, own


def _totals(counters: Sequence[Sequence[Point]], times: Sequence[int]) -> list[float | None]:
    """Returns the sum of the counters at each of these times; None where one is not known."""
    totals: list[float | None] = [0.0] * len(times)
    for points in counters:
        for at, value in enumerate(_values(points, times)):
            total = totals[at]
            totals[at] = None if total is None or value is None else total + value
    return totals


def _values(points: Sequence[Point], times: Sequence[int]) -> Iterator[float | None]:
    """Yields the value of a counter at each of these times, which do not decrease. Between two samples, it is
    assumed to grow evenly: processes may be read at other times than CPUs.
    """
    position = bisect_left(points, times[0], key=itemgetter(0))
    for time_ns in times:
        while position < len(points) and points[position][0] < time_ns:
            position += 1
        if position == len(points):
            yield None
        elif points[position][0] == time_ns:
            yield points[position][1]
        elif position == 0:
            yield None
        else:
            yield _between(points[position - 1], points[position], time_ns)


def _between(before: Point, after: Point, time_ns: int) -> float | None:
    (begin_ns, first), (end_ns, last) = before, after
    if first is None or last is None:
        return None
    return first + (last - first) * (time_ns - begin_ns) / (end_ns - begin_ns)
