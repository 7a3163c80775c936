"""What the simulations of comparisons, designs and experiments have in common: their options and tables."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pacenote.stats.binomial import upper_bound

RESULTS = Path(__file__).parent / "results"
"""The folder of stored tables."""

Rows = Sequence[Sequence[str]]
"""A table, whose first row is its heading."""

Simulation = Callable[[argparse.Namespace], Rows]
"""Prints a title, and returns one table."""


def print_tables(
    simulations: Mapping[str, Simulation],
    description: str,
    experiments: int,
    path: Path,
    arguments: Sequence[str] | None = None,
) -> None:
    """Prints the tables that the command line asks for; with `--store`, they become those of the results of
    the script at a path.
    """
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument(
        "--experiments",
        type=int,
        default=experiments,
        help=f"simulated experiments of each row ({experiments})",
    )
    parser.add_argument("--seed", type=int, default=20, help="seed of the random numbers (20)")
    parser.add_argument("--only", choices=simulations, help="print only this table")
    parser.add_argument("--store", action="store_true", help="store the tables")
    given = parser.parse_args(arguments)
    for name, simulate in simulations.items():
        if given.only in {None, name}:
            rows = simulate(given)
            table(*rows)
            if given.store:
                store(path, name, rows, {"experiments": given.experiments, "seed": given.seed})


def results(path: Path) -> Path:
    """Returns where the tables of the script at a path are stored."""
    return RESULTS / f"{path.stem}.json"


def store(path: Path, name: str, rows: Rows, options: Mapping[str, int]) -> None:
    """Stores a table of the script at a path, with the options that it was simulated with, beside others."""
    target = results(path)
    stored = json.loads(target.read_text("utf-8")) if target.exists() else {}
    stored[name] = {**options, "rows": [list(row) for row in rows]}
    target.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")


def race_noise(count: int, correlation: float, tail: str, random: np.random.Generator) -> Any:
    """Returns the noise of consecutive races with a standard deviation of 1, each of which resembles the race
    before it (AR(1)); `t3` is Student's distribution with 3 degrees of freedom, anything else the normal one.
    """
    noise = random.standard_t(3, count) / math.sqrt(3) if tail == "t3" else random.standard_normal(count)
    for race in range(1, count):
        fresh = math.sqrt(1 - correlation**2) * noise[race]
        noise[race] = correlation * noise[race - 1] + fresh
    return noise


def share(outcomes: Sequence[bool]) -> str:
    """Returns the share of true values in percent."""
    return f"{100 * sum(outcomes) / len(outcomes):.1f} %"


def share_with_interval(outcomes: Sequence[bool]) -> str:
    """Returns the share of true values in percent, with its 95 % interval (E. B. Wilson, Journal of the
    American Statistical Association 22, 1927).
    """
    count, z = len(outcomes), 1.96
    if not count:
        return "–"
    part = sum(outcomes) / count
    center = (part + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(part * (1 - part) / count + z * z / (4 * count * count))
    digits = 1 if count >= 1_000 else 0
    low, high = (f"{100 * max(bound, 0.0):.{digits}f}" for bound in (center - half, center + half))
    return f"{100 * part:.{digits}f} % ({low}–{high})"


def share_with_exact_interval(outcomes: Sequence[bool]) -> str:
    """Returns the share of true values in percent with its 95 % interval (Clopper and Pearson)."""
    count, total = sum(outcomes), len(outcomes)
    low, high = 1 - upper_bound(total - count, total), upper_bound(count, total)
    return f"{100 * count / total:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def table(*rows: Sequence[str]) -> None:
    """Prints a table, whose first row is its heading."""
    for number, row in enumerate(rows):
        print(f"| {' | '.join(row)} |", flush=True)
        if number == 0:
            print(f"| {' | '.join('---' for _ in row)} |")
    print()
