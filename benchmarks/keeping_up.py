"""Simulates searches of `pacenote saturate` without limits of latency, for an engine with a known limit.

The engine serves one operation after another, up to 100 per second, or any number at a time. A probe passes
if enough of the operations that were due were done: as many fewer than 99 % as may be in flight by chance.
The printed table is that of docs/saturating.md: with the number in flight according to the mean service time
of the probe itself, which a backlog makes longer, and as `saturate` has it, of the shortest one at lower
rates. The simulation needs no engine and takes some minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pacenote.lab.probe import (
    MIN_COMPLETED_SHARE,
    lowest_rate,
    overlapping_by_chance,
    quick_rate,
    window_s,
)
from pacenote.lab.rate_search import RateRange, RateSearch, RateTrial
from pacenote.model.saturation import Objective

_LIMIT = 100.0
_CONNECTIONS = 64
_WARMUP_S = 5.0
_SHORTEST_S = 20.0
_OBJECTIVE = Objective((), 0.01)
_HIGHEST = 3_008.0


@dataclass(frozen=True, slots=True)
class Case:
    """An engine and the operations that it is sent."""

    arrivals: str
    """When operations are due: `deterministic` or `poisson`."""

    service: str
    """How long they take: `constant` or `exponential`."""

    at_once_s: float = 0.0
    """Mean seconds of an operation of an engine that serves any number at a time; 0 for one that serves one
    after another.
    """


CASES = (
    *(
        Case(arrivals, service)
        for arrivals in ("deterministic", "poisson")
        for service in ("constant", "exponential")
    ),
    Case("poisson", "exponential", 0.6),
    Case("poisson", "exponential", 2.0),
)


@dataclass(frozen=True, slots=True)
class Window:
    """What a probe measures."""

    due: int
    """Operations that were due in the window."""

    done: int
    """Operations that ended in it."""

    in_flight: float
    """The mean number in flight, by the mean service time of the probe."""

    service_s: float
    """That service time in seconds."""


@dataclass(slots=True)
class Judge:
    """Decides probes as `saturate` does."""

    by_lower: bool
    """Whether the service times of lower rates count."""

    times_s: list[tuple[float, float]]
    """The rate and the mean service time of each probe so far."""

    def passes(self, rate: float, window: Window) -> bool:
        """Returns whether a probe passes; an undecided one does not."""
        missing = MIN_COMPLETED_SHARE * window.due - window.done
        lower = [service_s for before, service_s in self.times_s if before < rate]
        self.times_s.append((rate, window.service_s))
        if not self.by_lower:
            return missing <= overlapping_by_chance(window.in_flight)
        shortest_s = min(lower, default=0.0)
        factor = min(1.0, shortest_s / window.service_s)
        return missing <= overlapping_by_chance(window.in_flight * factor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a row for each engine and way to judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--searches", type=int, default=500, help="simulated searches of each row (500)")
    parser.add_argument("--seed", type=int, default=20, help="seed of the random numbers (20)")
    given = parser.parse_args(arguments)
    titles = "engine | arrivals | service times | in flight by | 101 % | 102 % | 103 % | answer"
    print(f"| {titles} | too high | too low |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        for by_lower in (False, True):
            print(_row(case, by_lower, given.searches, given.seed), flush=True)


def measure(case: Case, rate: float, random: np.random.Generator) -> Window:
    """Returns what a probe of this rate measures."""
    length_s = window_s(_OBJECTIVE, rate, _SHORTEST_S)
    end_s = _WARMUP_S + length_s
    if case.arrivals == "poisson":
        gaps = random.exponential(1 / rate, int(end_s * rate * 1.2) + 100)
        due = np.cumsum(gaps)
        due = due[due < end_s]
    else:
        due = np.arange(math.ceil(end_s * rate)) / rate
    mean_s = case.at_once_s or 1 / _LIMIT
    exponential = case.service == "exponential"
    takes = random.exponential(mean_s, len(due)) if exponential else np.full(len(due), mean_s)
    if case.at_once_s:
        ended, sent = due + takes, due
    else:
        # An operation begins when the one before it has ended (Lindley).
        total = np.cumsum(takes)
        ended = total + np.maximum.accumulate(due - (total - takes))
        sent = due.copy()
        sent[_CONNECTIONS:] = np.maximum(sent[_CONNECTIONS:], ended[:-_CONNECTIONS])
    measured = due >= _WARMUP_S
    done = np.count_nonzero((ended >= _WARMUP_S) & (ended < end_s) & (sent < end_s))
    service_s = float((ended - sent)[measured & (sent < end_s)].mean())
    return Window(int(measured.sum()), int(done), done / length_s * service_s, service_s)


def _search(case: Case, by_lower: bool, random: np.random.Generator) -> tuple[float | None, float | None]:
    """Returns the interval that a search finds."""
    first = math.ceil(quick_rate(_OBJECTIVE, _SHORTEST_S))
    lowest = lowest_rate(_OBJECTIVE, _SHORTEST_S)
    search, judge = RateSearch(RateRange(first, lowest, _HIGHEST)), Judge(by_lower, [])
    while (rate := search.next_rate()) is not None:
        search.add(RateTrial(rate, judge.passes(rate, measure(case, rate, random))))
    bracket = search.bracket()
    return bracket.stable, bracket.unstable


def _passed(case: Case, by_lower: bool, rate: float, random: np.random.Generator, count: int) -> str:
    """Returns the share of probes of a rate that pass after one of half of it."""
    passed = 0
    for _ in range(count):
        judge = Judge(by_lower, [])
        judge.passes(rate / 2, measure(case, rate / 2, random))
        passed += judge.passes(rate, measure(case, rate, random))
    return f"{passed / count * 100:.0f} %"


def _row(case: Case, by_lower: bool, searches: int, seed: int) -> str:
    random = np.random.default_rng(seed)
    passed = [_passed(case, by_lower, factor * _LIMIT, random, searches) for factor in (1.01, 1.02, 1.03)]
    intervals = [_search(case, by_lower, random) for _ in range(searches)]
    lows = [low for low, _ in intervals if low is not None]
    highs = [high for _, high in intervals if high is not None]
    answer = f"{np.mean(lows):,.1f} to {np.mean(highs):,.1f}" if highs else "no failure"
    limit = math.inf if case.at_once_s else _LIMIT
    too_high, too_low = sum(low > limit for low in lows), sum(high < limit for high in highs)
    engine = f"any number, {case.at_once_s:g} s each" if case.at_once_s else "one at a time"
    own = "lower rates" if by_lower else "the probe"
    shares = (f"{count / searches * 100:.0f} %" for count in (too_high, too_low))
    return f"| {' | '.join((engine, case.arrivals, case.service, own, *passed, answer, *shares))} |"


if __name__ == "__main__":
    main()
