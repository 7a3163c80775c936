"""The number of operations that decide a percentile, compared with exact and known values."""

from fractions import Fraction
from math import comb

import pytest

from pacenote.stats.binomial import probability_of_at_most
from pacenote.stats.power import operations_for_bound, operations_to_decide


def exact(slow: int, operations: int, share: Fraction) -> Fraction:
    return sum(
        (
            comb(operations, number) * share**number * (1 - share) ** (operations - number)
            for number in range(slow + 1)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(("slow", "operations"), [(0, 1), (3, 2), (0, 367), (9, 1704), (40, 60)])
def test_probabilities_are_exact(slow: int, operations: int) -> None:
    for share in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 300)):
        probability = probability_of_at_most(slow, operations, float(share))
        assert probability == pytest.approx(float(exact(min(slow, operations), operations, share)), rel=1e-9)


def test_a_bound_without_slow_operations_needs_the_documented_numbers() -> None:
    allowed = (0.5, 0.1, 0.01, 0.001, 0.0001)
    assert [operations_for_bound(share) for share in allowed] == [6, 36, 368, 3_688, 36_887]


@pytest.mark.parametrize("allowed", [0.5, 0.1, 0.01])
def test_a_planned_measurement_decides_nine_times_in_ten(allowed: float) -> None:
    planned = operations_to_decide(allowed)

    def most_slow(operations: int) -> int:
        counts = range(operations)
        return next(slow for slow in counts if operations_for_bound(allowed, slow + 1) > operations)

    def power(operations: int) -> float:
        return probability_of_at_most(most_slow(operations), operations, allowed / 3)

    step = max(1, planned // 8)
    assert all(power(operations) >= 0.9 for operations in range(planned, 2 * planned, step))
    # With just enough for a bound, one slow operation is too many.
    assert power(operations_for_bound(allowed)) < 0.5
