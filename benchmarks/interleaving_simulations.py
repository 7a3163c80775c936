"""Simulates what order and early reading do to comparisons of identical systems.

The printed tables are those of docs/comparing.md. The simulations need no engine and take about a minute.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

import numpy as np
from comparison_simulations import Machine, Simulation, excludes
from simulations import print_tables, share_with_exact_interval, table

from pacenote.lab.experiment.planning import error_level
from pacenote.model.experiment import Experiment, Variant
from pacenote.stats.effect import unpaired_effect
from pacenote.stats.interleaving import run_order

_START = datetime(2026, 1, 1, tzinfo=UTC)


def orders(given: argparse.Namespace) -> None:
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
    table(*rows)


def peeking(given: argparse.Namespace) -> None:
    """Experiments without looks that are read after every block: how often any reading is wrong."""
    print("Identical systems: how often any interval excludes no change that is read after each block\n")
    rows: list[tuple[str, ...]] = [
        ("blocks", "before the end", "at the end", "at any time", "if all had 95 %")
    ]
    for blocks in (10, 20):
        experiment = Experiment(name="s", design="pair", blocks=blocks, variants=(Variant("a"), Variant("b")))
        levels = {count: error_level(experiment, count)(0.05) for count in range(3, blocks + 1)}
        early, end, plain = [], [], []
        for one in Simulation(Machine(0.3, 0.003), blocks).run(given.experiments, given.seed):
            effects = {count: one.effect(count) for count in levels}
            wrong = {count: effect.p < levels[count] for count, effect in effects.items()}
            end.append(wrong.pop(blocks))
            early.append(any(wrong.values()))
            plain.append(any(effect.p < 0.05 for effect in effects.values()))
        either = [one or other for one, other in zip(early, end, strict=True)]
        shares = map(share_with_exact_interval, (early, end, either, plain))
        rows.append((str(blocks), *shares))
    table(*rows)


SIMULATIONS = {"orders": orders, "peeking": peeking}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 2_000)
