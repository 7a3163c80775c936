"""The search for the highest rate that passes: doubling, then bisection, then repeated trials of both ends.

Pure: the next rate follows from the trials so far, as does whether they make progress. Rates are compared on
a logarithmic scale. Because a single trial may be wrong, the answer is a bracket whose ends were tried
several times with the same outcome; a rate that passed once and failed once is disputed and lies inside it.
If the bracket has no upper or lower end, but disputed rates, the trials do not give an answer there. A rate
that passed although a lower one always failed did so by chance, or the engine changed during the search.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

GROWTH = 2.0
"""Factor by which the rate grows until a trial fails, and shrinks until one passes."""

MIN_SLOWER_RATES = 3
"""Number of rates that passed first and failed later from which on chance is an unlikely reason."""

MAX_IDLE_TRIALS = 30
"""Number of trials without progress after which a search ends. Searches for the limit of an engine that does
not change seldom have as many (`benchmarks/search_power.py`).
"""


class RateRange(Struct, frozen=True):
    """Range and precision of the search. Rates are operations per second."""

    start: float
    """First rate."""

    lowest: float
    """Lowest rate that is tried."""

    highest: float
    """Highest rate that is tried."""

    precision: float = 0.03
    """Width of the answer as a fraction of the rate; 0.03 is 3 %."""

    repeats: int = 2
    """Number of times that each end of the answer is tried again."""


class RateTrial(Struct, frozen=True):
    """A rate that was tried."""

    rate: float
    """Operations per second."""

    passed: bool
    """Whether the engine kept up."""


class RateBracket(Struct, frozen=True):
    """The rates between which the limit lies, in operations per second."""

    stable: float | None
    """Highest rate at which every trial passed, or None if there is none."""

    unstable: float | None
    """Lowest rate above `stable` at which every trial failed, or None if there is none."""

    disputed: tuple[float, ...] = ()
    """Rates between both at which some trials passed and some failed, in ascending order."""

    passed_above: tuple[float, ...] = ()
    """Rates above `unstable` at which a trial passed, in ascending order."""


class RateSearch:
    """One search: its trials so far, and the rate to try next.

    A search ends without an answer if it makes no progress for `MAX_IDLE_TRIALS` trials: the engine becomes
    faster or slower, or its outcomes vary too much. Only rates that were tried often enough count then.
    """

    def __init__(self, within: RateRange) -> None:
        self._within = within
        self._trials: list[RateTrial] = []
        self._lowest = math.inf
        self._highest = 0.0
        self._narrowest = math.inf
        self._idle = 0

    @property
    def trials(self) -> Sequence[RateTrial]:
        """The trials so far."""
        return self._trials

    @property
    def has_stalled(self) -> bool:
        """Whether the search has ended without an answer."""
        return self._idle >= MAX_IDLE_TRIALS and next_rate(self._trials, self._within) is not None

    def next_rate(self) -> float | None:
        """Returns the rate to try next, or None if the search is over."""
        return None if self._idle >= MAX_IDLE_TRIALS else next_rate(self._trials, self._within)

    def add(self, trial: RateTrial) -> None:
        """Adds a trial. It is progress if it makes the bracket narrower than it ever was, or the range of the
        rates that were tried wider.
        """
        self._trials.append(trial)
        bracket = find_bracket(self._trials)
        width = math.inf
        if bracket.stable is not None and bracket.unstable is not None:
            width = bracket.unstable / bracket.stable
        progress = width < self._narrowest or not self._lowest <= trial.rate <= self._highest
        self._idle = 0 if progress else self._idle + 1
        self._narrowest = min(self._narrowest, width)
        self._lowest, self._highest = min(self._lowest, trial.rate), max(self._highest, trial.rate)

    def bracket(self) -> RateBracket:
        """Returns the bracket according to the trials so far."""
        return find_bracket(self._confirmed() if self.has_stalled else self._trials)

    def _confirmed(self) -> list[RateTrial]:
        """Returns the trials of rates with different outcomes, and of rates that were tried often enough."""
        return [
            trial
            for trial in self._trials
            if _count(self._trials, trial.rate) > self._within.repeats
            or len(set(_outcomes(self._trials, trial.rate))) == 2
        ]


def next_rate(trials: Sequence[RateTrial], within: RateRange) -> float | None:
    """Returns the rate to try next, or None if the search is over."""
    if not trials:
        return within.start
    bracket = find_bracket(trials)
    disputed = bracket.disputed
    if bracket.unstable is None and (higher := _higher(trials, within)) is not None:
        return higher
    if bracket.stable is None and (lower := _lower(trials, within)) is not None:
        return lower
    low = bracket.stable if bracket.stable is not None else min(disputed, default=None)
    high = bracket.unstable if bracket.unstable is not None else max(disputed, default=None)
    if bracket.stable is not None and high is not None:
        middle = _bisect(trials, bracket.stable, high, within.precision)
        if middle is not None:
            return middle
    ends = (end for end in (low, high) if end is not None)
    return next((end for end in ends if _count(trials, end) <= within.repeats), None)


def find_bracket(trials: Sequence[RateTrial]) -> RateBracket:
    """Returns the bracket according to the trials so far."""
    failed = [rate for rate in _rates(trials) if not any(_outcomes(trials, rate))]
    passed = [rate for rate in _rates(trials) if all(_outcomes(trials, rate))]
    # A rate that passed although a lower one always failed does not count.
    ceiling = min(failed, default=math.inf)
    stable = max((rate for rate in passed if rate < ceiling), default=None)
    known = {*failed, *passed}
    disputed = (rate for rate in _rates(trials) if rate not in known and (stable or 0.0) < rate < ceiling)
    above = (rate for rate in _rates(trials) if rate > ceiling and any(_outcomes(trials, rate)))
    return RateBracket(stable, None if ceiling == math.inf else ceiling, tuple(disputed), tuple(above))


def rates_that_failed_later(trials: Sequence[RateTrial]) -> tuple[float, ...]:
    """Returns the rates whose first trials passed and whose later ones failed, in ascending order."""
    outcomes = {rate: list(_outcomes(trials, rate)) for rate in _rates(trials)}
    # Passed trials first: the outcomes are in descending order.
    return tuple(
        rate
        for rate, of_rate in outcomes.items()
        if len(set(of_rate)) == 2 and of_rate == sorted(of_rate)[::-1]
    )


def varies(trials: Sequence[RateTrial]) -> bool:
    """Returns whether the limit is not the same in all trials: a rate passed and failed, or passed although a
    lower one always failed.
    """
    mixed = any(len(set(_outcomes(trials, rate))) == 2 for rate in _rates(trials))
    return mixed or bool(find_bracket(trials).passed_above)


def has_slowed_down(trials: Sequence[RateTrial]) -> bool:
    """Returns whether an engine became slower during a search: several rates passed first and failed later,
    above one that always failed, and none failed first and passed later.

    One or two rates may have passed by chance.
    """
    above = set(find_bracket(trials).passed_above)
    mixed = {rate for rate in _rates(trials) if len(set(_outcomes(trials, rate))) == 2}
    later = set(rates_that_failed_later(trials))
    return mixed == later and len(above & later) >= MIN_SLOWER_RATES


def _higher(trials: Sequence[RateTrial], within: RateRange) -> float | None:
    highest = max(_rates(trials))
    return min(highest * GROWTH, within.highest) if highest < within.highest else None


def _lower(trials: Sequence[RateTrial], within: RateRange) -> float | None:
    lowest = min(_rates(trials))
    return max(lowest / GROWTH, within.lowest) if lowest > within.lowest else None


def _bisect(trials: Sequence[RateTrial], low: float, high: float, precision: float) -> float | None:
    """Returns the middle of the lowest gap between trials that is wider than `precision`, or None if there
    is no such gap.
    """
    rates = [low, *(rate for rate in _rates(trials) if low < rate < high), high]
    for below, above in itertools.pairwise(rates):
        if above > below * (1 + precision):
            return math.sqrt(below * above)
    return None


def _rates(trials: Sequence[RateTrial]) -> list[float]:
    return sorted({trial.rate for trial in trials})


def _outcomes(trials: Sequence[RateTrial], rate: float) -> Iterator[bool]:
    return (trial.passed for trial in trials if trial.rate == rate)


def _count(trials: Sequence[RateTrial], rate: float) -> int:
    return sum(trial.rate == rate for trial in trials)
