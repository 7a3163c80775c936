"""Simulates what order and early reading do to comparisons of identical systems.

The printed tables are those of docs/comparing.md. The simulations need no engine and take some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from comparison_simulations import Machine, Simulation, excludes
from design_simulations import Values, in_blocks
from msgspec.structs import replace
from simulations import Rows, print_tables, share_with_exact_interval

from pacenote.lab.experiment.planning import error_level, look_level
from pacenote.model.experiment import Experiment, Factor, Variant
from pacenote.stats.effect import unpaired_effect
from pacenote.stats.interleaving import run_order
from pacenote.stats.multiplicity import holm_confidences
from pacenote.stats.screening import screening_design, screening_effects
from pacenote.stats.sweep import best_region

_START = datetime(2026, 1, 1, tzinfo=UTC)


def orders(given: argparse.Namespace) -> Rows:
    """Groups that are nearly apart: whether they count as interleaved, and what a drift makes of them."""
    print("Identical groups on a machine that drifts by 1 % per race\n")
    rows: list[tuple[str, ...]] = [("order", "counts as interleaved", "interval excludes no change")]
    random = np.random.default_rng(given.seed)
    for letters in ("BBBBBBCCCCCC", "BBBBBBCCCCCCB", "BBBBBCCCCCB", "BCCBBCCBBCCB"):
        first = [at for at, letter in enumerate(letters) if letter == "B"]
        second = [at for at, letter in enumerate(letters) if letter == "C"]
        times = [[_START + timedelta(hours=at) for at in side] for side in (first, second)]
        alarms = []
        for _ in range(given.experiments):
            races = np.exp(Machine(0.0, 0.01).races(len(letters), random))
            alarms.append(excludes(unpaired_effect(races[first].tolist(), races[second].tolist())))
        mixed = run_order(*times) == "mixed"
        rows.append((letters, "yes" if mixed else "no", share_with_exact_interval(alarms)))
    return rows


def peeking(given: argparse.Namespace) -> Rows:
    """Experiments without looks that are read after every block: how often any reading is wrong."""
    print("Identical systems: how often any interval excludes no change that is read after each block\n")
    rows: list[tuple[str, ...]] = [
        ("blocks", "before the end", "at the end", "at any time", "if all had 95 %")
    ]
    for blocks in (10, 20):
        experiment = Experiment(name="s", design="pair", blocks=blocks, variants=(Variant("a"), Variant("b")))
        levels = {count: error_level(experiment, count)(0.05) for count in range(3, blocks + 1)}
        early, end, plain = [], [], []
        for simulated in Simulation(Machine(0.3, 0.003), blocks).run(given.experiments, given.seed):
            effects = {count: simulated.effect(count) for count in levels}
            wrong = {count: effect.p < levels[count] for count, effect in effects.items()}
            end.append(wrong.pop(blocks))
            early.append(any(wrong.values()))
            plain.append(any(effect.p < 0.05 for effect in effects.values()))
        either = [one or other for one, other in zip(early, end, strict=True)]
        shares = map(share_with_exact_interval, (early, end, either, plain))
        rows.append((str(blocks), *shares))
    return rows


Wrong = Callable[[Values, Values, Callable[[float], float]], bool]
"""Whether the races of some blocks, and their places, are misread at a significance level."""


def leaves_out_the_best(values: Values, places: Values, level: Callable[[float], float]) -> bool:
    """Returns whether the best region of identical levels does not contain the first one."""
    region = best_region(values, places, higher_is_better=True, confidence=1 - level(0.05))
    return region is not None and not region.may_be_best[0]


def finds_an_effect(values: Values, places: Values, level: Callable[[float], float]) -> bool:
    """Returns whether a screening of four knobs without an effect finds one."""
    effects = screening_effects(screening_design("abcd"), values, places)
    assert effects is not None
    confidences = holm_confidences([effect.p for effect in effects], level=level)
    return any(excludes(effect.at(own)) for effect, own in zip(effects, confidences, strict=True))


def peeking_at_levels(given: argparse.Namespace) -> Rows:
    """Sweeps and screenings that are read after every block: how often any reading is wrong."""
    print("Identical levels: how often a reading after any block leaves the best out, or finds an effect\n")
    rows: list[tuple[str, ...]] = [
        ("design", "blocks", "before the end", "at the end", "at any time", "if all had 95 %")
    ]
    two = (Variant("low"), Variant("high"))
    levels = (Factor("knob", (*two, Variant("higher"), Variant("highest"))),)
    sweep = Experiment(name="s", design="sweep", factors=levels)
    screening = Experiment(name="s", design="screening", factors=tuple(Factor(name, two) for name in "abcd"))
    for title, experiment, count, is_wrong in (
        ("sweep of 4 levels", sweep, 4, leaves_out_the_best),
        ("screening of 4 knobs", screening, 8, finds_an_effect),
    ):
        for blocks in (3, 5, 10):
            planned = replace(experiment, blocks=blocks)
            outcomes = [readings(planned, count, draw, is_wrong) for draw in _draws(given)]
            early = [any(one.own[:-1]) for one in outcomes]
            end = [one.own[-1] for one in outcomes]
            either = [any(one.own) for one in outcomes]
            plain = [any(one.plain) for one in outcomes]
            rows.append((title, str(blocks), *map(share_with_exact_interval, (early, end, either, plain))))
    return rows


@dataclass(frozen=True, slots=True)
class Readings:
    """What is read of one experiment after each block from the second on."""

    own: list[bool]
    """Whether it is wrong, at the level of its block."""

    plain: list[bool]
    """Whether it would be wrong at 5 %."""


def _draws(given: argparse.Namespace) -> Iterator[tuple[np.random.Generator, int]]:
    random = np.random.default_rng(given.seed)
    return ((random, number) for number in range(given.experiments))


def readings(
    experiment: Experiment, levels: int, draws: tuple[np.random.Generator, int], is_wrong: Wrong
) -> Readings:
    """Returns what is read of an experiment with identical levels after each block."""
    values, places = in_blocks(Machine(0.3, 0.003), [0.0] * levels, experiment.blocks, draws)
    own, plain = [], []
    for count in range(2, experiment.blocks + 1):
        own.append(is_wrong(values[:count], places[:count], look_level(experiment, count)))
        plain.append(is_wrong(values[:count], places[:count], float))
    return Readings(own, plain)


SIMULATIONS = {"orders": orders, "peeking": peeking, "peeking-at-levels": peeking_at_levels}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 2_000, Path(__file__))
