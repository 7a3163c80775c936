"""What a number of failures among independent operations proves about their true share.

The number of failures is binomial, so the bounds are exact for any number of operations. Source: C. J.
Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
Biometrika 26, 1934.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

TAIL = 0.025
"""Probability of the values on each side of a 95 % interval."""

_BISECTIONS = 60
"""Number of times that the range of a bound is halved; a float has 53 binary digits."""


def proves_at_most(failed: int, operations: int, allowed: float) -> bool:
    """Returns whether the upper bound of the 95 % interval of the share of failures is at most `allowed`."""
    return allowed >= 1 or probability_of_at_most(failed, operations, allowed) <= TAIL


def proves_above(failed: int, operations: int, allowed: float) -> bool:
    """Returns whether the lower bound of the 95 % interval of the share of failures is above `allowed`."""
    return failed > 0 and 1 - probability_of_at_most(failed - 1, operations, allowed) <= TAIL


def upper_bound(failed: int, operations: int) -> float:
    """Returns the upper bound of the 95 % interval of the share of failures."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if proves_at_most(failed, operations, middle):
            high = middle
        else:
            low = middle
    return high


def most_failures(operations: int, allowed: float) -> int | None:
    """Returns the largest number of failures that proves a share of at most `allowed`, or None if even 0 does
    not, because there are too few operations.
    """
    if not proves_at_most(0, operations, allowed):
        return None
    low, high = 0, operations
    while low < high:
        middle = (low + high + 1) // 2
        if proves_at_most(middle, operations, allowed):
            low = middle
        else:
            high = middle - 1
    return low


def probability_of_at_most(failed: int, operations: int, share: float) -> float:
    """Returns the probability that at most `failed` of the operations fail, if each of them does with the
    probability `share`.
    """
    if failed >= operations or share <= 0:
        return 1.0
    if share >= 1:
        return 0.0
    odds = share / (1 - share)
    # Summed from the largest term, away from the mean, so that terms only become smaller.
    if failed <= operations * share:
        ratios = (number / (operations - number + 1) / odds for number in range(failed, 0, -1))
        return _sum(_probability_of(failed, operations, share), ratios)
    above = failed + 1
    ratios = ((operations - number) / (number + 1) * odds for number in range(above, operations))
    return 1 - _sum(_probability_of(above, operations, share), ratios)


def _probability_of(failed: int, operations: int, share: float) -> float:
    """Returns the probability that exactly `failed` operations fail."""
    ways = math.lgamma(operations + 1) - math.lgamma(failed + 1) - math.lgamma(operations - failed + 1)
    return math.exp(ways + failed * math.log(share) + (operations - failed) * math.log1p(-share))


def _sum(term: float, ratios: Iterable[float]) -> float:
    """Returns the sum of a term and those that follow, each given by its ratio to the one before, until they
    do not change the sum.
    """
    total = term
    for ratio in ratios:
        term *= ratio
        if total + term == total:
            break
        total += term
    return total
