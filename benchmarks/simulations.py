"""What the simulations of comparisons, designs and experiments have in common: their options and tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

Simulation = Callable[[argparse.Namespace], None]
"""Prints one table."""


def print_tables(
    simulations: Mapping[str, Simulation],
    description: str,
    experiments: int,
    arguments: Sequence[str] | None = None,
) -> None:
    """Prints the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument(
        "--experiments",
        type=int,
        default=experiments,
        help=f"simulated experiments of each row ({experiments})",
    )
    parser.add_argument("--seed", type=int, default=20, help="seed of the random numbers (20)")
    parser.add_argument("--only", choices=simulations, help="print only this table")
    given = parser.parse_args(arguments)
    for name, simulate in simulations.items():
        if given.only in {None, name}:
            simulate(given)


def share(found: Sequence[bool]) -> str:
    """Returns the share of true values in percent."""
    return f"{100 * sum(found) / len(found):.1f} %"


def table(*rows: Sequence[str]) -> None:
    """Prints a table, whose first row is its heading."""
    for number, row in enumerate(rows):
        print(f"| {' | '.join(row)} |", flush=True)
        if number == 0:
            print(f"| {' | '.join('---' for _ in row)} |")
    print()
