"""Whether the tasks of both sides of a comparison have the same target rates.

What a task that keeps its target rate does per second is what was asked of it: its engine may be able to do
more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

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
from pacenote.model.warmup_backlog import share_of_schedule
from pacenote.units import format_share

_FASTER = 1.03
"""Ratio of throughputs from which one is higher than the other by as much as matters."""

_SHOWN_RATES = 3

_Limited = Literal["baseline", "contender", "both sides"]
"""The sides whose throughput is that of their schedules."""

_UNKNOWN = "an unknown rate"
"""The rate of a task that a scheduler of a plug-in paces, or whose rate an older version did not record."""


class _RacedTask(Struct, frozen=True):
    """A task in one race."""

    task: TaskResult
    record: RaceRecord

    @property
    def target(self) -> TargetRate | None:
        """Its target rate; None without one, and if it is unknown."""
        return self.record.targets.get(self.task.task)

    @property
    def has_unknown_target(self) -> bool:
        """Whether it has a schedule whose rate is unknown."""
        return self.task.paced and self.target is None

    @property
    def text(self) -> str:
        """Its target rate in words."""
        return _UNKNOWN if self.has_unknown_target else target_text(self.target)

    @property
    def follows_schedule(self) -> bool:
        """Whether its throughput is that of its schedule."""
        return is_scheduled(self.task, self.record)

    @property
    def throughput(self) -> float:
        """Its mean throughput, without what the warm-up left to the window; 0 if no work was done."""
        return self.task.throughput.mean * share_of_schedule(self.task) if self.task.throughput else 0.0


class _Sides(Struct, frozen=True):
    """A task in the races whose target rates differ, or may differ."""

    old: Sequence[_RacedTask]
    new: Sequence[_RacedTask]

    @property
    def may_be_alike(self) -> bool:
        """Whether the target rates are perhaps the same: all races have a schedule, of which some are
        unknown.
        """
        every = [*self.old, *self.new]
        return all(each.task.paced for each in every) and any(each.has_unknown_target for each in every)

    @property
    def throughputs(self) -> tuple[float, float]:
        """The median throughputs."""
        return median(each.throughput for each in self.old), median(each.throughput for each in self.new)

    @property
    def differ(self) -> bool:
        """Whether their throughputs differ by as much as matters."""
        low, high = sorted(self.throughputs)
        return low < high and high >= _FASTER * low

    @property
    def limited(self) -> _Limited | None:
        """The sides of which races follow their schedules; None if no race does."""
        old, new = (any(each.follows_schedule for each in side) for side in (self.old, self.new))
        if old and new:
            return "both sides"
        return "baseline" if old else "contender" if new else None

    @property
    def is_outrun(self) -> bool:
        """Whether the side that follows its schedule has the higher throughput: the other one, which has none
        or does not follow its own, is slower for certain.
        """
        old, new = self.throughputs
        if self.limited == "baseline":
            return old >= _FASTER * new
        return self.limited == "contender" and new >= _FASTER * old

    @property
    def text(self) -> str:
        """What is wrong with them."""
        old, new = map(_targets_text, (self.old, self.new))
        rates = f"({old} in the baseline, {new} in the contender)"
        differ = f"the target rates differ {rates}"
        if self.may_be_alike:
            low, high = sorted(self.throughputs)
            share = format_share(1 - low / high)
            differ = f"the target rates may differ {rates}, because throughput does by {share}"
        limited = self.limited
        whose, schedule = (
            ("both sides", "their schedules")
            if limited == "both sides"
            else (f"the {limited}", "its schedule")
        )
        whole = f"the throughput of {whose} is that of {schedule}, and times are those of different loads"
        return f"{differ}: {whole}"

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.may_be_alike:
            return "run both sides with the same target rate or scheduler, or without one"
        return "run both sides with the same target rate, or without one"


def target_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields findings about tasks whose target rates differ between the sides, if races keep them: their
    throughput cannot say which side is better, unless a side without this schedule has a lower one. Their
    times are those of different loads.

    If no race keeps its target rate, throughput is that of the engines. Rates that are unknown are taken for
    different ones if the throughput differs by as much as matters.
    """
    tasks = {race.key: {task.task: task for task in reported_tasks(race.record)} for race in races.all}
    alike: dict[tuple[str, str, float], list[str]] = {}
    for name in common_tasks([*tasks.values()]):

        def raced(race: ComparedRace, name: str = name) -> _RacedTask:
            return _RacedTask(tasks[race.key][name], race.record)

        sides = _sides(races, raced)
        if sides is None or not sides.limited or (sides.may_be_alike and not sides.differ):
            continue
        doubtful_from = TIMES if sides.is_outrun else EVERYTHING
        alike.setdefault((sides.text, sides.advice, doubtful_from), []).append(name)
    for (text, advice, doubtful_from), names in alike.items():
        yield Finding(text, "user", advice, tuple(names), doubtful_from)


def _sides(races: PairedRaces, raced: Callable[[ComparedRace], _RacedTask]) -> _Sides | None:
    """Returns a task in the races between whose sides its target rate differs, or in all races if it perhaps
    differs in some; None if it is the same.
    """
    every = _Sides(*([*map(raced, side)] for side in (races.baseline, races.contender)))
    differ = differing(races, lambda race: _target(raced(race)))
    sides = None if differ is None else _Sides(*([*map(raced, side)] for side in differ))
    if sides is None or sides.may_be_alike:
        return every if every.may_be_alike else sides
    return sides


def _target(raced: _RacedTask) -> Hashable:
    """Returns what is asked of a task: not its operations per second, which follow from their work."""
    target = raced.target
    return raced.has_unknown_target if target is None else (target.value, target.unit, target.arrivals)


def _targets_text(tasks: Iterable[_RacedTask]) -> str:
    shown = [*dict.fromkeys(each.text for each in tasks)]
    more = len(shown) - _SHOWN_RATES
    return " or ".join([*shown[:_SHOWN_RATES], f"{more} more"] if more > 0 else shown)
