"""The simulations of intervals within a race, shorter: the promises of docs/measuring.md."""

from __future__ import annotations

import numpy as np
import pytest
from within_race_simulations import (
    KINDS,
    Bounds,
    coverage,
    covered,
    design_effect,
    exceedances,
    percentile_bounds,
    probe_bound,
)

pytestmark = pytest.mark.process

RACES = 150


@pytest.mark.parametrize("kind", ["independent", "pauses at random", "pauses every 3 s", "AR(1), 0.5 s"])
def test_intervals_contain_the_percentile(kind):
    covers = coverage(KINDS[kind], (60, 400), RACES, np.random.default_rng(20))
    # 95 % of 150 races, less three standard errors of 2.2 % and the 2 % that too few bursts cost.
    assert all(np.mean(cover.dependent) > 0.86 for cover in covers.values()), covers


def test_bursts_deceive_intervals_of_independent_operations():
    covers = coverage(KINDS["pauses at random"], (60, 400), RACES, np.random.default_rng(20))
    assert np.mean(covers[99.0].independent) < 0.5
    assert np.mean(covers[99.0].dependent) > 0.86


def test_independent_operations_cost_little():
    durations = KINDS["independent"](60, 400, np.random.default_rng(20))
    ordered = np.sort(durations)
    exact = percentile_bounds(ordered, 99.0, 1.0)
    slow = (durations.reshape(60, 400) > np.percentile(durations, 99)).sum(axis=1)
    own = percentile_bounds(ordered, 99.0, design_effect(np.full(60, 400), slow))
    assert own.high - own.low < 1.6 * (exact.high - exact.low)


def test_the_method_is_that_of_the_core():
    """The expected figures are those of the tests in crates/stats."""
    bursts = np.array([20 if second % 5 == 2 else 0 for second in range(30)])
    assert 15 < design_effect(np.full(30, 100), bursts) < 25
    assert design_effect(np.full(7, 100), np.ones(7)) is None
    assert design_effect(np.full(8, 100), np.ones(8)) == 1.0
    assert exceedances(10_000, 0.01) == (10_000 - 9_920, 10_000 - 9_880)
    assert exceedances(367, 0.01)[0] is None


def test_a_bound_that_does_not_exist_excludes_nothing():
    assert covered(Bounds(None, None), 1.0)
    assert covered(Bounds(0.5, None), 1.0)
    assert not covered(Bounds(0.5, 0.9), 1.0)


@pytest.mark.parametrize("kind", ["independent", "pauses at random", "AR(1), 0.5 s"])
def test_bounds_of_probes_are_not_below_the_percentile(kind):
    random = np.random.default_rng(20)
    seconds, rate, q = 60, 1_000, 99.0
    truth = np.percentile(KINDS[kind](2_000, rate, random), q)
    right, independent = [], []
    for _ in range(60):
        durations = KINDS[kind](seconds, rate, random)
        ordered = np.sort(durations)
        slow = (durations.reshape(seconds, rate) > ordered[int(q / 100 * len(ordered)) - 1]).sum(axis=1)
        bound = probe_bound(ordered, slow, q)
        right.append(bound is None or bound >= truth)
        independent.append(percentile_bounds(ordered, q, 1.0).high >= truth)
    # 97.5 % of 60 probes, less three standard errors of 2 %.
    assert np.mean(right) >= 0.91
    assert kind == "independent" or np.mean(independent) < 0.85
