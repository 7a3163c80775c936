"""Levels in blocks: two of them agree with pairs, and a drift is removed."""

import math
import random

import numpy as np
import pytest

from pacenote.stats.effect import paired_effect
from pacenote.stats.layout import level_means

BLOCKS = [[100.0, 108.0], [103.0, 112.0], [99.0, 105.0], [101.0, 112.0], [98.0, 104.0]]
POSITIONS = [[0, 1], [3, 2], [4, 5], [6, 7], [9, 8]]


def test_two_levels_are_a_pair() -> None:
    fit = level_means(BLOCKS, POSITIONS)
    baseline, contender = zip(*BLOCKS, strict=True)
    pair = paired_effect(baseline, contender, lags=[after - before for before, after in POSITIONS])
    assert fit is not None
    assert pair is not None
    ratio = fit.ratio(1, 0)
    assert ratio.interval == pytest.approx(pair.interval)
    assert (ratio.degrees, ratio.count, ratio.drift_excluded) == (pair.degrees, 5, True)


def test_a_steady_drift_changes_nothing() -> None:
    generator, order = random.Random(2), random.Random(3)
    still, moving, positions = [], [], []
    for block in range(5):
        places = order.sample(range(4), 4)
        positions.append([4 * block + place for place in places])
        still.append([100 * (1 + level / 50) * math.exp(generator.gauss(0, 0.01)) for level in range(4)])
        moving.append([value * 0.98**place for value, place in zip(still[-1], positions[-1], strict=True)])
    steady, other = level_means(still, positions), level_means(moving, positions)
    assert steady is not None
    assert other is not None
    for level in range(1, 4):
        assert other.ratio(level, 0).interval == pytest.approx(steady.ratio(level, 0).interval)
        assert steady.ratio(level, 0).log_ratio == pytest.approx(math.log1p(level / 50), abs=0.03)


def test_one_order_in_all_blocks_does_not_exclude_a_drift() -> None:
    fit = level_means(BLOCKS, [[2 * block, 2 * block + 1] for block in range(5)])
    without = level_means(BLOCKS)
    assert fit is not None
    assert without is not None
    assert not fit.drift_excluded
    assert fit.ratio(1, 0) == without.ratio(1, 0)


def test_missing_races_leave_the_fit_of_the_others() -> None:
    values: list[list[float | None]] = [[100.0 + level + block for level in range(4)] for block in range(5)]
    values[1][2] = values[4][0] = values[4][1] = None
    places = [[4.0 * block + (level * (block + 1)) % 5 for level in range(4)] for block in range(5)]
    fit = level_means(values, places)
    assert fit is not None
    rows, logs = [], []
    for block in range(5):
        for level in range(4):
            if (value := values[block][level]) is not None:
                fixed = [block == one for one in range(5)] + [level == one for one in range(1, 4)]
                rows.append([*map(float, fixed), places[block][level]])
                logs.append(math.log(value))
    solution, residual, *_ = np.linalg.lstsq(np.array(rows), np.array(logs), rcond=None)
    assert [mean - fit.means[0] for mean in fit.means[1:]] == pytest.approx(solution[5:8])
    assert fit.degrees == 17 - 9
    expected = residual[0] / fit.degrees * np.linalg.inv(np.array(rows).T @ np.array(rows))[5, 5]
    assert fit.covariance[1][1] == pytest.approx(expected)


def test_the_means_are_those_of_the_values() -> None:
    fit = level_means([[100.0, 200.0], [121.0, 242.0], [110.0, 220.0]])
    assert fit is not None
    assert [math.exp(mean) for mean in fit.means] == pytest.approx([110.0, 220.0])


def test_a_level_without_races_has_no_mean() -> None:
    assert level_means([[1.0, None, 2.0], [1.1, None, 2.1], [1.2, None, 2.0]]) is None


def test_values_that_prove_nothing() -> None:
    assert level_means([]) is None
    assert level_means([[1.0, 2.0]]) is None
    assert level_means([[1.0], [2.0], [3.0]]) is None
    assert level_means([[1.0, 2.0], [1.0, 0.0], [1.0, 2.0]]) is None
    assert level_means([[1.0, 2.0], [1.0, math.nan], [1.0, 2.0]]) is None
    with pytest.raises(ValueError, match="all blocks must have the same levels"):
        level_means([[1.0, 2.0], [1.0]])


def test_equal_values_are_not_more_precise_than_their_resolution() -> None:
    fit = level_means([[100.0, 100.0, 100.0]] * 4)
    assert fit is not None
    assert fit.ratio(1, 2).high - 1 > 0.0009
