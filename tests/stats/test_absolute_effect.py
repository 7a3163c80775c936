"""Differences of values that may be 0, such as error rates."""

import math
import random
import statistics

import pytest

from pacenote.stats.absolute_effect import (
    OperationCount,
    counting_error,
    dispersion,
    paired_difference,
    unpaired_difference,
)
from pacenote.stats.words import word_of


def test_failures_of_races_that_differ_by_more_than_counting_vary_too_much():
    def races(*failed):
        return [OperationCount(each, 1_000) for each in failed]

    assert dispersion(races(10, 10, 10), races(7, 7, 7)) == 0.0
    # Three races with a mean of 10 failures: (10² + 10² + 20²) / (10 × 0.99), of two degrees of freedom.
    assert dispersion(races(0, 0, 30)) == pytest.approx(600 / 9.9 / 2)
    assert dispersion(races(0, 0, 30), races(0, 0, 0)) == dispersion(races(0, 0, 30))
    assert dispersion(races(0, 0, 30), races(10, 10, 10)) == pytest.approx(600 / 9.9 / 4)
    # One race says nothing about the difference between races.
    assert dispersion(races(30)) == 0.0
    draw = random.Random(5)
    alike = [sum(draw.random() < 0.01 for _ in range(1_000)) for _ in range(200)]
    assert 0.8 < dispersion(races(*alike)) < 1.2


def test_a_difference_has_students_interval() -> None:
    baseline, contender = (0.0, 0.01, 0.02, 0.0, 0.01), (0.02, 0.02, 0.05, 0.01, 0.02)
    effect = paired_difference(baseline, contender, lags=(1,) * 5)
    assert effect is not None
    changes = [new - old for old, new in zip(baseline, contender, strict=True)]
    error = statistics.stdev(changes) / math.sqrt(5)
    assert effect.difference == pytest.approx(statistics.mean(changes))
    # 2.7764 is the tabulated quantile of Student's distribution for 4 degrees of freedom.
    assert effect.high - effect.low == pytest.approx(2 * 2.7764 * error, rel=1e-4)
    assert (effect.paired, effect.drift_excluded, effect.count) == (True, False, 5)
    assert effect.at(1 - effect.p).low == pytest.approx(0, abs=1e-9)
    assert effect.detectable > (effect.high - effect.low) / 2


def test_a_steady_drift_changes_nothing() -> None:
    effect = paired_difference((5.0, 6.0, 4.0, 5.5), (7.0, 7.5, 6.5, 7.0))
    moved = paired_difference((5.0, 6.0, 4.0, 5.5), (8.0, 6.5, 7.5, 6.0))
    assert effect is not None
    assert moved is not None
    assert moved.interval == pytest.approx(effect.interval)


def test_groups_are_compared_without_pairs() -> None:
    effect = unpaired_difference((1.0, 2.0, 3.0), (4.0, 6.0))
    assert effect is not None
    assert (effect.difference, effect.count, effect.paired) == (3.0, 2, False)
    assert unpaired_difference((1.0,), (4.0, 6.0)) is None


def test_no_failures_do_not_prove_an_error_rate_of_zero() -> None:
    few, many = (counting_error(*(OperationCount(0, operations),) * 2) for operations in (1_000, 100_000))
    assert word_of(paired_difference((0.0,) * 5, (0.0,) * 5, few), 0.001, higher_is_better=False) == "unclear"
    assert word_of(paired_difference((0.0,) * 5, (0.0,) * 5, many), 0.001, higher_is_better=False) == "same"
    # The upper limit of the rule of three: 3 / n with 95 % confidence.
    effect = unpaired_difference((0.0,) * 50, (0.0,) * 50, few)
    assert effect is not None
    assert 0.002 < effect.high < 0.004


def test_a_share_that_fails_is_counted_with_its_error() -> None:
    error = counting_error(OperationCount(500, 10_000), OperationCount(500, 10_000))
    assert error == pytest.approx(math.sqrt(2 * 0.05 * 0.95 / 10_000), rel=0.01)


def test_values_that_prove_nothing_have_no_difference() -> None:
    assert paired_difference((0.0,) * 5, (0.0,) * 5) is None
    assert unpaired_difference((1.0, 1.0), (2.0, 2.0)) is None
    assert paired_difference((0.0, 1.0), (0.0, 2.0), 0.1) is None
    for value in (math.nan, math.inf):
        assert paired_difference((0.0, 1.0, value), (0.0, 1.0, 1.0), 0.1) is None
        assert unpaired_difference((0.0, 1.0), (value, 1.0), 0.1) is None
    with pytest.raises(ValueError, match="2 races of the baseline cannot be paired with 1"):
        paired_difference((0.0, 1.0), (0.0,))


def test_equal_values_are_equal_although_their_mean_is_rounded() -> None:
    """The mean of three times 0.2 is not exactly 0.2."""
    assert math.fsum([0.2] * 3) / 3 != 0.2
    assert unpaired_difference([0.2] * 3, [0.2] * 3) is None
    assert paired_difference([0.1] * 3, [0.3] * 3) is None
