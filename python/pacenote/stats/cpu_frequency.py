"""How fast the processors of the engine ran while a task ran, from their sampled frequencies."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence, Set
from operator import itemgetter
from statistics import fmean

from pacenote.model.telemetry_cuts import TaskTimes
from pacenote.stats.device_history import Point

SERIES = "cpu.frequency"
"""The series of the host sampler that has them, in Hz; its label `cpu` is the number of the CPU."""

LEAST_READINGS = 3
"""Number of readings of a task from which on their mean says something, and of its first and its last quarter
from which on a change does.
"""

_QUARTERS = 4


def frequency_figures(
    points: Mapping[str, Sequence[Point]], cpus: frozenset[int], task: TaskTimes
) -> dict[str, float]:
    """Returns the mean frequency within a task, that of its first quarter, and by which part that of its last
    quarter is lower, negative if it is higher; both over the CPUs that have readings in the two. Of a task
    that is too short for quarters, only the mean, and nothing with fewer readings than `LEAST_READINGS`.

    `points` has the frequencies by CPU; `cpus` are those that the engine may use, or none for all.
    """
    readings = {
        cpu: [(time_ns, value) for time_ns, value in _within(values, task) if value is not None and value > 0]
        for cpu, values in points.items()
        if not cpus or (cpu.isdecimal() and int(cpu) in cpus)
    }
    if _moments(readings, readings.keys()) < LEAST_READINGS:
        return {}
    figures = {"cpu.frequency_hz": fmean(value for values in readings.values() for _, value in values)}
    quarter_ns = (task.end_ns - task.begin_ns) / _QUARTERS
    first_quarter = _between(readings, task.begin_ns, task.begin_ns + quarter_ns)
    last_quarter = _between(readings, task.end_ns - quarter_ns, task.end_ns)
    # A CPU that was offline in one of them would change the mean, though none ran slower.
    in_both = first_quarter.keys() & last_quarter.keys()
    first, last = (_mean(quarter, in_both) for quarter in (first_quarter, last_quarter))
    if first is not None and last is not None:
        figures["cpu.frequency_first_hz"] = first
        figures["cpu.frequency_fall_share"] = 1 - last / first
    return figures


def _within(values: Sequence[Point], task: TaskTimes) -> Sequence[Point]:
    """Returns the readings within a task; `values` are those of the whole race, in the order of time."""
    begin = bisect_left(values, task.begin_ns, key=itemgetter(0))
    return values[begin : bisect_right(values, task.end_ns, key=itemgetter(0))]


def _between(
    readings: Mapping[str, Sequence[tuple[int, float]]], begin_ns: float, end_ns: float
) -> dict[str, list[tuple[int, float]]]:
    """Returns the readings in a part of a task, of the CPUs that have any."""
    within = {
        cpu: [(time_ns, value) for time_ns, value in values if begin_ns <= time_ns <= end_ns]
        for cpu, values in readings.items()
    }
    return {cpu: values for cpu, values in within.items() if values}


def _mean(readings: Mapping[str, Sequence[tuple[int, float]]], cpus: Set[str]) -> float | None:
    """Returns the mean over these CPUs, whatever the number of their readings; None if these are of too few
    moments."""
    if _moments(readings, cpus) < LEAST_READINGS:
        return None
    return fmean(fmean(value for _, value in readings[cpu]) for cpu in sorted(cpus))


def _moments(readings: Mapping[str, Sequence[tuple[int, float]]], cpus: Set[str]) -> int:
    """Returns at how many moments these CPUs were read. They are read one after the other, which may take
    some milliseconds, so that their times are not compared.
    """
    return max((len({round(time_ns / 1e9) for time_ns, _ in readings[cpu]}) for cpu in cpus), default=0)
