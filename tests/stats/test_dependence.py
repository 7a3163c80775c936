"""How few independent operations a window with bursts has."""

from __future__ import annotations

import numpy as np
import pytest

from pacenote.stats.dependence import Block, design_effect, shows_above, shows_at_most, total


def blocks(*slow: int) -> list[Block]:
    return [Block(100, each) for each in slow]


@pytest.mark.process
@pytest.mark.parametrize(("seconds", "slow"), [(20, 4), (20, 20)])
def test_independent_operations_seldom_count_as_dependent(seconds: int, slow: int) -> None:
    """Once in a thousand, also with fewer slow operations than blocks: there, the chi-square distribution is
    exceeded more than ten times as often.
    """
    generator = np.random.default_rng(1)
    drawn = generator.multivariate_hypergeometric([100] * seconds, slow, 1000)
    effects = [design_effect(blocks(*map(int, row))) for row in drawn]
    assert sum(effect > 1 for effect in effects) <= 3


@pytest.mark.parametrize("seconds", [1, 3])
def test_a_burst_is_about_one_event_also_if_it_lasts(seconds: int) -> None:
    burst = [20 // seconds] * seconds
    slow = blocks(*[0] * 10, *burst, *[0] * 10, *burst, *[0] * 10)
    assert 8 < design_effect(slow) < 30


@pytest.mark.parametrize("slow", [[0] * 20, [100] * 20, [], [5] * 7, [2] * 20])
def test_without_slow_operations_or_enough_blocks_there_is_no_effect(slow: list[int]) -> None:
    assert design_effect(blocks(*slow)) == 1.0


def test_dependent_operations_show_less() -> None:
    few, many = Block(2000, 5), Block(2000, 60)
    assert shows_at_most(few, 0.01, 1.0)
    assert not shows_at_most(few, 0.01, 10.0)
    assert shows_above(many, 0.01, 1.0)
    assert not shows_above(many, 0.01, 20.0)
    # None may be slow: one that was in a burst is one too many, too.
    assert shows_above(Block(1000, 1), 0.0, 20.0)
    assert not shows_above(Block(1000, 0), 0.0, 20.0)
    assert total([few, many]) == Block(4000, 65)
