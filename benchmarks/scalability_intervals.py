"""Simulates sweeps, and counts how often the intervals of the scalability law contain the true values.

The printed table is that of docs/saturating.md. A sweep has the levels 1, 2, 4, … 32 and three repeats, the
defaults of `pacenote saturate`; each measurement of throughput has a relative error from a normal
distribution. The simulation needs no engine and takes a minute.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pacenote.model.saturation import Estimate, UslFit
from pacenote.stats.usl import fit_usl, powers_of_two

_ALONE = 1000.0
_CLIENTS = 32
_REPEATS = 3
_NOISES = (0.01, 0.03, 0.05, 0.10)


@dataclass(frozen=True, slots=True)
class Shape:
    """A true curve; one client does 1,000 operations per second."""

    name: str
    """The name in the tables."""

    contention: float
    """Sigma of the law."""

    coherency: float
    """Kappa of the law."""

    @property
    def peak_clients(self) -> float:
        """Number of clients at the peak; infinite if there is none."""
        return math.sqrt((1 - self.contention) / self.coherency) if self.coherency else math.inf

    def throughput(self, clients: float) -> float:
        """Returns the true throughput."""
        pairs = self.coherency * clients * (clients - 1)
        return _ALONE * clients / (1 + self.contention * (clients - 1) + pairs)


SHAPES = (
    Shape("linear", 0.0, 0.0),
    Shape("contention 0.05", 0.05, 0.0),
    Shape("contention 0.3", 0.3, 0.0),
    Shape("peak at 8 clients", 0.2, 0.8 / 8**2),
    Shape("peak at 15 clients", 0.05, 0.95 / 15**2),
    Shape("peak at 32 clients", 0.05, 0.95 / 32**2),
    Shape("peak at 64 clients", 0.02, 0.98 / 64**2),
    Shape("peak at 100 clients", 0.05, 0.95 / 100**2),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the coverage for each shape and noise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--series", type=int, default=5000, help="simulated sweeps of each row (5000)")
    parser.add_argument("--seed", type=int, default=20, help="seed of the random numbers (20)")
    given = parser.parse_args(arguments)
    print(
        "| true curve | noise | lambda | sigma | kappa | a peak is located | its clients | its throughput |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for shape in SHAPES:
        for noise in _NOISES:
            print(_row(shape, noise, given.series, given.seed), flush=True)


def _row(shape: Shape, noise: float, series: int, seed: int) -> str:
    covered: Counter[str] = Counter()
    fitted = 0
    for sweep in sweeps(shape, noise, series, seed):
        fit = fit_usl(sweep)
        if fit is not None:
            fitted += 1
            covered.update(_covered(fit, shape))
    cells = [_percent(covered[name], fitted) for name in ("lambda", "sigma", "kappa", "peak")]
    peaks = covered["peak"] if shape.coherency else 0
    cells += [_percent(covered[name], peaks) for name in ("clients", "rate")]
    return f"| {shape.name} | {noise * 100:.0f} % | {' | '.join(cells)} |"


def sweeps(shape: Shape, noise: float, series: int, seed: int) -> Iterator[dict[int, list[float]]]:
    """Yields simulated throughputs by number of clients."""
    random = np.random.default_rng(seed)
    levels = powers_of_two(_CLIENTS)
    for _ in range(series):
        yield {
            clients: (shape.throughput(clients) * (1 + noise * random.standard_normal(_REPEATS))).tolist()
            for clients in levels
        }


def _covered(fit: UslFit, shape: Shape) -> Iterator[str]:
    """Yields the names of the intervals that contain the true value, and "peak" if a peak is located."""
    true_values = (
        ("lambda", fit.rate_alone, _ALONE),
        ("sigma", fit.contention, shape.contention),
        ("kappa", fit.coherency, shape.coherency),
        ("clients", fit.peak_clients, shape.peak_clients),
        ("rate", fit.peak_rate, shape.throughput(shape.peak_clients) if shape.coherency else math.inf),
    )
    yield from (name for name, found, true in true_values if found is not None and _contains(found, true))
    if fit.peak_clients is not None:
        yield "peak"


def _contains(estimate: Estimate, true: float) -> bool:
    return estimate.low <= true <= estimate.high


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} %" if total else "–"


if __name__ == "__main__":
    main()
