"""What experiments of each design will see, compared with what their evaluation states."""

import math
import random

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import factors, pair
from pacenote.lab.experiment.planning import blocks_to_see, error_level, look_level, planned_effect
from pacenote.model.experiment import Experiment, Variant
from pacenote.stats.effect import paired_effect
from pacenote.stats.layout import level_means
from pacenote.stats.screening import screening_design, screening_effects

NOISE = 0.01


def drawn(blocks, cells, seed):
    draw = random.Random(seed)
    places = [draw.sample(range(cells), cells) for _ in range(blocks)]
    values = [[math.exp(draw.gauss(0, NOISE / math.sqrt(2))) for _ in range(cells)] for _ in range(blocks)]
    return values, [[float(cells * block + place) for place in own] for block, own in enumerate(places)]


def typical(effects):
    """The effect that evaluations state to see, from the mean of their variances."""
    first = effects[0]
    error = math.sqrt(sum(one.standard_error**2 for one in effects) / len(effects))
    return replace(first, standard_error=error).detectable


@pytest.mark.process  # It simulates many experiments.
def test_a_pair_sees_what_it_is_planned_to_see():
    effects = []
    for seed in range(150):
        values, _ = drawn(10, 2, seed)
        effects.append(paired_effect(*zip(*values, strict=True)).at(1 - 0.05 / 3))
    experiment = pair(blocks=10, variants=tuple(Variant(name) for name in "abcd"))
    assert planned_effect(experiment, NOISE) == pytest.approx(typical(effects), rel=0.1)


@pytest.mark.process  # It simulates many experiments.
def test_a_sweep_sees_what_it_is_planned_to_see():
    experiment = Experiment(name="s", design="sweep", blocks=5, factors=factors(heap="1 2 3 4"))
    # A tenth of the level is for what is read before the end.
    effects = [level_means(*drawn(5, 4, seed)).ratio(1, 0).at(1 - 0.09 / 3) for seed in range(150)]
    assert planned_effect(experiment, NOISE) == pytest.approx(typical(effects), rel=0.1)


@pytest.mark.process  # It simulates many experiments.
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_screening_sees_what_it_is_planned_to_see(blocks):
    names = dict.fromkeys("abcdefg", "low high")
    experiment = Experiment(name="s", design="screening", blocks=blocks, factors=factors(**names))
    design = screening_design(tuple(names))
    effects = []
    for seed in range(60):
        values, positions = drawn(blocks, 16, seed)
        estimated = screening_effects(design, values, positions)
        effects += [effect.at(1 - 0.05 / 7) for effect in estimated]
    assert planned_effect(experiment, NOISE) == pytest.approx(typical(effects), rel=0.15)


def test_contenders_precision_and_metrics_need_more():
    plain = planned_effect(pair(blocks=10), NOISE)
    assert planned_effect(pair(blocks=10, precision=0.02), NOISE) > plain
    assert planned_effect(pair(blocks=10, primary=("a", "b")), NOISE) > plain
    assert planned_effect(pair(blocks=2), NOISE) is None


def test_what_is_read_before_the_end_is_paid_for():
    """Without looks, the end has nine tenths of the level, and all blocks before it share the rest."""
    experiment = pair(blocks=10)
    early = [error_level(experiment, blocks)(0.05) for blocks in range(3, 10)]
    assert early == sorted(early)
    assert early[0] < 1e-5
    assert early[-1] < 0.005
    assert error_level(experiment, 10)(0.05) == pytest.approx(0.045)
    # An experiment that ends with fewer blocks than planned has the level of its end.
    assert error_level(experiment, 7, is_end=True)(0.05) == pytest.approx(0.045)
    assert error_level(pair(blocks=10, precision=0.02), 6)(0.05) < 0.4 * early[3]
    # Three blocks cannot be read before they end, and of a hundred, those between two looks share a level.
    assert error_level(pair(blocks=3), 3)(0.05) == 0.05
    many = pair(blocks=100)
    assert len({error_level(many, blocks)(0.05) for blocks in range(3, 100)}) <= 20


def test_levels_and_factors_are_read_from_the_second_block_on():
    """They estimate the noise together, so that a second block is one more time to look."""
    sweep = Experiment(name="s", design="sweep", blocks=10, factors=factors(heap="1 2 3 4"))
    early = [look_level(sweep, blocks)(0.05) for blocks in range(2, 10)]
    assert early == sorted(early)
    assert early[0] < 1e-5
    assert early[-1] < 0.005
    assert look_level(sweep, 10)(0.05) == pytest.approx(0.045)
    assert error_level(sweep, 10)(0.05) == pytest.approx(0.045 / 3)
    # One block cannot be read before it ends.
    single = Experiment(name="s", design="screening", blocks=1, factors=factors(a="0 1", b="0 1"))
    assert look_level(single, 1)(0.05) == 0.05


@pytest.mark.parametrize("effect", [0.01, 0.02])
def test_planned_blocks_are_just_enough(effect):
    blocks = blocks_to_see(pair(blocks=1000), NOISE, effect)
    assert (
        planned_effect(pair(blocks=blocks), NOISE) <= effect < planned_effect(pair(blocks=blocks - 1), NOISE)
    )
    assert blocks_to_see(pair(blocks=7), NOISE, 0.001) == 7
    assert blocks_to_see(pair(blocks=40), NOISE, 0.2) == 5
