"""How fast the processors of the engine ran while a task ran, from their sampled frequencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from pacenote.model.telemetry_cuts import TaskTimes
from pacenote.stats.device_history import Point

SERIES = "cpu.frequency"
"""The series of the host sampler that has them, in Hz; its label `cpu` is the number of the CPU."""

LEAST_READINGS = 3
"""Number of readings in the first and in the last quarter of a task from which on a change says something."""

_QUARTERS = 4


def frequency_figures(
    points: Mapping[str, Sequence[Point]], cpus: frozenset[int], task: TaskTimes
) -> dict[str, float]:
    """Returns the mean frequency within a task, that of its first quarter, and by which part that of its last
    quarter is lower, negative if it is higher. Of a task that is too short for quarters, only the mean.

    `points` has the frequencies by CPU; `cpus` are those that the engine may use, or none for all.
    """
    own = [
        (time_ns, value)
        for cpu, values in points.items()
        if not cpus or (cpu.isdecimal() and int(cpu) in cpus)
        for time_ns, value in values
        if value is not None and value > 0 and task.begin_ns <= time_ns <= task.end_ns
    ]
    if not own:
        return {}
    found = {"cpu.frequency_hz": fmean(value for _, value in own)}
    quarter_ns = (task.end_ns - task.begin_ns) / _QUARTERS
    first = _between(own, task.begin_ns, task.begin_ns + quarter_ns)
    last = _between(own, task.end_ns - quarter_ns, task.end_ns)
    if first is not None and last is not None:
        found["cpu.frequency_first_hz"] = first
        found["cpu.frequency_fall_share"] = 1 - last / first
    return found


def _between(readings: Sequence[tuple[int, float]], begin_ns: float, end_ns: float) -> float | None:
    """Returns the mean of the readings in a part of a task; None if they are of too few moments."""
    within = [(time_ns, value) for time_ns, value in readings if begin_ns <= time_ns <= end_ns]
    moments = {round(time_ns / 1e9) for time_ns, _ in within}
    return fmean(value for _, value in within) if len(moments) >= LEAST_READINGS else None
