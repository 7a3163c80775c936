"""Change points: series with known ones."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from pacenote.stats.change_points import (
    MIN_RACES,
    Segmentation,
    detectable_step,
    find_changes,
    last_deviation,
)


def series(*levels: tuple[int, float], noise: float = 0.01, seed: int = 1) -> list[float]:
    """Returns races of consecutive levels, each with a number of races and a value."""
    draw = random.Random(seed)
    return [value * math.exp(draw.gauss(0, noise)) for count, value in levels for _ in range(count)]


def found(values: Sequence[float], **options: float) -> Segmentation:
    result = find_changes(values, **options)
    assert result is not None
    return result


def places(values: Sequence[float]) -> list[int]:
    return [change.at for change in found(values).changes]


def test_a_steady_series_has_no_change_points() -> None:
    result = found(series((40, 100.0)))
    assert result.changes == ()
    assert result.drift is None
    assert result.deviation == pytest.approx(0.01, rel=0.3)
    assert math.exp(result.levels[0]) == pytest.approx(100, rel=0.005)


def test_a_step_is_found_at_its_place_with_its_size() -> None:
    result = found(series((15, 100.0), (8, 90.0)))
    (change,) = result.changes
    assert change.at == 15
    assert math.exp(change.step.value) == pytest.approx(0.9, abs=0.01)
    assert change.p < 1e-6
    low, high = (change.step.value + side * change.step.half_width(0.95) for side in (-1, 1))
    assert low < math.log(0.9) < high


def test_a_step_up_and_one_down_are_mirror_images() -> None:
    down = series((12, 100.0), (6, 90.0))
    (fall,), (other,) = found(down).changes, found([1 / value for value in down]).changes
    assert fall.at == other.at
    assert fall.step.value == pytest.approx(-other.step.value)
    assert fall.p == pytest.approx(other.p)


def test_two_steps_in_the_same_direction_are_two_changes_and_no_drift() -> None:
    values = series((12, 100.0), (12, 90.0), (12, 80.0))
    assert places(values) == [12, 24]
    assert found(values).drift is None


def test_a_level_that_was_left_again_is_found() -> None:
    assert places(series((15, 100.0), (4, 92.0), (15, 100.0))) == [15, 19]


@pytest.mark.parametrize("after", [3, 4, 5])
def test_a_large_step_is_found_from_its_third_race_on(after: int) -> None:
    assert places(series((10, 100.0), (after, 80.0))) == [10]


@pytest.mark.parametrize("after", [1, 2])
def test_fewer_races_deviate_and_are_no_change_point(after: int) -> None:
    values = series((10, 100.0), (after, 80.0))
    result = found(values)
    assert result.changes == ()
    last = last_deviation(values, result)
    assert last is not None
    assert last.races == after
    assert math.exp(last.step) == pytest.approx(0.8, abs=0.03)


def test_the_last_race_of_a_steady_series_does_not_deviate() -> None:
    values = series((20, 100.0))
    assert last_deviation(values, found(values)) is None


def test_two_last_races_in_opposite_directions_are_one_that_deviates() -> None:
    values = [*series((12, 100.0)), 130.0, 70.0]
    last = last_deviation(values, found(values))
    assert last is not None
    assert (last.races, last.step < 0) == (1, True)


@pytest.mark.parametrize("at", [0, 1, 9, 18, 19])
def test_an_outlier_is_no_change_point_and_hides_none(at: int) -> None:
    steady, stepped = series((20, 100.0)), series((13, 100.0), (7, 95.0))
    steady[at] *= 3
    assert found(steady).changes == ()
    assert found(steady).outliers == (at,)
    stepped[5] *= 0.2
    assert places(stepped) == [13]


def test_a_drift_is_one_and_not_a_staircase() -> None:
    values = [value * 1.004**race for race, value in enumerate(series((40, 100.0)))]
    result = found(values)
    assert result.changes == ()
    assert result.drift is not None
    assert result.drift.per_race == pytest.approx(0.004, rel=0.2)
    assert result.drift.total == pytest.approx(1.004**39 - 1, rel=0.2)
    assert last_deviation(values, result) is None


def test_a_level_that_varies_more_than_the_others_is_no_change() -> None:
    draw = random.Random(3)
    for _ in range(20):
        values = [100 * math.exp(draw.gauss(0, 0.01 if race < 15 else 0.02)) for race in range(30)]
        assert found(values).changes == ()


def test_races_that_resemble_the_one_before_count_for_less() -> None:
    draw, noise, values = random.Random(5), 0.0, []
    for _ in range(60):
        noise = 0.6 * noise + 0.8 * draw.gauss(0, 0.02)
        values.append(100 * math.exp(noise))
    result = found(values)
    assert result.correlation > 0.2
    alike = Segmentation((), result.levels, (), result.deviation, result.degrees, 0.0)
    assert detectable_step(result, 20, 3) > detectable_step(alike, 20, 3)


def test_values_that_are_all_equal_have_the_resolution_of_values() -> None:
    result = found([100.0] * 10)
    assert (result.changes, result.deviation) == ((), 0.0005)
    assert places([100.0] * 6 + [101.0] * 6) == [6]
    assert places([100.0] * 6 + [100.02] * 6) == []


def test_rates_that_may_be_0_are_compared_by_differences() -> None:
    rates = [0.0] * 8 + [0.4, 0.5, 0.45, 0.5]
    assert find_changes(rates) is None
    result = found(rates, resolution=0.1)
    (change,) = result.changes
    assert (change.at, change.step.value) == (8, pytest.approx(0.4625))
    last = last_deviation([0.0] * 8 + [0.9], found([0.0] * 8 + [0.9], resolution=0.1), resolution=0.1)
    assert last is not None
    assert last.step == pytest.approx(0.9)


@pytest.mark.parametrize(
    "values", [[], [1.0] * (MIN_RACES - 1), [1.0] * 6 + [0.0], [1.0] * 6 + [math.nan], [1.0] * 6 + [math.inf]]
)
def test_what_has_no_logarithm_or_too_few_races_has_no_answer(values: list[float]) -> None:
    assert find_changes(values) is None


def test_the_level_of_significance_decides() -> None:
    values = series((12, 100.0), (4, 97.8), seed=9)
    (change,) = found(values, level=0.5).changes
    assert found(values, level=change.p / 2).changes == ()
    assert found(values, level=change.p * 2).changes == (change,)


@pytest.mark.parametrize("after", [3, 8])
def test_the_stated_step_is_found_in_most_series(after: int) -> None:
    noise = Segmentation((), (0.0,), (), 0.02, 20 + after - 2, 0.0)
    step = math.exp(detectable_step(noise, 20, after))
    seen = sum(
        bool(found(series((20, 100.0), (after, 100.0 * step), noise=0.02, seed=seed)).changes)
        for seed in range(40)
    )
    assert 22 <= seen <= 40
