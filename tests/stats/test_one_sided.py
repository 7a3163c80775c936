"""One-sided bounds of a mean of races, compared with tabulated values and with simulated races."""

import math
import random

import pytest
from scipy.special import betaincinv

from pacenote.stats.absolute_effect import OperationCount
from pacenote.stats.one_sided import error_rate_bounds, mean_bounds


def of_1000(*failed: int) -> list[OperationCount]:
    return [OperationCount(count, 1_000) for count in failed]


def test_a_mean_has_students_bounds() -> None:
    low, high = mean_bounds((90.0, 100.0, 100.0, 100.0, 111.0), in_histograms=True)
    logs = [math.log(value / 100) for value in (90.0, 111.0)]
    error = math.sqrt(sum((log - sum(logs) / 5) ** 2 for log in (*logs, 0, 0, 0)) / 4 / 5)
    # 2.1318 is the tabulated quantile of Student's distribution for 4 degrees of freedom.
    assert math.log(high / low) == pytest.approx(2 * 2.1318 * error, rel=1e-4)


@pytest.mark.parametrize("value", [50.0, -50.0])
def test_equal_values_are_as_precise_as_the_histograms(value: float) -> None:
    low, high = mean_bounds((value,) * 5, in_histograms=True)
    assert (high - low) / 100 == pytest.approx(2.1318 * 0.0005, rel=1e-3)


def test_equal_values_that_are_not_of_histograms_have_no_error() -> None:
    assert mean_bounds((1.0,) * 5, in_histograms=False) == (1.0, 1.0)


def test_no_failure_proves_as_much_as_the_operations_are() -> None:
    assert error_rate_bounds([OperationCount(0, 100)] * 5) == (0.0, pytest.approx(1 - 0.05 ** (1 / 500)))
    low, high = error_rate_bounds(of_1000(2, 2, 2, 2, 2))
    assert low == pytest.approx(betaincinv(10, 4991, 0.05))
    assert high == pytest.approx(betaincinv(11, 4990, 0.95))
    assert error_rate_bounds(of_1000(1000, 1000))[1] == 1.0


def test_races_that_differ_prove_less() -> None:
    alike, apart = error_rate_bounds(of_1000(8, 12, 10)), error_rate_bounds(of_1000(0, 0, 30))
    assert apart[0] < alike[0] < 0.01 < alike[1] < apart[1]


@pytest.mark.parametrize(("operations", "rate"), [(100, 0.004), (1_000, 0.002), (1_000, 0.02)])
def test_one_of_twenty_bounds_at_most_is_on_the_wrong_side(operations: int, rate: float) -> None:
    draw = random.Random(3)
    outside, count = [0, 0], 400
    for _ in range(count):
        failed = [sum(draw.random() < rate for _ in range(operations)) for _ in range(5)]
        low, high = error_rate_bounds([OperationCount(number, operations) for number in failed])
        outside[0] += low > rate
        outside[1] += high < rate
    # Above 29 of 400 has a probability of 2 % if it is 5 %.
    assert max(outside) <= 29
