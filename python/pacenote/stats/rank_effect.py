"""The effect by ranks, shown beside the mean: it hardly changes with an outlier.

The Hodges-Lehmann estimate is the median of the means of all pairs of block changes, and the interval is that
of Wilcoxon's signed-rank test. It assumes that the changes are distributed symmetrically, which drawing the
order within each block achieves if nothing changed, whatever the drift. A drift is not removed: unless either
side came first equally often, a part of it remains in the estimate. Source: J. L. Hodges and E. L.
Lehmann, "Estimates of location based on rank tests", The Annals of Mathematical Statistics 34, 1963.

No race is left out of a comparison because it is an outlier: that it happens is a property of the engine or
of the machine, and what is called an outlier is a choice. If the words of both effects differ, both are
shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from pacenote.stats.effect import CONFIDENCE, RESOLUTION, Effect, log_ratio

MIN_BLOCKS = 6
"""The smallest number of blocks with a 95 % interval: of fewer, all have the same sign too often."""

_MOST_EXACT = 60
"""Largest number of blocks for which the distribution is computed exactly."""


class RankEffect(Struct, frozen=True):
    """The ratio of contender to baseline, by ranks."""

    log_ratio: float
    """Logarithm of contender / baseline, as estimated."""

    interval: tuple[float, float]
    """The bounds of the interval of the logarithm of the ratio; 0 is no change."""

    count: int
    """Number of blocks."""

    @property
    def ratio(self) -> float:
        """Contender / baseline, as estimated."""
        return math.exp(self.log_ratio)

    @property
    def low(self) -> float:
        """Lower bound of the interval of the ratio."""
        return math.exp(self.interval[0])

    @property
    def high(self) -> float:
        """Upper bound of the interval of the ratio."""
        return math.exp(self.interval[1])

    @staticmethod
    def margin(smallest_effect: float) -> float:
        """Returns the logarithm of the ratio that a relative effect is; 0.03 is 3 %."""
        return Effect.margin(smallest_effect)


def rank_effect(
    baseline: Sequence[float], contender: Sequence[float], confidence: float = CONFIDENCE
) -> RankEffect | None:
    """Compares races in blocks: each block has one value of either side, at the same position of both.

    Returns None with fewer than six blocks, or more if the confidence is above 95 %, and if a value is not a
    number above 0.
    """
    if len(baseline) != len(contender):
        raise ValueError(f"{len(baseline)} races of the baseline cannot be paired with {len(contender)}")
    count = len(baseline)
    if count < MIN_BLOCKS or not all(0 < value < math.inf for value in (*baseline, *contender)):
        return None
    rank = _rank(count, (1 - confidence) / 2)
    if rank == 0:
        return None
    changes = [log_ratio(new, old) for old, new in zip(baseline, contender, strict=True)]
    means = sorted((changes[i] + changes[j]) / 2 for i in range(count) for j in range(i, count))
    middle = (means[(len(means) - 1) // 2] + means[len(means) // 2]) / 2
    # Equal values are not more precise than their resolution.
    low, high = min(means[rank - 1], middle - RESOLUTION), max(means[-rank], middle + RESOLUTION)
    return RankEffect(middle, (low, high), count)


@cache
def _rank(count: int, tail: float) -> int:
    """Returns how many of the smallest values a sum of signed ranks may have with at most this probability:
    the rank of the pair of changes that bounds the interval, or 0 if there is none.
    """
    if count > _MOST_EXACT:
        from scipy.special import ndtri

        mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
        return max(0, math.floor(mean + float(ndtri(tail)) * math.sqrt(variance) + 0.5))
    # ways[sum]: how many of the 2^count choices of signs have this sum of positive ranks.
    ways = [1]
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    allowed, ways_below, below = tail * 2**count, 0, 0
    while ways_below + ways[below] <= allowed:
        ways_below += ways[below]
        below += 1
    return below
