"""Effects compared with known values, and with values that prove nothing."""

import math
import random
import statistics

import pytest

from pacenote.stats.effect import RESOLUTION, Effect, paired_effect, unpaired_effect

BASELINE = (100.0, 103.0, 98.0, 101.0, 99.5, 102.0)
CONTENDER = (109.0, 114.2, 105.9, 112.0, 107.5, 113.0)


def paired(contender: tuple[float, ...] = CONTENDER, **options: tuple[float, ...]) -> Effect:
    effect = paired_effect(BASELINE, contender, **options)
    assert effect is not None
    return effect


def test_blocks_in_one_order_are_students_interval() -> None:
    effect = paired(lags=(1,) * 6)
    changes = [math.log(new / old) for old, new in zip(BASELINE, CONTENDER, strict=True)]
    mean, error = statistics.mean(changes), statistics.stdev(changes) / math.sqrt(6)
    assert (effect.log_ratio, effect.standard_error) == pytest.approx((mean, error))
    assert (effect.degrees, effect.count, effect.paired, effect.drift_excluded) == (5, 6, True, False)
    # 2.5706 is the tabulated quantile of Student's distribution for 5 degrees of freedom.
    assert effect.low == pytest.approx(math.exp(mean - 2.5706 * error), rel=1e-5)
    assert effect.high == pytest.approx(math.exp(mean + 2.5706 * error), rel=1e-5)


@pytest.mark.parametrize("count", [5, 6, 10])
@pytest.mark.parametrize(
    "lags", [None, (1, 1, -1, 1, -1, -1, 1, -1, 1, -1), (2, -2, 1, -1, 1, 2, -2, 3, -1, -3)]
)
def test_a_steady_drift_changes_nothing(count: int, lags: tuple[float, ...] | None) -> None:
    generator = random.Random(3)
    baseline = [generator.gauss(100, 1) for _ in range(count)]
    contender = [generator.gauss(110, 1) for _ in range(count)]
    lags = lags[:count] if lags else None
    steps = lags or [1, -1] * count
    drifted = [value * 1.07**step for value, step in zip(contender, steps, strict=False)]
    still, moving = (paired_effect(baseline, side, lags=lags) for side in (contender, drifted))
    assert still is not None
    assert moving is not None
    assert moving.drift_excluded
    assert moving.interval == pytest.approx(still.interval)


def test_swapped_sides_invert_the_ratio() -> None:
    there, back = paired(), paired_effect(CONTENDER, BASELINE)
    assert back is not None
    assert (1 / back.ratio, 1 / back.high, 1 / back.low) == pytest.approx((
        there.ratio,
        there.low,
        there.high,
    ))
    assert back.p == pytest.approx(there.p)
    assert back.detectable == pytest.approx(there.detectable)


def test_an_interval_ends_at_no_change_if_p_equals_its_level() -> None:
    effect = paired(lags=(1,) * 6)
    assert effect.at(1 - effect.p).low == pytest.approx(1)
    assert effect.at(1 - effect.p).at(effect.confidence) == effect


def test_a_higher_confidence_has_a_wider_interval_and_detects_less() -> None:
    usual, sure = paired(), paired().at(0.99)
    assert sure.low < usual.low < usual.ratio < usual.high < sure.high
    assert sure.detectable > usual.detectable


def test_what_is_detectable_is_tabulated() -> None:
    # Of two standard deviations that are known (many blocks), 80 % power needs 1.96 + 0.84 standard errors.
    effect = Effect(0.0, 0.01, 1e6, 100, paired=True, drift_excluded=True)
    assert math.log1p(effect.detectable) == pytest.approx(0.02802, rel=1e-3)
    # 1 / 1.682 is the effect size that 5 pairs detect: J. Cohen's tables. The median of the standard error is
    # sqrt(3.357 / 4) of the true one (chi-squared, 4 degrees).
    five = Effect(0.0, 1 / math.sqrt(5), 4, 5, paired=True, drift_excluded=False)
    assert math.log1p(five.detectable) == pytest.approx(1.68 / math.sqrt(3.357 / 4), abs=0.01)
    sides = Effect(0.0, 1 / math.sqrt(5), 4, 5, paired=False, drift_excluded=False)
    assert math.log1p(sides.detectable) == pytest.approx(1.68, abs=0.01)


def test_groups_are_compared_by_welchs_test() -> None:
    # Welch's example of unequal variances, with logarithms as values.
    old, new = (27.5, 21.0, 19.0, 23.6, 17.0, 17.9), (27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0)
    effect = unpaired_effect([math.exp(value) for value in old], [math.exp(value) for value in new])
    assert effect is not None
    assert effect.log_ratio == pytest.approx(statistics.mean(new) - statistics.mean(old))
    errors = statistics.variance(old) / 6, statistics.variance(new) / 8
    assert effect.standard_error == pytest.approx(math.sqrt(sum(errors)))
    assert effect.degrees == pytest.approx(sum(errors) ** 2 / (errors[0] ** 2 / 5 + errors[1] ** 2 / 7))
    assert (effect.count, effect.paired, effect.drift_excluded) == (6, False, False)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_values_without_a_logarithm_have_no_effect(value: float) -> None:
    others = (100.0, 101.0, 102.0)
    assert paired_effect(others, (100.0, value, 101.0)) is None
    assert paired_effect((100.0, value, 101.0), others) is None
    assert unpaired_effect(others, (value, 100.0)) is None


def test_too_few_races_have_no_effect() -> None:
    assert paired_effect((), ()) is None
    assert paired_effect((100.0, 101.0), (100.0, 101.0)) is None
    assert unpaired_effect((100.0,), (100.0, 101.0)) is None
    assert paired_effect((100.0, 101.0, 99.0), (100.0, 101.0, 99.5)) is not None


def test_sides_of_different_lengths_are_not_paired() -> None:
    with pytest.raises(ValueError, match="6 races of the baseline cannot be paired with 2"):
        paired_effect(BASELINE, CONTENDER[:2])
    with pytest.raises(ValueError, match="6 blocks have 2 lags"):
        paired_effect(BASELINE, CONTENDER, lags=(1, -1))


@pytest.mark.parametrize("compare", [paired_effect, unpaired_effect])
def test_equal_values_are_not_more_precise_than_their_resolution(compare) -> None:
    effect = compare((100.0,) * 10, (100.0,) * 10)
    assert effect.ratio == 1
    assert effect.low <= 1 - 0.9 * RESOLUTION
    assert effect.high >= 1 + 0.9 * RESOLUTION
    assert effect.p == 1
    assert effect.detectable > RESOLUTION


def test_extreme_values_do_not_overflow() -> None:
    effect = paired_effect((1e-300, 1e300, 1e300), (1e300, 1e300, 1e300))
    assert effect is not None
    assert effect.high == math.inf
    assert effect.low == 0
    assert 0 <= effect.p <= 1
