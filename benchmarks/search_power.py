"""Simulates searches of `pacenote saturate`, and counts how many find an answer.

The simulated engine has a limit: at lower rates, a third of the allowed share of its operations is slower
than the objective; at higher rates, all are. Each probe draws the number of slow operations from the binomial
distribution and is decided as `saturate` decides it. The printed table is that of docs/saturating.md: for
probes as they are planned, and for probes with just enough operations for a bound of the percentile.

A second table is that of an error rate that is limited to 1 %: the engine fails a constant share of its
operations at each rate up to its limit. A third one is that of an engine whose limit changes during the
search, and a fourth one that of an engine whose slow operations come in bursts, or whose limit is another
one in each probe. The simulation needs no engine and takes some minutes.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pacenote.lab.probe import (
    MARGIN,
    MAX_VOID_TRIALS,
    MIN_OPERATIONS,
    lowest_decided_rate,
    lowest_rate,
    quick_rate,
    window_s,
)
from pacenote.lab.rate_search import RateRange, RateSearch, RateTrial, varies
from pacenote.model.saturation import LatencyLimit, Objective
from pacenote.stats.binomial import probability_of_at_most, proves_above, proves_at_most
from pacenote.stats.dependence import Block, design_effect, mean_effect, shows_above, shows_at_most, total
from pacenote.stats.power import SLOW_SHARE
from pacenote.stats.varying_limit import limit_interval

ERROR_LIMIT = 0.01
"""The error rate that the objective allows."""

_WARMUP_S = 5.0
_SHORTEST_S = 20.0


@dataclass(frozen=True, slots=True)
class Planning:
    """A way to plan probes."""

    name: str
    """The name in the table."""

    window_s: Callable[[Objective, float, float], float]
    """Returns the seconds of a probe for an objective, a rate and the shortest window."""

    first_rate: Callable[[Objective, float], float]
    """Returns the lowest rate with which the search begins, for an objective and the shortest window."""


@dataclass(frozen=True, slots=True)
class Case:
    """An objective and an engine."""

    q: float
    """The percentile that the objective limits."""

    limit: float
    """The highest rate, in operations per second, at which the percentile is within its limit."""

    hourly_factor: float = 1.0
    """The limit after an hour, as a multiple of the limit at the beginning."""

    @property
    def allowed(self) -> float:
        """The share of operations that may be slow."""
        return 1 - self.q / 100

    def limit_after(self, seconds: float) -> float:
        """Returns the limit after this time."""
        return float(self.limit * self.hourly_factor ** (seconds / 3600))


CASES = (Case(99.0, 30.0), Case(99.0, 300.0), Case(99.9, 300.0), Case(99.9, 3_000.0), Case(99.99, 3_000.0))

DRIFTING = tuple(Case(99.0, 1_000.0, factor) for factor in (1.0, 0.9, 0.5, 0.1, 2.0, 10.0))


def shortest_window(objective: Objective, rate: float, shortest_s: float) -> float:
    """Returns the seconds in which a probe has just enough operations for a bound of each percentile."""
    operations = max(MIN_OPERATIONS, MARGIN * objective.samples_needed())
    return max(shortest_s, operations / rate)


PLANNINGS = (
    Planning("just enough for a bound", shortest_window, lowest_rate),
    Planning("planned", window_s, lowest_decided_rate),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a row for each case and way to plan probes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--searches", type=int, default=1000, help="simulated searches of each row (1000)")
    parser.add_argument("--seed", type=int, default=20, help="seed of the random numbers (20)")
    given = parser.parse_args(arguments)
    print("| objective | limit of the engine | length of probes | no answer | wrong | probes | time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        for planning in PLANNINGS:
            print(_row(case, planning, given.searches, given.seed), flush=True)
    print()
    print(
        "| true error rate | limit of the engine | interval | wrong | at least | no answer | probes | time |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for failing in FAILING:
        print(_failing_row(failing, given.searches, given.seed), flush=True)
    print()
    print("| limit after an hour | interval | no interval | probes | most probes | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for drifting in DRIFTING:
        print(_drifting_row(drifting, given.searches, given.seed), flush=True)
    print()
    print("| limit | slow operations | spread | interval | right | no interval | probes | time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for unsteady in UNSTEADY:
        print(_unsteady_row(unsteady, given.searches, given.seed), flush=True)


def _unsteady_row(engine: UnsteadyEngine, searches: int, seed: int) -> str:
    generator = np.random.default_rng(seed)
    answers = [search_unsteady(engine, generator) for _ in range(searches)]
    intervals = [one for one in answers if one.proven and one.low is not None and one.high is not None]
    right = sum(one.contains(engine.limit) for one in intervals)
    cells = [
        f"{engine.limit:,g} ops/s",
        "independent" if engine.burst == 1 else f"in bursts of {engine.burst}",
        f"{100 * engine.spread:g} %",
        f"{100 * len(intervals) / searches:.1f} %",
        f"{100 * right / max(1, len(intervals)):.1f} %",
        f"{100 * (1 - len(intervals) / searches):.1f} %",
        f"{sum(one.probes for one in answers) / searches:.0f}",
        f"{sum(one.seconds for one in answers) / searches / 60:.0f} min",
    ]
    return f"| {' | '.join(cells)} |"


def _row(case: Case, planning: Planning, searches: int, seed: int) -> str:
    generator = random.Random(seed)
    answers = [search(case, planning, generator) for _ in range(searches)]
    answered = [one for one in answers if one.low is not None]
    wrong = sum(not one.contains(case.limit) for one in answered)
    cells = [
        f"p{case.q:g}",
        f"{case.limit:,g} ops/s",
        planning.name,
        f"{100 * (1 - len(answered) / searches):.1f} %",
        f"{100 * wrong / searches:.1f} %",
        f"{sum(one.probes for one in answers) / searches:.0f}",
        f"{sum(one.seconds for one in answers) / searches / 60:.0f} min",
    ]
    return f"| {' | '.join(cells)} |"


def _drifting_row(case: Case, searches: int, seed: int) -> str:
    generator = random.Random(seed)
    answers = [search(case, PLANNINGS[-1], generator) for _ in range(searches)]
    intervals = sum(one.low is not None and one.high is not None for one in answers)
    cells = [
        f"{100 * case.hourly_factor:g} %",
        f"{100 * intervals / searches:.1f} %",
        f"{100 * (1 - intervals / searches):.1f} %",
        f"{sum(one.probes for one in answers) / searches:.0f}",
        f"{max(one.probes for one in answers)}",
        f"{sum(one.seconds for one in answers) / searches / 60:.0f} min",
    ]
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True, slots=True)
class FailingEngine:
    """An engine that fails a constant share of operations."""

    error_rate: float
    """The share of operations that fail at each rate up to the limit, from 0 to 1."""

    limit: float | None
    """The highest rate, in operations per second, that it keeps up with, or None if it keeps up with each."""


FAILING = tuple(
    FailingEngine(percent / 100, limit)
    for percent, limit in (
        *((0.0, 200.0), (1 / 3, 200.0), (0.5, 200.0), (0.8, 200.0), (1 / 3, 1000.0), (0.8, 1000.0)),
        *((1.0, None), (1.2, None), (1.5, None), (2.0, None)),
    )
)


def _failing_row(engine: FailingEngine, searches: int, seed: int) -> str:
    generator = random.Random(seed)
    answers = [search_failing(engine, generator) for _ in range(searches)]
    answered = [one for one in answers if one.low is not None]
    intervals = [one for one in answered if one.proven]
    # No interval contains the limit of an engine that meets the objective at no rate.
    met = engine.error_rate < ERROR_LIMIT and engine.limit is not None
    right = [one for one in intervals if met and one.contains(engine.limit or 0.0)]
    counts = (len(intervals), len(intervals) - len(right), len(answered) - len(intervals))
    cells = [
        f"{engine.error_rate * 100:.3g} %",
        "–" if engine.limit is None else f"{engine.limit:,g} ops/s",
        *(f"{100 * count / searches:.1f} %" for count in (*counts, searches - len(answered))),
        f"{sum(one.probes for one in answers) / searches:.0f}",
        f"{sum(one.seconds for one in answers) / searches / 60:.0f} min",
    ]
    return f"| {' | '.join(cells)} |"


def search_failing(engine: FailingEngine, generator: random.Random) -> Answer:
    """Simulates a search with the defaults of the command line for an error rate that is limited to 1 %."""
    objective = Objective((), ERROR_LIMIT)
    lowest, start = lowest_rate(objective, _SHORTEST_S), lowest_decided_rate(objective, _SHORTEST_S)
    within = RateRange(start=max(10.0, start), lowest=max(0.1, lowest), highest=1e6)
    rates = RateSearch(within)
    failed_rates: set[float] = set()
    seconds = 0.0
    while (rate := rates.next_rate()) is not None:
        measured_s = window_s(objective, rate, _SHORTEST_S)
        operations = round(rate * measured_s)
        failures = draw(operations, engine.error_rate, generator)
        overloaded = engine.limit is not None and rate > engine.limit
        if overloaded or proves_above(failures, operations, ERROR_LIMIT):
            failed_rates.add(rate)
        passed = not overloaded and proves_at_most(failures, operations, ERROR_LIMIT)
        rates.add(RateTrial(rate, passed))
        seconds += _WARMUP_S + measured_s
    bracket = rates.bracket()
    proven = bracket.unstable in failed_rates
    return Answer(bracket.stable, bracket.unstable, len(rates.trials), seconds, proven)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a simulated search."""

    low: float | None
    """The highest rate that passed, or None if there is none."""

    high: float | None
    """The lowest rate that did not pass, or None if there is none."""

    probes: int
    """Number of probes."""

    seconds: float
    """Time of all probes."""

    proven: bool = True
    """Whether a probe at `high` has failed, so that the answer is an interval."""

    def contains(self, limit: float) -> bool:
        """Returns whether the limit is in the interval."""
        return (self.low or 0.0) <= limit and (self.high is None or limit <= self.high)


@dataclass(frozen=True, slots=True)
class UnsteadyEngine:
    """An engine of which a third of the allowed share of operations is slow up to its limit, then all."""

    limit: float
    """The median of its limit, in operations per second."""

    burst: int = 1
    """How many slow operations follow one another."""

    spread: float = 0.0
    """Standard deviation of the logarithm of the limit, which is another one in each probe."""

    def seconds(self, rate: float, length_s: float, generator: np.random.Generator) -> list[Block]:
        """Returns the seconds of a probe."""
        operations = int(rate)
        limit = self.limit * math.exp(generator.normal(0.0, self.spread))
        slow = [operations if rate > limit else 0] * int(length_s)
        if rate <= limit:
            begun = generator.poisson(rate * ERROR_LIMIT * SLOW_SHARE / self.burst, len(slow))
            for second in np.repeat(np.arange(len(slow)), begun):
                left, room = self.burst, int(operations * generator.random()) + 1
                while left and second < len(slow):
                    here = min(left, room)
                    slow[second] += here
                    left, room, second = left - here, operations, second + 1
        return [Block(operations, min(operations, count)) for count in slow]


UNSTEADY = (
    *(UnsteadyEngine(limit, 20) for limit in (300.0, 1_000.0, 3_000.0)),
    *(UnsteadyEngine(1_000.0, spread=spread) for spread in (0.0, 0.02, 0.05, 0.1)),
    UnsteadyEngine(1_000.0, 20, 0.05),
)


def search_unsteady(engine: UnsteadyEngine, generator: np.random.Generator) -> Answer:
    """Simulates a search with the defaults of the command line for a limit of p99."""
    objective = Objective((LatencyLimit(99.0, 100.0),), error_rate=0.01)
    lowest, start = lowest_rate(objective, _SHORTEST_S), quick_rate(objective, _SHORTEST_S)
    rates = RateSearch(RateRange(start=start, lowest=max(0.1, lowest), highest=1e6))
    failed_rates: set[float] = set()
    effects: list[float] = []
    decided: list[RateTrial] = []
    seconds, probes = 0.0, 0
    while (rate := rates.next_rate()) is not None:
        passed = False
        for _ in range(MAX_VOID_TRIALS):
            length_s = window_s(objective, rate, _SHORTEST_S, mean_effect(effects))
            blocks = engine.seconds(rate, length_s, generator)
            seconds, probes = seconds + _WARMUP_S + length_s, probes + 1
            whole, own = total(blocks), design_effect(blocks)
            effect = mean_effect((*effects, own))
            is_slow = effect == 1 and whole.slow > ERROR_LIMIT * whole.operations
            if is_slow or shows_above(whole, ERROR_LIMIT, effect):
                failed_rates.add(rate)
                decided.append(RateTrial(rate, False))
                break
            effects.append(own)
            passed = shows_at_most(whole, ERROR_LIMIT, effect)
            if passed:
                decided.append(RateTrial(rate, True))
            if passed or window_s(objective, rate, _SHORTEST_S, mean_effect(effects)) <= length_s:
                break
        rates.add(RateTrial(rate, passed))
    bracket = rates.bracket()
    low, high = bracket.stable, bracket.unstable
    if low is not None and high is not None and varies(decided):
        ends = limit_interval((trial.rate, trial.passed) for trial in decided)
        low, high = min(low, ends[0]), max(high, ends[1])
    return Answer(low, high, probes, seconds, bracket.unstable in failed_rates)


def search(case: Case, planning: Planning, generator: random.Random) -> Answer:
    """Simulates a search with the defaults of the command line, except that it begins at 10 operations per
    second, or at the lowest rate that the planning can decide.
    """
    objective = Objective((LatencyLimit(case.q, 100.0),), error_rate=0.01)
    lowest = max(0.1, lowest_rate(objective, _SHORTEST_S))
    start = max(10.0, planning.first_rate(objective, _SHORTEST_S))
    within = RateRange(start=start, lowest=lowest, highest=1e6)
    rates = RateSearch(within)
    seconds = 0.0
    while (rate := rates.next_rate()) is not None:
        measured_s = planning.window_s(objective, rate, _SHORTEST_S)
        share = case.allowed * SLOW_SHARE if rate <= case.limit_after(seconds) else 1.0
        passed = passes(round(rate * measured_s), share, case.allowed, generator)
        rates.add(RateTrial(rate, passed))
        seconds += _WARMUP_S + measured_s
    bracket = rates.bracket()
    return Answer(bracket.stable, bracket.unstable, len(rates.trials), seconds)


def passes(operations: int, share: float, allowed: float, generator: random.Random) -> bool:
    """Returns whether a probe proves that the share of slow operations is at most `allowed`."""
    # The number of slow operations is the one at which the cumulative probability reaches a random number.
    return proves_at_most(draw(operations, share, generator), operations, allowed)


def draw(operations: int, share: float, generator: random.Random) -> int:
    """Returns a binomial random number: that at which the cumulative probability reaches a random number."""
    drawn = generator.random()
    low, high = 0, operations
    while low < high:
        middle = (low + high) // 2
        if probability_of_at_most(middle, operations, share) >= drawn:
            high = middle
        else:
            low = middle + 1
    return low


if __name__ == "__main__":
    main()
