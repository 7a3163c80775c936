"""Whether the tasks of both sides of a comparison have the same target rates.

What a task that keeps its target rate does per second is what was asked of it: its engine may be able to do
more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Literal

from pacenote.compare.deciding import is_scheduled
from pacenote.compare.operation_work import TIMES
from pacenote.compare.pairing import PairedRaces
from pacenote.compare.task_validity import common_tasks
from pacenote.compare.value_shares import differing
from pacenote.model.comparison import ComparedRace
from pacenote.model.driving_options import target_text
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import TargetRate
from pacenote.model.task_kinds import reported_tasks

_FASTER = 1.03
"""Ratio of throughputs from which one is higher than the other by as much as matters."""

_SHOWN_RATES = 3

_Limited = Literal["baseline", "contender", "both sides"]
"""The sides whose throughput is that of their schedules."""


@dataclass(frozen=True, slots=True)
class _RacedTask:
    """A task in one race."""

    task: TaskResult
    record: RaceRecord

    @property
    def target(self) -> TargetRate | None:
        """Its target rate; None without one."""
        return self.record.targets.get(self.task.task)

    @property
    def keeps_target(self) -> bool:
        """Whether its throughput is that of its target rate."""
        return self.target is not None and is_scheduled(self.task, self.record)

    @property
    def throughput(self) -> float:
        """Its mean throughput; 0 if no work was done."""
        return self.task.throughput.mean if self.task.throughput else 0.0


_Sides = tuple[Sequence[_RacedTask], Sequence[_RacedTask]]


def target_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields findings about tasks whose target rates differ between the sides, if races keep them: their
    throughput cannot say which side is better, unless a side without this schedule has a lower one. Their
    times are those of different loads.

    If no race keeps its target rate, throughput is that of the engines.
    """
    tasks = {race.key: {task.task: task for task in reported_tasks(race.record)} for race in races.all}
    alike: dict[tuple[str, float], list[str]] = {}
    for name in common_tasks([*tasks.values()]):
        if differing_races := differing(races, partial(_target, name)):
            old, new = (
                [_RacedTask(tasks[race.key][name], race.record) for race in side] for side in differing_races
            )
            if limited := _limited((old, new)):
                doubtful_from = TIMES if _is_outrun((old, new), limited) else EVERYTHING
                alike.setdefault((_text((old, new), limited), doubtful_from), []).append(name)
    for (text, doubtful_from), names in alike.items():
        advice = "run both sides with the same target rate, or without one"
        yield Finding(text, "user", advice, tuple(names), doubtful_from)


def _target(name: str, race: ComparedRace) -> Hashable:
    """Returns what is asked of a task: not its operations per second, which follow from their work."""
    target = race.record.targets.get(name)
    return None if target is None else (target.value, target.unit, target.arrivals)


def _limited(sides: _Sides) -> _Limited | None:
    """Returns the sides of which races keep their target rate."""
    old, new = (any(each.keeps_target for each in side) for side in sides)
    if old and new:
        return "both sides"
    return "baseline" if old else "contender" if new else None


def _is_outrun(sides: _Sides, limited: _Limited) -> bool:
    """Returns whether the side that keeps its target rate has the higher throughput: the other one is slower
    for certain.
    """
    old, new = (median(each.throughput for each in side) for side in sides)
    if limited == "baseline":
        return old >= _FASTER * new
    return limited == "contender" and new >= _FASTER * old


def _text(sides: _Sides, limited: _Limited) -> str:
    old, new = (_targets_text(side) for side in sides)
    schedule = "their schedules" if limited == "both sides" else "its schedule"
    whose = limited if limited == "both sides" else f"the {limited}"
    return (
        f"the target rates differ ({old} in the baseline, {new} in the contender): the throughput of {whose} "
        f"is that of {schedule}, and times are those of different loads"
    )


def _targets_text(tasks: Iterable[_RacedTask]) -> str:
    shown = [*dict.fromkeys(target_text(each.target) for each in tasks)]
    more = len(shown) - _SHOWN_RATES
    return " or ".join([*shown[:_SHOWN_RATES], f"{more} more"] if more > 0 else shown)
