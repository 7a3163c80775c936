"""The weighted form of Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest

from pacenote.stats.sequential import LookPlan
from pacenote.stats.student import StudentEstimate
from pacenote.stats.weighted_holm import EQUAL_SHARE, weighted_holm_confidences


def levels(estimates, **options) -> list[float]:
    return [1 - each.interval for each in weighted_holm_confidences(estimates, **options)]


def estimate(value: float, error: float = 0.1, degrees: float = 8) -> StudentEstimate:
    return StudentEstimate(value, error, degrees)


def test_one_metric_is_not_corrected() -> None:
    (alone,) = weighted_holm_confidences([estimate(0.3)])
    assert (alone.interval, alone.power) == pytest.approx((0.95, 0.95))
    assert weighted_holm_confidences([]) == ()


def test_a_metric_that_changed_much_gets_most_of_the_probability() -> None:
    # The sums of squares are 1.08 and 0.08, so that the weights are as 182 and 1.
    changed, *others = levels([estimate(1.0), estimate(0.0), estimate(0.0)])
    share = EQUAL_SHARE / 3 + (1 - EQUAL_SHARE) * 1.08**2 / (1.08**2 + 2 * 0.08**2)
    # A share is rounded down to one of twenty steps for each factor of e.
    assert 0.95 * 0.05 * share < changed <= 0.05 * share
    # What it does not need any more, the others have: they are alike.
    assert others == pytest.approx([0.025, 0.025], rel=0.02)


def test_a_metric_with_much_noise_leaves_the_others_their_equal_share() -> None:
    error_levels = levels([estimate(0.0, error=10.0), *(estimate(0.1) for _ in range(9))])
    assert min(error_levels) >= 0.05 * EQUAL_SHARE / 10 * 0.98
    assert sum(error_levels) <= 0.05 + 1e-12


def test_an_interval_excludes_no_change_exactly_if_the_correction_rejects_it() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        estimates = [estimate(value) for value in random.normal(0, 0.3, 6)]
        for metric, own in zip(estimates, weighted_holm_confidences(estimates), strict=True):
            assert (metric.p < 1 - own.interval) == (abs(metric.value) > metric.half_width(own.interval))


def test_the_order_of_the_metrics_does_not_matter() -> None:
    estimates = [estimate(value) for value in (0.1, 0.5, 0.2, 0.28)]
    assert levels(estimates[::-1]) == pytest.approx(levels(estimates)[::-1])


def test_what_would_have_been_seen_is_decided_with_the_weight_that_it_has() -> None:
    estimates = [estimate(0.0, degrees=3) for _ in range(20)]
    confidence = weighted_holm_confidences(estimates)[0]
    assert confidence.power < confidence.interval
    size = estimates[0].detectable(confidence.power)
    # A change of this size has the confidence by which it was found.
    changed = weighted_holm_confidences([estimate(size, degrees=3), *estimates[1:]])[0]
    assert changed.interval == pytest.approx(confidence.power, abs=0.002)


def test_the_level_of_a_look_replaces_that_of_all_looks() -> None:
    plan = LookPlan((5, 10))
    error_levels = levels([estimate(0.1), estimate(0.1)], level=lambda alpha: plan.level(0, alpha))
    assert error_levels == pytest.approx([plan.level(0, 0.025)] * 2, rel=0.1)
