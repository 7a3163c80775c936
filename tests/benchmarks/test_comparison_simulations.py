"""The simulations of comparisons, shorter: the promises of docs/comparing.md."""

import math

import numpy as np
import pytest
from comparison_simulations import Family, Machine, Simulation, any_look, excludes, family_effects, with_holm
from design_simulations import in_blocks
from interleaving_simulations import finds_an_effect, leaves_out_the_best, readings

from pacenote.model.experiment import Experiment, Factor, Variant
from pacenote.stats.blocks import detectable_effect
from pacenote.stats.sequential import LookPlan
from pacenote.stats.sweep import best_region
from pacenote.stats.words import word_of

pytestmark = pytest.mark.process

EXPERIMENTS = 3000

TOLERANCE = 3.5 * math.sqrt(0.05 * 0.95 / EXPERIMENTS)
"""By how much a share of 5 % of the experiments may differ by chance."""


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("drift", [0.0, 0.003, 0.01])
def test_identical_systems_seldom_differ(correlation: float, drift: float) -> None:
    experiments = list(Simulation(Machine(correlation, drift)).run(EXPERIMENTS, seed=1))
    for alarms in (
        [excludes(one.effect(5)) for one in experiments],
        [excludes(one.effect(10)) for one in experiments],
        [any_look(one, LookPlan((5, 10))) for one in experiments],
    ):
        assert sum(alarms) / EXPERIMENTS == pytest.approx(0.05, abs=TOLERANCE)


@pytest.mark.parametrize("blocks", [5, 10, 15])
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_stated_power_is_reached_and_the_interval_contains_the_change(
    blocks: int, correlation: float
) -> None:
    machine = Machine(correlation, 0.003)
    change = detectable_effect(machine.noise * math.sqrt(2 * (1 - correlation)), blocks)
    assert change is not None
    simulated = Simulation(machine, blocks, change).run(EXPERIMENTS, seed=2)
    effects = [one.effect(blocks) for one in simulated]
    assert sum(effect.low > 1 for effect in effects) / EXPERIMENTS == pytest.approx(0.8, abs=0.05)
    covered = [not excludes(effect, math.log1p(change)) for effect in effects]
    assert 0.93 <= sum(covered) / EXPERIMENTS <= 0.97


@pytest.mark.parametrize("blocks", [5, 10])
def test_same_is_seldom_said_of_a_change_that_matters(blocks: int) -> None:
    simulated = Simulation(Machine(0.3, 0.003), blocks, 0.03).run(EXPERIMENTS, seed=3)
    said = [word_of(one.effect(blocks), 0.03, higher_is_better=True) for one in simulated]
    assert said.count("same") / EXPERIMENTS <= 0.025 + TOLERANCE
    assert said.count("better") / EXPERIMENTS <= 0.025 + TOLERANCE
    assert said.count("worse") + said.count("probably worse") == 0


def test_an_order_that_repeats_is_not_mistaken_for_a_change() -> None:
    machine = Machine(0.3, shape="waves")
    alarms = [excludes(one.effect(10)) for one in Simulation(machine).run(EXPERIMENTS, seed=4)]
    assert sum(alarms) / EXPERIMENTS < 0.08


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_several_metrics_together_are_seldom_wrong(correlation: float) -> None:
    random, alarms = np.random.default_rng(5), 0
    for _ in range(EXPERIMENTS // 3):
        effects = family_effects(Family(6, 0, 0.0, correlation).races(random))
        alarms += any(excludes(effect) for effect in with_holm(effects))
    assert alarms / (EXPERIMENTS // 3) <= 0.05 + 2 * TOLERANCE


def test_the_best_level_of_a_sweep_is_seldom_left_out() -> None:
    random, lost, sweeps = np.random.default_rng(6), 0, EXPERIMENTS // 3
    for seed in range(sweeps):
        values, positions = in_blocks(Machine(0.6, 0.01), [0.0] * 5, 5, (random, seed))
        region = best_region(values, positions, higher_is_better=True)
        assert region is not None
        lost += not region.may_be_best[0]
    assert lost / sweeps <= 0.05 + 2 * TOLERANCE


@pytest.mark.parametrize("count", [4, 8])
def test_levels_that_are_read_after_every_block_are_seldom_misread(count: int) -> None:
    is_sweep = count == 4
    names = ("k",) if is_sweep else tuple("abcd")
    levels = tuple(Variant(name) for name in ("low", "high", "higher", "highest")[: 4 if is_sweep else 2])
    experiment = Experiment(
        name="s",
        design="sweep" if is_sweep else "screening",
        blocks=5,
        factors=tuple(Factor(name, levels) for name in names),
    )
    is_wrong = leaves_out_the_best if is_sweep else finds_an_effect
    random = np.random.default_rng(7)
    outcomes = [readings(experiment, count, (random, seed), is_wrong) for seed in range(EXPERIMENTS // 3)]
    assert sum(any(one.own[:-1]) for one in outcomes) / len(outcomes) <= 0.02
    assert sum(any(one.own) for one in outcomes) / len(outcomes) <= 0.05 + 2 * TOLERANCE
    assert sum(any(one.plain) for one in outcomes) / len(outcomes) > 0.08
