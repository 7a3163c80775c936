"""Orders of races: balanced, repeatable and not periodic."""

import itertools

import pytest

from pacenote.stats.order import block_orders, lag


def lags(blocks: int, seed: int) -> list[int]:
    return [lag(order, "A", "B") for order in block_orders(("A", "B"), blocks, seed)]


def test_the_contender_comes_first_in_half_of_the_blocks() -> None:
    for seed in range(200):
        assert abs(sum(lags(5, seed))) == 1
        assert sum(lags(10, seed)) == 0
        assert abs(sum(lags(15, seed))) == 1


def test_more_blocks_extend_the_same_order() -> None:
    assert lags(13, 7) == lags(30, 7)[:13]
    assert len({tuple(lags(10, seed)) for seed in range(50)}) > 20


def test_adjacent_blocks_are_independent() -> None:
    pairs = [pair for seed in range(400) for pair in itertools.pairwise(lags(10, seed))]
    # With alternating blocks, the mean would be -1; a balanced draw has -1 / 9.
    assert sum(one * other for one, other in pairs) / len(pairs) == pytest.approx(-0.11, abs=0.1)


def test_each_pair_of_variants_has_both_orders() -> None:
    variants = ("a", "b", "c", "d")
    for seed in range(50):
        orders = block_orders(variants, 10, seed)
        assert all(sorted(order) == sorted(variants) for order in orders)
        for variant, other in itertools.combinations(variants, 2):
            assert sum(lag(order, variant, other) for order in orders) == 0


def test_no_blocks_and_one_variant() -> None:
    assert block_orders(("a", "b"), 0, 1) == ()
    assert block_orders(("a",), 3, 1) == (("a",),) * 3
