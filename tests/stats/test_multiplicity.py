"""Corrections for several metrics, compared with worked examples."""

import pytest

from pacenote.stats.multiplicity import benjamini_hochberg_confidences, holm_confidences


def levels(confidences: tuple[float, ...]) -> list[float]:
    return [1 - confidence for confidence in confidences]


def test_holm_compares_each_p_value_with_its_level() -> None:
    error_levels = levels(holm_confidences((0.04, 0.001, 0.02, 0.9)))
    # 0.001 < 0.05 / 4; 0.02 is not below 0.05 / 3, which is the level of the rest.
    assert error_levels == pytest.approx([0.05 / 3, 0.05 / 4, 0.05 / 3, 0.05 / 3])


def test_all_metrics_that_changed_use_the_whole_level() -> None:
    assert levels(holm_confidences((0.001, 0.002, 0.003))) == pytest.approx([0.05 / 3, 0.05 / 2, 0.05])


def test_one_metric_is_not_corrected() -> None:
    assert holm_confidences((0.03,)) == pytest.approx((0.95,))
    assert benjamini_hochberg_confidences((0.03,)) == pytest.approx((0.95,))
    assert holm_confidences(()) == benjamini_hochberg_confidences(()) == ()


def test_the_level_of_a_look_replaces_that_of_all_looks() -> None:
    error_levels = levels(holm_confidences((0.001, 0.5), level=lambda alpha: alpha / 10))
    assert error_levels == pytest.approx([0.0025, 0.005])


def test_benjamini_and_hochbergs_own_example() -> None:
    # The fifteen p-values of their paper, of which the procedure rejects four.
    p_values = (
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
    )
    error_levels = levels(benjamini_hochberg_confidences(p_values))
    assert error_levels == pytest.approx([0.05 * 4 / 15] * 4 + [0.05 * 5 / 15] * 11)
    assert [p < level for p, level in zip(p_values, error_levels, strict=True)] == [True] * 4 + [False] * 11


def test_the_order_of_the_metrics_does_not_matter() -> None:
    p_values = (0.2, 0.001, 0.04, 0.012)
    for correct in (holm_confidences, benjamini_hochberg_confidences):
        assert correct(p_values[::-1]) == correct(p_values)[::-1]
