"""How many operations a measurement needs to decide whether a percentile or an error rate is within a limit.

Of n independent operations, the number above the limit is binomial. A measurement proves that the share of
slow operations is at most the allowed one, 1 - q, if it would find so few of them with a probability of at
most 2.5 % otherwise. Then the upper bound of the percentile's 95 % interval is within the limit
(`crates/stats/src/quantile.rs`). A measurement with just enough operations for a bound must not find a single
slow one, so that it seldom decides. `benchmarks/search_power.py` simulates what this means for a search.
"""

from __future__ import annotations

import functools
import itertools

from pacenote.stats.binomial import probability_of_at_most, proves_at_most

POWER = 0.9
"""Probability with which a planned measurement decides if the share of slow operations is `SLOW_SHARE`."""

SLOW_SHARE = 1 / 3
"""Share of slow operations for which a measurement is planned, as a fraction of the allowed share."""


@functools.cache
def operations_to_decide(allowed: float) -> int:
    """Returns the number of operations from which on a measurement decides with the probability `POWER`, if
    the share `allowed` of them, from 0 to 1, may be slow.
    """
    for slow in itertools.count():
        # Of the measurements in which this many may be slow, the longest finds more with the highest
        # probability.
        longest = operations_for_bound(allowed, slow + 1) - 1
        if probability_of_at_most(slow, longest, allowed * SLOW_SHARE) >= POWER:
            return operations_for_bound(allowed, slow)
    raise AssertionError  # The loop ends only with a result.


def operations_for_bound(allowed: float, slow: int = 0) -> int:
    """Returns the smallest number of operations that proves that the share of slow ones is at most `allowed`,
    although `slow` of them are slow.
    """
    low, high = 1, 1
    while not proves_at_most(slow, high, allowed):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if proves_at_most(slow, middle, allowed):
            high = middle
        else:
            low = middle + 1
    return high
