"""Which rate to try next: up by doubling, then bisection, then the two ends again.

Pure: the answer follows from the tries so far. Rates are compared on a logarithmic scale. One try can be
wrong, so that the answer is an interval, each of whose ends was tried several times and came out alike; a
rate that passed and failed lies between them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

GROWTH = 2.0
"""By how much the rate grows until a try fails, and shrinks until one passes."""


@dataclass(frozen=True, slots=True)
class Range:
    """Where to look: from which rate on, within which bounds, how closely (0.03 is 3 %), and how often each
    end of the answer is tried again.
    """

    start: float
    lowest: float
    highest: float
    precision: float = 0.03
    repeats: int = 2


@dataclass(frozen=True, slots=True)
class Try:
    """A rate that was tried."""

    rate: float
    passed: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The answer: the highest rate all of whose tries passed, and the lowest above it all of whose tries
    failed; None where there is none.
    """

    stable: float | None
    unstable: float | None


def next_rate(tries: Sequence[Try], within: Range) -> float | None:
    """The rate to try next, None when the answer is known."""
    if not tries:
        return within.start
    found = so_far(tries)
    if found.unstable is None:
        beyond = _above(tries, within)
        if beyond is not None:
            return beyond
    elif found.stable is None:
        below = _below(tries, within)
        if below is not None:
            return below
    else:
        between = _between(tries, found.stable, found.unstable, within.precision)
        if between is not None:
            return between
    ends = (end for end in (found.stable, found.unstable) if end is not None)
    return next((end for end in ends if _count(tries, end) <= within.repeats), None)


def so_far(tries: Sequence[Try]) -> Found:
    """What the tries say by now."""
    failed = [rate for rate in _rates(tries) if not any(_outcomes(tries, rate))]
    passed = [rate for rate in _rates(tries) if all(_outcomes(tries, rate))]
    # A rate that held while a lower one never did was lucky.
    ceiling = min(failed, default=math.inf)
    stable = max((rate for rate in passed if rate < ceiling), default=None)
    return Found(stable, None if ceiling == math.inf else ceiling)


def _above(tries: Sequence[Try], within: Range) -> float | None:
    highest = max(_rates(tries))
    return min(highest * GROWTH, within.highest) if highest < within.highest else None


def _below(tries: Sequence[Try], within: Range) -> float | None:
    lowest = min(_rates(tries))
    return max(lowest / GROWTH, within.lowest) if lowest > within.lowest else None


def _between(tries: Sequence[Try], low: float, high: float, precision: float) -> float | None:
    """The middle of the lowest gap that is too wide, on the way from the stable end to the unstable one."""
    steps = [low, *(rate for rate in _rates(tries) if low < rate < high), high]
    for below, above in itertools.pairwise(steps):
        if above > below * (1 + precision):
            return math.sqrt(below * above)
    return None


def _rates(tries: Sequence[Try]) -> list[float]:
    return sorted({one.rate for one in tries})


def _outcomes(tries: Sequence[Try], rate: float) -> Iterator[bool]:
    return (one.passed for one in tries if one.rate == rate)


def _count(tries: Sequence[Try], rate: float) -> int:
    return sum(one.rate == rate for one in tries)
