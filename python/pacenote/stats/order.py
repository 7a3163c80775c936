"""The order of the races of an experiment in blocks.

Each variant has one race in every block. For a pair, the contender comes first in half of the blocks; in
which ones is drawn from the seed. A fixed alternation (ABBA) also removes a steady drift, but races that
follow each other resemble each other, and in ABBA order this makes adjacent blocks err in the same direction:
if the noise is autocorrelated (AR(1), 0.3 to 0.6), 6 to 7 % of the 95 % intervals of identical systems
exclude 0, and with a drawn order 5 %. Source of the principle: R. A. Fisher, "The Design of Experiments",
1935, sections 9 and 10. `benchmarks/comparison_simulations.py` has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

BALANCED_BLOCKS = 5
"""Number of blocks whose orders are drawn together: that of the first look."""

_Variant = TypeVar("_Variant")


def block_orders(variants: Sequence[_Variant], blocks: int, seed: int) -> tuple[tuple[_Variant, ...], ...]:
    """Returns the order of the variants in each block.

    For every drawn order, another block has the reverse of it, so that a pair of variants has both orders
    equally often, or once more in one of them if the number of blocks is odd. These blocks are in random
    places of the same group of five, except for one per group, whose reverse is in the next group. A larger
    number of blocks extends the orders of a smaller one.
    """
    random = Random(seed)
    orders: list[tuple[_Variant, ...]] = []
    unpaired: tuple[_Variant, ...] | None = None
    while len(orders) < blocks:
        group = [unpaired[::-1]] if unpaired else []
        unpaired = None
        while len(group) < BALANCED_BLOCKS:
            drawn = tuple(random.sample(variants, len(variants)))
            if len(group) == BALANCED_BLOCKS - 1:
                unpaired = drawn
                group.append(drawn)
            else:
                group += [drawn, drawn[::-1]]
        random.shuffle(group)
        orders += group
    return tuple(orders[:blocks])


def lag(order: Sequence[_Variant], baseline: _Variant, contender: _Variant) -> int:
    """Returns by how many races the contender comes after the baseline in a block; negative if before it."""
    return order.index(contender) - order.index(baseline)
