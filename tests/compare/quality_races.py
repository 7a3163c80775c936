"""Races of a vector search whose runner returns numbers: two variants in blocks."""

from __future__ import annotations

import random

from msgspec.structs import replace

from compare.races import blocks, search
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult, ValueSummary

Sides = tuple[list[RaceRecord], list[RaceRecord]]


def returned(mean: float, half: float | None = None) -> ValueSummary:
    """A number that was returned by 500 operations, with this half width of the interval of its mean."""
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return ValueSummary(500, mean - 0.1, mean, mean + 0.1, 0.05, low, high)


def with_values(task: TaskResult, means: dict[str, float]) -> TaskResult:
    """Returns a task whose runner returned numbers with these means."""
    return replace(task, values={name: returned(mean) for name, mean in means.items()})


def quality_blocks(
    old: dict[str, float], new: dict[str, float], count: int = 6, *, faster: float = 1.5, noise: float = 0.001
) -> Sides:
    """Returns races of a task `knn`; the contender is faster, and its runner returns other numbers."""
    draw = random.Random(3)
    sides: Sides = ([], [])
    for side, races, means in zip(sides, blocks(count), (old, new), strict=True):
        for race in races:
            times = (2.0 if means is old else 2.0 / faster) * draw.gauss(1, 0.005)
            own = {name: mean * draw.gauss(1, noise) for name, mean in means.items()}
            tasks = (with_values(search(times, task="knn", operation="knn"), own),)
            side.append(replace(race, tasks=tasks, targets={}))
    return sides
