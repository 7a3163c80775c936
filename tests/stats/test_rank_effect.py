"""Effects by ranks, compared with tables and with the mean."""

import math
import random
import statistics

import pytest

from pacenote.stats.effect import paired_effect
from pacenote.stats.rank_effect import RankEffect, rank_effect
from pacenote.stats.words import word_of


def ranked(changes: list[float]) -> RankEffect:
    effect = rank_effect([1.0] * len(changes), [math.exp(change) for change in changes])
    assert effect is not None
    return effect


@pytest.mark.parametrize(("count", "critical"), [(6, 0), (8, 3), (10, 8), (15, 25), (25, 89)])
def test_intervals_end_at_the_tabulated_rank(count: int, critical: int) -> None:
    # The critical values are those of the two-sided test at 5 % in the usual tables.
    changes = [float(2**number) / 2**count for number in range(count)]
    means = sorted((one + other) / 2 for index, one in enumerate(changes) for other in changes[index:])
    effect = ranked(changes)
    assert effect.interval == pytest.approx((means[critical], means[-critical - 1]))
    assert effect.log_ratio == pytest.approx(statistics.median(means))


def test_many_blocks_have_the_interval_of_the_normal_distribution() -> None:
    generator = random.Random(1)
    changes = [generator.gauss(0.05, 0.01) for _ in range(61)]
    # One more block than is computed exactly.
    more, fewer = ranked(changes), ranked(changes[:60])
    assert more.high - more.low == pytest.approx(fewer.high - fewer.low, rel=0.1)


def test_one_outlier_hardly_changes_the_ranks() -> None:
    changes = [0.050, 0.052, 0.049, 0.051, 0.048, 0.053, 0.050, 0.047]
    calm, disturbed = ranked(changes), ranked([*changes[:-1], -0.4])
    assert disturbed.ratio == pytest.approx(calm.ratio, abs=0.002)
    mean = paired_effect([1.0] * 8, [math.exp(change) for change in (*changes[:-1], -0.4)])
    assert word_of(mean, 0.03, higher_is_better=True) == "unclear"
    assert word_of(calm, 0.03, higher_is_better=True) == "better"


def test_too_few_blocks_have_no_interval() -> None:
    values = [100.0, 101.0, 102.0, 99.0, 98.0, 100.5]
    assert rank_effect(values[:5], values[:5]) is None
    assert rank_effect(values, values) is not None
    # All six changes have the same sign with a probability of 3.1 %.
    assert rank_effect(values, values, 0.97) is None
    assert rank_effect(values, [*values[:5], 0.0]) is None
    with pytest.raises(ValueError, match="6 races of the baseline cannot be paired with 5"):
        rank_effect(values, values[:5])


def test_equal_values_are_not_more_precise_than_their_resolution() -> None:
    effect = rank_effect([5.0] * 10, [5.0] * 10)
    assert effect is not None
    assert effect.low < 0.9995
    assert effect.high > 1.0005
