"""Whether the processors of races that are compared were as fast on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from pacenote.model.race_record import RaceRecord
from pacenote.model.task_observations import busy_frequencies

MOST_CHANGE = 0.05
"""Difference of the frequencies above which it is a reason why races differ."""


class FrequencyChange(Struct, frozen=True):
    """The frequencies of the processors during a task, on both sides of a comparison."""

    task: str
    """Name of the task."""

    baseline_hz: float
    """The median of the races of the baseline."""

    contender_hz: float
    """The median of the races of the contender."""

    @property
    def share(self) -> float:
        """By which part of the higher frequency the lower one is lower."""
        return 1 - min(self.baseline_hz, self.contender_hz) / max(self.baseline_hz, self.contender_hz)


def changed_frequency(
    baseline: Sequence[RaceRecord], contender: Sequence[RaceRecord]
) -> FrequencyChange | None:
    """Returns the task with the largest difference of those whose frequency is known of all races; None if
    there is no such task.
    """
    sides = [[busy_frequencies(record) for record in side] for side in (baseline, contender)]
    by_race = [frequencies for side in sides for frequencies in side]
    common = [
        task
        for task in (by_race[0] if by_race else ())
        if all(task in frequencies for frequencies in by_race)
    ]
    changes = (
        FrequencyChange(task, *(median(frequencies[task] for frequencies in side) for side in sides))
        for task in common
    )
    return max(changes, key=lambda change: change.share, default=None)
