"""Whether an operation of a task does as much work on both sides of a comparison, such as the documents of a
bulk.

Times are those of an operation: one that has five times the documents may take longer although each document
takes less time. Throughput counts the work, whatever its operations are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from msgspec import Struct

from pacenote.compare.deciding import is_scheduled
from pacenote.compare.pairing import PairedRaces
from pacenote.model.finding import Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import REPORTED_PERCENTILES, TaskResult
from pacenote.model.target_rate import operation_work
from pacenote.model.task_kinds import indexes, reported_tasks
from pacenote.units import format_rate

MAX_WORK_CHANGE = 0.05
"""Largest difference of the mean work of an operation, as a fraction of the larger one, up to which times are
compared: that of the smallest change of most times that matters.
"""

TIMES = min(REPORTED_PERCENTILES)
"""`Finding.doubtful_from` for all times of a task, but neither its throughput nor its error rate."""


class OtherWork(Struct, frozen=True):
    """How much work an operation of a task does where times must not be compared."""

    old: float
    """The mean work of an operation in the races that others are compared with."""

    new: float
    """That of the others."""

    unit: str
    """The unit of the work."""

    def text(self, old: str, new: str) -> str:
        """Returns it in words, with the names of both groups of races."""
        return (
            f"an operation has {format_rate(self.new)} {self.unit} in {new} instead of "
            f"{format_rate(self.old)} in {old}"
        )


def other_operation_work(old: Sequence[TaskResult], new: Sequence[TaskResult]) -> OtherWork | None:
    """Returns how much work an operation of a task does in two groups of races if that differs so much that
    its times are not those of the same operation; None if it does not, or if it is unknown.
    """
    units = {task.unit for task in (*old, *new)}
    works = [[work for task in side if (work := operation_work(task))] for side in (old, new)]
    if len(units) > 1 or not all(works):
        return None
    # As in a comparison, what counts is the ratio of the sides: work may vary from block to block.
    first, second = map(geometric_mean, works)
    if not differs(first, second):
        return None
    return OtherWork(first, second, *units)


def differs(first: float, second: float) -> bool:
    """Returns whether operations of this mean work are so different that their times are not compared."""
    return 1 - min(first, second) / max(first, second) > MAX_WORK_CHANGE


def work_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields the tasks of whose operations the work differs between the sides: their times are void."""
    sides = [
        [({task.task: task for task in reported_tasks(race.record)}, race.record) for race in side]
        for side in (races.baseline, races.contender)
    ]
    for name in sides[0][0][0]:
        if not all(name in tasks for side in sides for tasks, _ in side):
            continue
        old, new = ([(tasks[name], record) for tasks, record in side] for side in sides)
        if other := other_operation_work([task for task, _ in old], [task for task, _ in new]):
            yield _finding(other, [*old, *new])


def _finding(other: OtherWork, raced: Sequence[tuple[TaskResult, RaceRecord]]) -> Finding:
    """Returns that the times of a task are void, and what decides instead."""
    task = raced[0][0]
    text = f"{other.text('the baseline', 'the contender')}, so that its times are those of other work"
    alike = "bulks of the same size" if indexes(task) else "operations of the same size"
    advice = f"compare throughput, or race with {alike}"
    if all(is_scheduled(own, record) for own, record in raced):
        text += ", and its throughput is that of its schedule: neither says which side is better"
        advice = f"race with {alike}, or without a target rate"
    return Finding(text, "user", advice, (task.task,), TIMES)
