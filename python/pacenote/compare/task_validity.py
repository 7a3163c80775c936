"""What limits the comparison of single tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import TypeVar

from pacenote.compare.pairing import PairedRaces
from pacenote.model.comparison import ComparedRace
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.result import SteadyState, TaskResult
from pacenote.model.task_kinds import indexes, reported_tasks, runs_once, searches
from pacenote.stats.contingency import probability_of_chance
from pacenote.units import format_range

MAX_ERROR_RATE = 0.01
"""Error rate above which a task must not be compared: what succeeds then is not what was asked for."""

MAX_DATA_CHANGE = 0.02
"""Relative difference of the stored data, above which searches read different amounts of it."""

MIN_WINDOW_S = 5.0
"""Seconds of a measured window below which the answer is limited: collections and merges come less often."""

_SHARE_OF_OTHER_STATE = 0.5
"""If more than this share of the races of a side are steady, and not of the other side, the sides differ."""

_CHANCE_OF_OTHER_STATE = 0.01
"""Unless they differ that much by chance with at least this probability: a race that is on the verge of being
steady is so in every second race.
"""

_UNSTEADY = {
    "warming": "still became faster",
    "slowing": "became slower",
    "not-steady": "was not in a steady state",
}

T = TypeVar("T")
_Tasks = Mapping[str, TaskResult]


def task_findings(races: PairedRaces) -> Iterator[Finding]:
    """Yields findings about tasks of the races."""
    sides = ([_tasks(race) for race in races.baseline], [_tasks(race) for race in races.contender])
    every = [*sides[0], *sides[1]]
    common = common_tasks(every)
    yield from missing_tasks(every)
    yield from _changed(every, common)
    for name in common:
        yield from error_findings(name, [[tasks[name].error_rate for tasks in side] for side in sides])
    yield from _drained(sides, common)
    yield from _unsteady(sides, common)
    yield from _not_judged(every, common)
    yield from _short(every, common)
    if readers := tuple(name for name in common if searches(every[0][name])):
        yield from _read_data(races, readers)


def _tasks(race: ComparedRace) -> _Tasks:
    return {task.task: task for task in reported_tasks(race.record)}


def common_tasks(every: Sequence[Mapping[str, T]]) -> tuple[str, ...]:
    """Returns the names of the tasks that every race has, in the order of the first."""
    return tuple(name for name in every[0] if all(name in tasks for tasks in every))


def missing_tasks(every: Sequence[Mapping[str, T]]) -> Iterator[Finding]:
    """Yields which tasks some races do not have."""
    common = common_tasks(every)
    names = dict.fromkeys(name for tasks in every for name in tasks)
    if not common:
        yield Finding("the races have no task in common", "user", doubtful_from=EVERYTHING)
    elif missing := tuple(name for name in names if name not in common):
        yield Finding("not in all races, and therefore not compared", "user", "", missing)


def _changed(every: Sequence[_Tasks], common: Iterable[str]) -> Iterator[Finding]:
    for name in common:
        for what in ("operation_type", "unit"):
            values = dict.fromkeys(getattr(tasks[name], what) for tasks in every)
            if len(values) > 1:
                text = f"the {what.replace('_', ' ')} differs: {', '.join(values)}"
                yield Finding(text, "user", "", (name,), EVERYTHING)


def error_findings(task: str, sides: Sequence[Sequence[float | None]]) -> Iterator[Finding]:
    """Yields whether operations of a task failed; `sides` has the error rates of both sides, of which None is
    one that is not known.
    """
    worst = max((rate for side in sides for rate in side if rate is not None), default=0.0)
    if worst > 0:
        old, new = map(_rates_text, sides)
        is_excessive = worst > MAX_ERROR_RATE
        limit = f" (limit {MAX_ERROR_RATE * 100:g} %)" if is_excessive else ""
        yield Finding(
            f"{old} of the operations failed in the baseline, and {new} in the contender{limit}",
            "engine",
            "find out why, and repeat the races",
            (task,),
            EVERYTHING if is_excessive else None,
        )


def _rates_text(rates: Sequence[float | None]) -> str:
    known = [rate * 100 for rate in rates if rate is not None]
    if not known:
        return "an unknown share"
    text = format_range(known, "{:.4g} %".format)
    return (
        text
        if len(known) == len(rates)
        else f"{text} (in {len(known)} of {len(rates)} races; the others are not known)"
    )


def _drained(sides: tuple[list[_Tasks], list[_Tasks]], common: Iterable[str]) -> Iterator[Finding]:
    """Yields for which tasks only some races let the measured window wait until the backlog of the warm-up
    was gone: the others have its operations in their figures.
    """
    alike: dict[str, list[str]] = {}
    for name in common:
        counts = [sum(tasks[name].warmup_backlog.drain is not None for tasks in side) for side in sides]
        sizes = list(map(len, sides))
        if any(counts) and counts != sizes:
            alike.setdefault(_counts_text(counts, sizes), []).append(name)
    for where, names in alike.items():
        yield Finding(
            f"the measured window waited for the backlog of the warm-up (--warmup-drain) {where}",
            "user",
            "run all races with --warmup-drain, or all without it",
            tuple(names),
        )


def _counts_text(counts: Sequence[int], sizes: Sequence[int]) -> str:
    """Returns in how many races of either side something happened."""
    old, new = (f"{count} of {size}" for count, size in zip(counts, sizes, strict=True))
    return f"(in {old} races of the baseline, {new} of the contender)"


def _unsteady(sides: tuple[list[_Tasks], list[_Tasks]], common: Iterable[str]) -> Iterator[Finding]:
    """Yields in which races tasks were unsteady. If it is the same on both sides, they did the same in the
    same time; otherwise, their difference depends on when the races ended.
    """
    sizes = [len(side) for side in sides]
    unsteady: dict[tuple[str, bool], list[str]] = {}
    for name in common:
        states = _unsteady_counts(sides, name)
        if len(states) > 1 and not any(is_of_one_side(counts, sizes) for counts in states.values()):
            both = {" or ".join(states): _total(states)}
            states = both if is_of_one_side(_total(states), sizes) else states
        for text, counts in states.items():
            described = f"{text} while it was measured {_counts_text(counts, sizes)}"
            unsteady.setdefault((described, is_of_one_side(counts, sizes)), []).append(name)
    for (text, differs), names in unsteady.items():
        advice = "use a longer warm-up, or measure for longer"
        yield Finding(text, "engine", advice, tuple(names), EVERYTHING if differs else None)


def _not_judged(every: Sequence[_Tasks], common: Iterable[str]) -> Iterator[Finding]:
    """Yields of which tasks it is not known in most races whether they were in a steady state."""
    names = [
        name
        for name in common
        if not runs_once(every[0][name])
        and sum(tasks[name].steady.state == "unknown" for tasks in every) > len(every) / 2
    ]
    if names:
        text = "not known in most races whether it was in a steady state while it was measured"
        yield Finding(text, "user", "measure for longer", tuple(names))


def _short(every: Sequence[_Tasks], common: Iterable[str]) -> Iterator[Finding]:
    """Yields which tasks were measured for less time than an engine needs to show its usual speed."""
    windows = {name: [tasks[name].window_s for tasks in every] for name in common}
    names = [
        name
        for name, own in windows.items()
        if 0 < median(own) < MIN_WINDOW_S and not runs_once(every[0][name])
    ]
    if names:
        shortest = min(median(windows[name]) for name in names)
        text = f"measured for {shortest:.2g} s in most races, which is less than {MIN_WINDOW_S:g} s"
        yield Finding(text, "user", "measure for longer", tuple(names))


def _unsteady_counts(sides: Sequence[Sequence[_Tasks]], name: str) -> dict[str, tuple[int, ...]]:
    """Returns in how many races of either side a task was unsteady, by the ways in which it was."""
    counts = {
        text: tuple(sum(_unsteady_state(tasks[name]) == state for tasks in side) for side in sides)
        for state, text in _UNSTEADY.items()
    }
    return {text: own for text, own in counts.items() if any(own)}


def _unsteady_state(task: TaskResult) -> SteadyState | None:
    """Returns in which way a task was unsteady. A latency that includes the backlog of the warm-up does not
    say so: it changes with the queue of an engine whose service time, which is judged first, does not. It
    decides nothing for its own reason.
    """
    steady = task.steady
    return None if steady.by == "latency" and task.warmup_backlog.marked else steady.state


def _total(states: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*states.values(), strict=True))) or (0, 0)


def differently_steady(races: PairedRaces) -> frozenset[str]:
    """Returns the tasks that were unsteady in all races of one side and in none of the other, if these are
    too few to exclude chance: their metrics are not void, but not certain either.
    """
    sides = ([_tasks(race) for race in races.baseline], [_tasks(race) for race in races.contender])
    sizes = [len(side) for side in sides]
    one_side = ((sizes[0], 0), (0, sizes[1]))
    if is_of_one_side(one_side[0], sizes):
        return frozenset()
    states_of = {name: _unsteady_counts(sides, name) for name in common_tasks([*sides[0], *sides[1]])}
    return frozenset(
        name
        for name, states in states_of.items()
        if any(counts in one_side for counts in (*states.values(), _total(states)))
    )


def is_of_one_side(counts: Sequence[int], sizes: Sequence[int]) -> bool:
    """Returns whether these numbers of the races of both sides differ, by much and by more than chance."""
    difference = counts[1] / sizes[1] - counts[0] / sizes[0]
    chance = probability_of_chance(counts[0], sizes[0], counts[1], sizes[1])
    return abs(difference) > _SHARE_OF_OTHER_STATE and chance < _CHANCE_OF_OTHER_STATE


def _read_data(races: PairedRaces, readers: tuple[str, ...]) -> Iterator[Finding]:
    """Yields whether searches read different data: other documents, or a store of another size."""
    difference = _largest_difference(races)
    if difference > MAX_DATA_CHANGE:
        where = "between the races" if races.design == "unpaired" else "between the races of a block"
        where = "between the races" if races.design == "one race each" else where
        yield Finding(
            f"the number of indexed documents differs by up to {difference * 100:.3g} % {where}, so that "
            "searches read different data",
            "user",
            "index the same documents in all races, without a limit of time",
            readers,
            EVERYTHING,
        )
        return
    sizes = [[float(race.record.system.store_size or 0) for race in side] for side in _sides(races)]
    yield from store_findings(sizes)


def _sides(races: PairedRaces) -> tuple[Sequence[ComparedRace], Sequence[ComparedRace]]:
    return races.baseline, races.contender


def _largest_difference(races: PairedRaces) -> float:
    """Returns the largest difference of the numbers of documents, as a share of the larger one: of the races
    of a pair or, without pairs, of all races.
    """
    groups = [races.all] if races.design == "unpaired" else zip(*_sides(races), strict=True)
    counts = [[_documents(race) for race in group] for group in groups]
    return max((1 - min(group) / max(group) for group in counts if max(group)), default=0.0)


def _documents(race: ComparedRace) -> int:
    return sum(task.work.done for task in race.record.tasks if indexes(task))


def store_findings(sizes: Sequence[Sequence[float]]) -> Iterator[Finding]:
    """Yields whether the stores of both sides have other sizes, each 0 if unknown."""
    if not all(size for side in sizes for size in side):
        return
    old, new = (median(side) for side in sizes)
    if abs(change := new / old - 1) > MAX_DATA_CHANGE:
        text = f"the store of the contender has another size ({change * 100:+.1f} %)"
        yield Finding(f"{text}, so that searches may read other data", "engine")
