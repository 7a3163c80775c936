"""The best region of a knob."""

import math
import random

import pytest

from pacenote.stats.sweep import BestRegion, best_region

TRUE = (100.0, 108.0, 110.0, 110.5, 104.0)


def sweep(noise: float, blocks: int, *, higher_is_better: bool = True) -> BestRegion:
    generator = random.Random(5)
    values = [[value * math.exp(generator.gauss(0, noise)) for value in TRUE] for _ in range(blocks)]
    if not higher_is_better:
        values = [[1 / value for value in block] for block in values]
    swept = best_region(values, higher_is_better=higher_is_better)
    assert swept is not None
    return swept


def region(swept: BestRegion) -> list[int]:
    return [level for level, may_be_best in enumerate(swept.may_be_best) if may_be_best]


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_levels_that_are_surely_worse_are_left_out(higher_is_better: bool) -> None:
    assert region(sweep(0.005, 5, higher_is_better=higher_is_better)) == [2, 3]
    assert region(sweep(0.0001, 5, higher_is_better=higher_is_better)) == [3]
    assert region(sweep(0.2, 3, higher_is_better=higher_is_better)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("noise", [0.001, 0.2])
def test_the_best_level_belongs_to_its_region(noise: float) -> None:
    swept = sweep(noise, 5)
    assert swept.may_be_best[swept.best]
    assert swept.fit.means[swept.best] == max(swept.fit.means)


def test_a_level_whose_races_failed_in_some_blocks_is_compared_by_the_others() -> None:
    generator = random.Random(5)
    # The machine becomes faster from block to block, and the best level only ran in the slow ones.
    values: list[list[float | None]] = [
        [value * 1.2**block * math.exp(generator.gauss(0, 0.002)) for value in TRUE] for block in range(5)
    ]
    for block in (2, 3, 4):
        values[block][3] = None
    swept = best_region(values, higher_is_better=True)
    assert swept is not None
    assert swept.best == 3


def test_too_few_blocks_have_no_region() -> None:
    assert best_region([[1.0, 2.0, 3.0]], higher_is_better=True) is None
    assert best_region([[1.0], [2.0]], higher_is_better=True) is None


def test_the_best_level_is_seldom_left_out() -> None:
    generator, lost = random.Random(8), 0
    for _ in range(60):
        values = [[math.exp(generator.gauss(0, 0.02)) for _ in range(4)] for _ in range(5)]
        swept = best_region(values, higher_is_better=True)
        assert swept is not None
        lost += not swept.may_be_best[0]
    assert lost <= 7
