"""Whether slow or failed operations come in bursts, and how few independent ones they are then.

The operations of a window are divided into blocks of equal time. If they were independent, the number of slow
ones would vary between blocks as a binomial number does; the design effect says how many times as much it
varies. Whether it varies more than chance explains is a permutation test: exact also if few operations are
slow, unlike the chi-square distribution. A number of operations then says as much as that number / the design
effect of independent ones. Source: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with
small expected number of positive counts estimated from survey data", Survey Methodology 24, 1998. A burst may
last for several seconds, so the largest effect of blocks of one to eight seconds counts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pacenote.stats.binomial import proves_above, proves_at_most

_LENGTHS = (1, 2, 4, 8)
_MIN_BLOCKS = 8
"""Number of blocks without which their variance says little."""

_CHANCE = 0.001
"""Maximum probability with which independent operations are taken for dependent."""

_PERMUTATIONS = round(len(_LENGTHS) / _CHANCE) - 1
"""Number of random orders of the operations of a window, in none of which blocks of a length may vary as much
as in the measured one: that has a probability of one in this number + 1 for each length.
"""

_SEED = 20
_FIRST = 99
"""Number of orders that are tried first: mostly, one of them varies as much if operations are independent."""

_ROUNDING = 1e-9
"""Relative difference below which two sums count as the same."""


class Block(NamedTuple):
    """The operations of a part of a window."""

    operations: int
    """Operations that ended."""

    slow: int
    """Those of them that failed or were slower than a limit."""


def design_effect(blocks: Sequence[Block]) -> float:
    """Returns the design effect of blocks of equal time, or 1 if independent operations may vary as much."""
    return _design_effect(tuple(blocks))


def mean_effect(effects: Iterable[float]) -> float:
    """Returns the mean of the design effects above 1, or 1 without any: a window without a burst does not
    show that there are none.
    """
    bursts = [effect for effect in effects if effect > 1]
    return sum(bursts) / len(bursts) if bursts else 1.0


def shows_at_most(whole: Block, allowed: float, effect: float) -> bool:
    """Returns whether the upper bound of the 95 % interval of the share of slow operations is at most
    `allowed`.
    """
    return proves_at_most(math.ceil(whole.slow / effect), int(whole.operations / effect), allowed)


def shows_above(whole: Block, allowed: float, effect: float) -> bool:
    """Returns whether the lower bound of that interval is above `allowed`. A single slow operation disproves
    a share of 0, even if it came in a burst.
    """
    if allowed <= 0:
        return whole.slow > 0
    return proves_above(int(whole.slow / effect), int(whole.operations / effect), allowed)


def total(blocks: Sequence[Block]) -> Block:
    """Returns all operations as one block."""
    return Block(sum(block.operations for block in blocks), sum(block.slow for block in blocks))


@functools.lru_cache(maxsize=16)
def _design_effect(blocks: tuple[Block, ...]) -> float:
    return max(
        (_effect(_merged(blocks, length)) for length in _LENGTHS if len(blocks) >= _MIN_BLOCKS * length),
        default=1.0,
    )


def _merged(blocks: Sequence[Block], length: int) -> list[Block]:
    return [total(blocks[first : first + length]) for first in range(0, len(blocks), length)]


def _effect(blocks: Sequence[Block]) -> float:
    filled = [block for block in blocks if block.operations]
    operations, slow = total(filled)
    if not 0 < slow < operations or len(filled) == 1:
        return 1.0
    import numpy as np  # Slow to import, and most probes have no slow operation.

    share = slow / operations
    sizes = np.array([block.operations for block in filled])
    variances = sizes * share * (1 - share)

    def deviations(counts: np.ndarray) -> np.ndarray:
        return np.asarray(((counts - sizes * share) ** 2 / variances).sum(axis=-1))

    least = float(deviations(np.array([block.slow for block in filled])))
    effect = least / (len(filled) - 1)
    if effect <= 1:
        return 1.0
    generator = np.random.default_rng(_SEED)
    for orders in (_FIRST, _PERMUTATIONS - _FIRST):
        drawn = generator.multivariate_hypergeometric(sizes, slow, orders)
        if (deviations(drawn) >= least * (1 - _ROUNDING)).any():
            return 1.0
    return effect
