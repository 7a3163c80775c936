"""What a task did over its measured time, in few enough values for a column of the task tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pacenote.model.race_timeline import MOST_PARTS, RaceTimeline, TaskTimeline, TimelinePoint
from pacenote.model.result import TaskResult
from pacenote.model.task_kinds import indexes

TREND_BARS = 7
"""The most values of a trend."""

_FEWEST = 3
"""Number of values below which there is no trend."""

_SHARE = 0.9
"""The percentile of a trend, as a share: one slow operation is not visible in it, a stall is."""


def trend(task: TaskResult, timeline: RaceTimeline | None) -> tuple[float | None, ...]:
    """Returns the throughput of a task that indexes, and the 90th percentile of any other task, in
    equal parts of its measured time. Empty if that was too short.

    The percentile is that of latency, or of service time without a schedule. A part without successful
    operations has None.
    """
    line = timeline.tasks.get(task.task) if timeline else None
    if timeline is None or line is None or line.measured_from_s is None:
        return ()
    length_s = timeline.length_s
    first = math.ceil(line.measured_from_s / length_s) * length_s
    # Most of the last part must belong to the task.
    starts = [
        from_s
        for from_s in range(first, int(task.duration_s) + 1, length_s)[:MOST_PARTS]
        if from_s + length_s / 2 <= task.duration_s
    ]
    if len(starts) < _FEWEST:
        return ()
    bars = min(TREND_BARS, len(starts))
    parts = (starts[len(starts) * bar // bars : len(starts) * (bar + 1) // bars] for bar in range(bars))
    if indexes(task):
        return tuple(_throughput(line, part, min(part[-1] + length_s, task.duration_s)) for part in parts)
    return tuple(_percentile(line, part, timeline.levels_per_decade) for part in parts)


def _throughput(line: TaskTimeline, part: Sequence[int], end_s: float) -> float:
    return sum(point.work for point in _points(line, part)) / (end_s - part[0])


def _percentile(line: TaskTimeline, part: Sequence[int], levels_per_decade: float) -> float | None:
    levels: Counter[int] = Counter()
    for point in _points(line, part):
        levels.update(dict(point.levels))
    wanted = _SHARE * levels.total()
    seen = 0
    for level, count in sorted(levels.items()):
        seen += count
        if seen >= wanted:
            return float(10 ** (level / levels_per_decade))
    return None


def _points(line: TaskTimeline, part: Sequence[int]) -> list[TimelinePoint]:
    return [point for point in line.points if part[0] <= point.from_s <= part[-1]]
