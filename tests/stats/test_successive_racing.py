"""Successive racing: the fit, the tests by ranks and by values, and how seldom the best one drops out."""

import math
import random
import statistics

import pytest
from scipy import stats

from pacenote.stats.successive_racing import (
    RacedValue,
    _fitted,
    _ranks,
    _weaker,
    candidate_means,
    weaker_candidates,
)


def raced(table, start=0):
    """Returns values from a table by block and candidate; None is a hole."""
    values, position = [], start
    for block, row in enumerate(table, 1):
        for candidate, value in enumerate(row):
            if value is not None:
                values.append(RacedValue(candidate, block, position, value))
            position += 1
    return values


def drawn(effects, blocks, seed, noise=0.01, drift=0.0):
    """Returns values of candidates with these effects, in a drawn order within each block."""
    draw, values, position = random.Random(seed), [], 0
    for block in range(1, blocks + 1):
        shared = draw.gauss(0, 0.05)
        for candidate in draw.sample(range(len(effects)), len(effects)):
            log = effects[candidate] + shared + draw.gauss(0, noise) + drift * position
            values.append(RacedValue(candidate, block, position, 1000 * math.exp(log)))
            position += 1
    return values


def test_blocks_and_drift_do_not_change_the_means():
    values = drawn([0.0, 0.05, -0.03], 8, 1, noise=0.0, drift=0.01)
    fit = candidate_means(values, higher_is_better=True)
    assert fit.means == pytest.approx({0: 0.0, 1: 0.05, 2: -0.03})
    assert fit.blocks == {0: 8, 1: 8, 2: 8}
    assert candidate_means(values, higher_is_better=False).means == pytest.approx({0: 0.0, 1: -0.05, 2: 0.03})


def test_a_candidate_that_joins_later_is_compared_within_its_blocks():
    table = [(100, 110, None), (200, 220, None), (400, 440, 480), (400, 440, 480)]
    fit = candidate_means(raced(table), higher_is_better=True)
    assert fit.means == pytest.approx({0: 0.0, 1: math.log(1.1), 2: math.log(1.2)})
    assert fit.blocks == {0: 4, 1: 4, 2: 2}


def test_no_value_has_no_means():
    assert candidate_means([], higher_is_better=True).means == {}
    assert weaker_candidates(candidate_means([], higher_is_better=True), [0, 1]) == {}


def test_one_that_is_last_in_all_blocks_is_weaker_from_the_third_block_on():
    table = [(100, 102, 90, 101), (100, 101, 90, 102), (102, 101, 90, 100)]
    fit = candidate_means(raced(table), higher_is_better=True)
    assert set(weaker_candidates(fit, range(4))) == {2}
    assert weaker_candidates(candidate_means(raced(table[:2]), higher_is_better=True), range(4)) == {}
    # Only candidates that still race take part, and only those with enough blocks.
    assert weaker_candidates(fit, [0, 1, 3]) == {}
    assert weaker_candidates(fit, [2]) == {}
    holes = [table[0], table[1], (102, 101, None, 100)]
    assert weaker_candidates(candidate_means(raced(holes), higher_is_better=True), range(4)) == {}


def weaker(table, level):
    """Compares candidates, of which the table has the values by block."""
    return _weaker([dict(enumerate(row)) for row in table], level)


def test_equal_values_and_perfect_agreement():
    assert weaker([(2.0, 2.0, 2.0)] * 4, 0.05) == {}
    assert weaker([(1.0, 2.0, 3.0)] * 4, 0.05) == pytest.approx({0: 0.0, 1: 0.0})


def test_friedmans_test_decides_whether_candidates_are_compared_at_all():
    # The table of Conover's textbook form: its p-value by scipy's chi-squared form is close to the F form.
    ranks = [(1.0, 2.0, 3.0), (2.0, 1.0, 3.0), (1.0, 3.0, 2.0), (1.0, 2.0, 3.0), (2.0, 3.0, 1.0)]
    statistic, _ = stats.friedmanchisquare(*zip(*ranks, strict=True))
    f = 4 * statistic / (5 * 2 - statistic)
    p = float(stats.f.sf(f, 2, 8))
    assert weaker(ranks, p * 0.999) == {}
    p_values = weaker(ranks, p * 1.001)
    sums = [sum(column) for column in zip(*ranks, strict=True)]
    error = math.sqrt(2 * (5 * 70 - sum(one * one for one in sums)) / 8)
    assert p_values[0] == pytest.approx(2 * stats.t.sf((max(sums) - sums[0]) / error, 8))


def test_the_best_of_twelve_stays_and_most_others_drop_out():
    effects = [0.0] * 11 + [math.log(1.08)]
    for seed in range(20):
        fit = candidate_means(drawn(effects, 4, seed), higher_is_better=True)
        weaker = weaker_candidates(fit, range(12))
        assert 11 not in weaker
        assert len(weaker) == 11


def test_few_values_fit_no_drift():
    # Measured on a machine that ran other things: the second candidate is better in two blocks of three.
    order = [[1, 2, 0], [0, 1, 2], [0, 2, 1]]
    table = [(3444, 14393, 16106), (3653, 31606, 36643), (2722, 45361, 20617)]
    values = [
        RacedValue(one, block, 3 * block + at, float(table[block][one]))
        for block, row in enumerate(order)
        for at, one in enumerate(row)
    ]
    assert weaker_candidates(candidate_means(values, higher_is_better=True), range(3)).keys() == {0}


def test_equal_candidates_seldom_lose_one_at_the_first_test():
    lost = [
        weaker_candidates(candidate_means(drawn([0.0] * 8, 5, seed), higher_is_better=True), range(8))
        for seed in range(60)
    ]
    assert sum(map(bool, lost)) <= 6


def test_holes_cost_only_their_own_races():
    effects = [math.log(1.1)] + [0.0] * 7
    whole = drawn(effects, 9, 3)
    # Each candidate is void in one block of its own, so that hardly a block has all of them.
    holes = [each for each in whole if each.block != each.candidate + 1]
    fit = candidate_means(holes, higher_is_better=True)
    assert set(weaker_candidates(fit, range(8))) == set(range(1, 8))


def test_a_newcomer_does_not_take_the_blocks_of_the_others():
    effects = [0.0, math.log(0.985), math.log(1.01)]
    values = [each for each in drawn(effects, 30, 5) if each.candidate < 2 or each.block > 27]
    assert 1 in weaker_candidates(candidate_means(values, higher_is_better=True), range(3))


def test_candidates_that_share_no_block_are_not_compared():
    table = [(100, None), (100, None), (100, None), (None, 50), (None, 50), (None, 50)]
    fit = candidate_means(raced(table), higher_is_better=True)
    assert weaker_candidates(fit, range(2)) == {}


def test_one_that_shares_no_block_does_not_keep_the_others_from_being_compared():
    together = [(100, 102, 90, None, None), (102, 100, 90, None, None)] * 2
    alone = [(None, None, None, 100, None)] * 3
    fit = candidate_means(raced(together + alone), higher_is_better=True)
    assert set(weaker_candidates(fit, range(4))) == {2}
    # Two that share blocks of their own are compared with each other.
    pairs = [(None, None, None, 100, 90), (None, None, None, 101, 90)] * 2
    fit = candidate_means(raced(together + pairs), higher_is_better=True)
    assert set(weaker_candidates(fit, range(5))) == {2, 4}


def test_errors_of_ranks_are_right_for_those_of_many_short_and_of_few_long_blocks():
    draw = random.Random(1)
    squares, errors = {"survivors": [], "newcomers": []}, {"survivors": [], "newcomers": []}
    for _ in range(150):
        lengths = [3] * 20 + [12] * 3
        fit = _fitted([_ranks({one: draw.random() for one in range(length)}) for length in lengths])
        for name, candidate in (("survivors", 0), *(("newcomers", at) for at in (3, 5, 7, 9))):
            squares[name].append((fit.means[candidate] - fit.means[candidate + 1]) ** 2)
            errors[name].append(fit.error(candidate, candidate + 1) ** 2)
    # The standard errors of the means of squares are 12 % and 6 %.
    for name, differences in squares.items():
        assert statistics.fmean(errors[name]) == pytest.approx(statistics.fmean(differences), rel=0.25), name


def test_the_mean_of_few_blocks_counts_less():
    values = [each for each in drawn([0.0, 0.03, 0.03], 30, 5) if each.candidate < 2 or each.block > 27]
    fit = candidate_means(values, higher_is_better=True)
    assert fit.spread == pytest.approx(0.01, rel=0.3)
    assert [fit.means[one] - fit.lower_bound(one) for one in (1, 2)] == pytest.approx([
        fit.spread / math.sqrt(30),
        fit.spread / math.sqrt(3),
    ])
