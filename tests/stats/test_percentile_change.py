"""The change of a percentile from one race to another."""

import math

import pytest

from pacenote.stats.percentile_change import BoundedPercentile, percentile_change


def test_a_change_is_as_uncertain_as_both_percentiles() -> None:
    change = percentile_change(BoundedPercentile(10.0, 9.0, 11.0), BoundedPercentile(20.0, 18.0, 22.0))
    assert change is not None
    assert change.ratio == 2
    assert change.low == pytest.approx(2 * math.exp(-math.hypot(math.log(20 / 18), math.log(1.1))))
    assert change.high == pytest.approx(2 * math.exp(math.hypot(math.log(1.1), math.log(10 / 9))))
    # Without noise of the baseline, only that of the contender is left.
    exact = percentile_change(BoundedPercentile(10.0, 10.0, 10.0), BoundedPercentile(20.0, 18.0, 22.0))
    assert exact is not None
    assert (exact.low, exact.high) == pytest.approx((1.8, 2.2))


def test_a_bound_that_one_side_does_not_have() -> None:
    change = percentile_change(BoundedPercentile(10.0, 9.0, None), BoundedPercentile(20.0, 18.0, 22.0))
    assert change is not None
    assert change.low is None
    assert change.high is not None
    assert percentile_change(BoundedPercentile(0.0, 0.0, 1.0), BoundedPercentile(1.0, 1.0, 1.0)) is None


def test_an_interval_is_not_narrower_than_the_resolution_of_a_histogram() -> None:
    change = percentile_change(BoundedPercentile(10.0, 10.0, 10.0), BoundedPercentile(20.0, 20.0, 20.0))
    assert change is not None
    assert (change.low, change.high) == pytest.approx((1.998, 2.002), rel=1e-5)


@pytest.mark.parametrize("least", [5e-324, 1e-300, 1e-75])
@pytest.mark.parametrize("most", [1e-10, 1.0, 1e75])
def test_values_whose_ratio_is_no_number(least: float, most: float) -> None:
    for old, new in ((least, most), (most, least)):
        change = percentile_change(BoundedPercentile(old, least, most), BoundedPercentile(new, least, most))
        assert change is not None
        assert change.low is not None
        assert change.high is not None
        assert 0 <= change.low <= change.high < math.inf
