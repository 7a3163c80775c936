"""The exact bounds of a share of failures, compared with those that follow from the beta distribution."""

import pytest
from scipy.special import betainc, betaincinv

from pacenote.stats.binomial import (
    most_failures,
    probability_of_at_most,
    proves_above,
    proves_at_most,
    upper_bound,
)

COUNTS = [(0, 10), (0, 368), (3, 400), (20, 1705), (1, 20_000), (9_000, 1_000_000), (3_000, 3_100)]


@pytest.mark.parametrize(("failed", "operations"), COUNTS)
def test_the_upper_bound_is_exact(failed: int, operations: int) -> None:
    exact = betaincinv(failed + 1, operations - failed, 0.975)
    assert upper_bound(failed, operations) == pytest.approx(exact, rel=1e-7)
    assert proves_at_most(failed, operations, exact * 1.001)
    assert not proves_at_most(failed, operations, exact * 0.999)


@pytest.mark.parametrize(("failed", "operations"), COUNTS[2:])
def test_a_share_below_the_lower_bound_is_exceeded(failed: int, operations: int) -> None:
    exact = betaincinv(failed, operations - failed + 1, 0.025)
    assert proves_above(failed, operations, exact * 0.999)
    assert not proves_above(failed, operations, exact * 1.001)


def test_large_numbers_neither_underflow_nor_prove_anything_by_rounding() -> None:
    """(1 - share) ** operations is 0 as a float."""
    for failed in (1_990_000, 2_000_000, 2_010_000):
        probability = probability_of_at_most(failed, 200_000_000, 0.01)
        assert probability == pytest.approx(1 - betainc(failed + 1, 200_000_000 - failed, 0.01), abs=1e-5)


def test_the_ends_of_the_range_are_decided() -> None:
    assert proves_at_most(5, 5, 1.0)
    assert not proves_at_most(0, 1_000_000, 0.0)
    assert proves_above(1, 1_000_000, 0.0)
    assert not proves_above(0, 1_000_000, 0.0)
    assert not proves_above(5, 5, 1.0)
    assert upper_bound(5, 5) == pytest.approx(1.0)


def test_the_most_failures_are_those_of_the_bound():
    for operations, allowed in [(367, 0.01), (368, 0.01), (1_000, 0.01), (100, 0.5), (50_000, 0.001)]:
        few = most_failures(operations, allowed)
        assert (few is None) == (not proves_at_most(0, operations, allowed))
        if few is not None:
            assert proves_at_most(few, operations, allowed)
            assert not proves_at_most(few + 1, operations, allowed)
    # The rank of the upper bound of p99 of 10,000 values is 9,920 (crates/stats/src/quantile.rs).
    assert most_failures(10_000, 0.01) == 80
