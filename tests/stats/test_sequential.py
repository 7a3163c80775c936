"""Boundaries compared with published ones, and with experiments that are looked at."""

import random

import pytest

from pacenote.stats.effect import Effect, paired_effect
from pacenote.stats.sequential import LookPlan


@pytest.mark.parametrize(
    ("blocks", "boundaries"),
    [
        # Two-sided, 5 %: published for the O'Brien-Fleming-like function of Lan and DeMets.
        ((5,), [1.960]),
        ((5, 10), [2.963, 1.969]),
        ((2, 4, 6, 8, 10), [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_boundaries_are_the_published_ones(blocks: tuple[int, ...], boundaries: list[float]) -> None:
    plan = LookPlan(blocks)
    known = Effect(0.0, 1.0, 1e9, 1000, paired=True, drift_excluded=True)
    bounds = [known.at(plan.confidence(look)).interval[1] for look in range(len(blocks))]
    assert bounds == pytest.approx(boundaries, abs=0.002)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3, 0.01])
def test_levels_add_up_to_the_level_of_all_looks(alpha: float) -> None:
    plan, generator, experiments = LookPlan((3, 5, 9)), random.Random(4), 4000
    bounds = [
        Effect(0.0, 1.0, 1e9, 9, paired=True, drift_excluded=True).at(1 - plan.level(look, alpha)).interval[1]
        for look in range(3)
    ]
    alarms = 0
    for _ in range(experiments):
        total, done, alarm = 0.0, 0, False
        for blocks, bound in zip(plan.blocks, bounds, strict=True):
            total += generator.gauss(0, (blocks - done) ** 0.5)
            done = blocks
            alarm |= abs(total) > bound * blocks**0.5
        alarms += alarm
    assert alarms / experiments == pytest.approx(alpha, abs=3.5 * (alpha / experiments) ** 0.5)


def test_an_early_look_needs_more_evidence() -> None:
    plan = LookPlan((5, 10, 15))
    levels = [plan.level(look) for look in range(3)]
    assert levels == sorted(levels)
    assert max(levels) < 0.05 < sum(levels)


def test_a_look_long_before_the_end_has_an_interval() -> None:
    effect = paired_effect((100.0, 101.0, 99.0, 100.5), (109.0, 112.0, 108.0, 110.5))
    assert effect is not None
    low, high = effect.at(LookPlan((4, 400)).confidence(0)).interval
    assert low < -1
    assert high > 1


def test_a_look_that_was_not_planned_leaves_those_before_it_alone() -> None:
    planned, ended_early = LookPlan((5, 10, 15)), LookPlan((5, 8, 15))
    assert ended_early.level(0) == pytest.approx(planned.level(0))
    assert planned.level(0) < ended_early.level(1) < planned.level(1)


@pytest.mark.parametrize("blocks", [(), (0, 5), (5, 5), (10, 5)])
def test_looks_must_ascend(blocks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="the looks must be ascending numbers of blocks"):
        LookPlan(blocks)
