"""Simulates noise floors, sweeps and screenings, and counts how often they are wrong.

The printed tables are those of docs/comparing.md. The races are those of `comparison_simulations`. The
simulations need no engine and take about a minute.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from comparison_simulations import Machine, Simulation, excludes
from simulations import Rows, print_tables, share

from pacenote.lab.experiment.planning import blocks_to_see
from pacenote.model.experiment import Experiment, Variant
from pacenote.stats.effect import Effect
from pacenote.stats.multiplicity import holm_confidences
from pacenote.stats.noise_floor import noise_floor
from pacenote.stats.order import block_orders
from pacenote.stats.screening import screening_design, screening_effects
from pacenote.stats.sweep import BestRegion, best_region

_PLANNED = Experiment(name="planned", blocks=1000, variants=(Variant("a"), Variant("b")))
"""An experiment whose number of blocks is planned."""

_WANTED = 0.01
"""The change that is to be seen."""


def noise_floors(given: argparse.Namespace) -> Rows:
    """Experiments that are planned from a noise floor: how often they see the change that they should."""
    print("Experiments that are planned from a noise floor to see 1 % with a probability of 80 %\n")
    rows: list[tuple[str, ...]] = [
        (
            *("races of the noise floor", "autocorrelation", "its interval contains the noise"),
            *("blocks needed (5 % to 95 %)", "seen"),
        )
    ]
    for count in (10, 20):
        for correlation in (0.0, 0.3, 0.6):
            rows.append(_noise_row(given, count, Machine(correlation, 0.003)))
    return rows


def _noise_row(given: argparse.Namespace, count: int, machine: Machine) -> tuple[str, ...]:
    random = np.random.default_rng(given.seed)
    true = machine.noise * math.sqrt(2 * (1 - machine.correlation))
    covered, needed, seen = [], [], []
    for experiment in range(given.experiments):
        floor = noise_floor(np.exp(machine.races(count, random)).tolist())
        assert floor is not None
        covered.append(floor.block.low <= true <= floor.block.high)
        blocks = blocks_to_see(_PLANNED, floor.block.deviation, _WANTED)
        needed.append(blocks)
        planned = next(Simulation(machine, blocks, _WANTED).run(1, given.seed + 1 + experiment))
        seen.append(planned.effect(blocks).interval[0] > 0)
    few, many = np.percentile(needed, (5, 95))
    cells = (share(covered), f"{few:.0f} to {many:.0f}", share(seen))
    return (str(count), f"{machine.correlation:g}", *cells)


def sweeps(given: argparse.Namespace) -> Rows:
    """Sweeps over one knob: how often the best region does not contain the best level."""
    print("Sweeps over one knob\n")
    rows: list[tuple[str, ...]] = [
        (
            *("levels", "blocks", "other levels are worse by", "autocorrelation"),
            *("the best level is left out", "levels in the best region (mean)"),
        )
    ]
    for levels, blocks in ((4, 5), (8, 5), (4, 10)):
        for worse in (0.0, 0.02, 0.05):
            for correlation in (0.0, 0.6):
                machine = Machine(correlation, 0.003)
                regions = list(_sweeps(machine, levels, blocks, worse, given))
                rows.append((
                    str(levels),
                    str(blocks),
                    f"{100 * worse:g} %",
                    f"{correlation:g}",
                    share([not region.may_be_best[0] for region in regions]),
                    f"{np.mean([sum(region.may_be_best) for region in regions]):.1f}",
                ))
    return rows


def _sweeps(
    machine: Machine, levels: int, blocks: int, worse: float, given: argparse.Namespace
) -> Iterator[BestRegion]:
    random = np.random.default_rng(given.seed)
    true = np.array([0.0] + [math.log1p(-worse)] * (levels - 1))
    for experiment in range(given.experiments // 2):
        values, positions = in_blocks(machine, true.tolist(), blocks, (random, experiment))
        region = best_region(values, positions, higher_is_better=True)
        assert region is not None
        yield region


Values = list[list[float]]
"""Values by block and level."""


def in_blocks(
    machine: Machine, true: Sequence[float], blocks: int, draws: tuple[np.random.Generator, int]
) -> tuple[Values, Values]:
    """Returns simulated values of levels in blocks, and how many races came before each.

    `true` has the logarithms of the true values; `draws` is the source of the noise and the seed of the
    order.
    """
    random, seed = draws
    levels = len(true)
    races = machine.races(levels * blocks, random)
    positions = [
        [float(block * levels + order.index(level)) for level in range(levels)]
        for block, order in enumerate(block_orders(range(levels), blocks, seed))
    ]
    places = np.array(positions, dtype=int)
    return np.exp(races[places] + np.array(true)).tolist(), positions


def screenings(given: argparse.Namespace) -> Rows:
    """Screenings of knobs: how often one without an effect is said to have one, and one with it is found."""
    print("Screenings of 7 knobs in 16 runs; one changes throughput by 3 %\n")
    rows: list[tuple[str, ...]] = [
        (
            *(
                "replicates",
                "autocorrelation",
                "interaction of two knobs",
                "any false alarm",
                "the knob is found",
            ),
        )
    ]
    for replicates in (1, 2, 3):
        for correlation, interaction in ((0.0, 0.0), (0.6, 0.0), (0.3, 0.02)):
            screened = list(_screenings(Machine(correlation, 0.001), replicates, interaction, given))
            rows.append((
                str(replicates),
                f"{correlation:g}",
                f"{100 * interaction:g} %",
                share([any(excludes(effect) for effect in effects[1:]) for effect, effects in screened]),
                share([excludes(effect) for effect, _ in screened]),
            ))
    return rows


def _screenings(
    machine: Machine, replicates: int, interaction: float, given: argparse.Namespace
) -> Iterator[tuple[Effect, list[Effect]]]:
    random = np.random.default_rng(given.seed)
    design = screening_design("abcdefg")
    signs = np.array(design.runs) * 2 - 1
    true = signs[:, 0] * math.log1p(0.03) / 2 + signs[:, 1] * signs[:, 2] * interaction / 2
    for experiment in range(given.experiments // 4):
        values, positions = in_blocks(machine, true.tolist(), replicates, (random, experiment))
        effects = screening_effects(design, values, positions if replicates > 1 else None)
        assert effects is not None
        confidences = holm_confidences([effect.p for effect in effects])
        corrected = [effect.at(own) for effect, own in zip(effects, confidences, strict=True)]
        yield corrected[0], corrected


SIMULATIONS = {"noise-floors": noise_floors, "sweeps": sweeps, "screenings": screenings}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 10_000, Path(__file__))
