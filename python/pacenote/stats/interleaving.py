"""Whether two groups of races were interleaved, from when they began.

If all races of one group ran before those of the other, a drift of the machine is part of their difference.
One race at the end does not change that: groups count as interleaved if the ranks of their times do not tell
the sides from a random order (rank-sum test, exact for up to 20 races of a side). Source: F. Wilcoxon,
"Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
`benchmarks/interleaving_simulations.py` counts what a drift does to groups that count as interleaved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from pacenote.model.comparison import RunOrder

CHANCE = 0.1
"""Probability with which the races of a side are so early, or so late, by chance. More than this, and the
groups count as interleaved.
"""

_MAX_EXACT = 20


def run_order(baseline: Sequence[datetime], contender: Sequence[datetime]) -> RunOrder:
    """Returns the order of two groups of races that began at these times: `mixed` if they are interleaved."""
    if max(baseline) < min(contender):
        return "baseline first"
    if max(contender) < min(baseline):
        return "contender first"
    later = sum(_later(new, old) for new in contender for old in baseline)
    pairs = len(baseline) * len(contender)
    if probability_of_at_most(pairs - later, len(baseline), len(contender)) <= CHANCE:
        return "baseline first"
    if probability_of_at_most(later, len(baseline), len(contender)) <= CHANCE:
        return "contender first"
    return "mixed"


def _later(first: datetime, second: datetime) -> float:
    return 0.5 if first == second else float(first > second)


def probability_of_at_most(later: float, first: int, second: int) -> float:
    """Returns the probability that, in a random order of two groups of these sizes, at most so many of all
    pairs of one race of each have that of the first group later.
    """
    if max(first, second) > _MAX_EXACT:
        mean, deviation = first * second / 2, math.sqrt(first * second * (first + second + 1) / 12)
        return 0.5 * math.erfc((mean - later - 0.5) / deviation / math.sqrt(2))
    counts = _counts(first, second)
    return sum(counts[: math.floor(later) + 1]) / sum(counts)


def _counts(first: int, second: int) -> list[int]:
    """Returns the number of orders of two groups for each number of pairs of which the first group is later:
    the coefficients of the Gaussian binomial.
    """
    counts = [1] + [0] * (first * second)
    for size in range(1, first + 1):
        # Times (1 - q^(second + size)), divided by (1 - q^size).
        for at in range(len(counts) - 1, second + size - 1, -1):
            counts[at] -= counts[at - second - size]
        for at in range(size, len(counts)):
            counts[at] += counts[at - size]
    return counts
