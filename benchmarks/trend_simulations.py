"""Simulates series of races, and counts false alarms, and races until a change is found.

The printed tables are those of docs/trend.md. The simulations need no engine and take about four minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from simulations import Rows, print_tables, race_noise, share

from pacenote.stats.change_points import LEVEL, MIN_SEGMENT, find_changes

NOISE = 0.02
"""Standard deviation of the logarithm of a race."""

PERMUTATIONS = 1999
"""Permutations of E-divisive, which is compared with."""

Numbers = Any
"""An array of numbers."""


@dataclass(frozen=True, slots=True)
class Series:
    """How the races of a series differ, although nothing changed."""

    name: str = "normal"
    """What the tables call it."""

    tail: str = "normal"
    """Distribution of the noise: normal, t3 (Student's with 3 degrees of freedom) or outlier (normal, but one
    race of each series is 40 % slower).
    """

    correlation: float = 0.0
    """Correlation between the noise of a race and that of the race before it."""

    later_noise: float = 1.0
    """Noise of the second half of the races, divided by that of the first half."""

    drift: float = 0.0
    """Change from each race to the next; 0.01 is 1 %."""

    def logs(self, count: int, random: np.random.Generator) -> Numbers:
        """Returns the logarithms of consecutive races."""
        noise = race_noise(count, self.correlation, self.tail, random)
        noise[count // 2 :] *= self.later_noise
        logs = NOISE * noise + math.log1p(self.drift) * np.arange(count)
        if self.tail == "outlier":
            logs[random.integers(count)] -= 0.5
        return logs


KINDS = (
    Series(),
    Series("heavy tails (t, 3 degrees of freedom)", "t3"),
    Series("one race is 40 % slower", "outlier"),
    Series("autocorrelation 0.3", correlation=0.3),
    Series("autocorrelation 0.6", correlation=0.6),
    Series("twice the noise from half of the races on", later_noise=2.0),
    Series("drift by 0.5 % per race", drift=0.005),
)


def values(logs: Numbers) -> list[float]:
    """Returns races with these logarithms."""
    races: list[float] = (100 * np.exp(logs)).tolist()
    return races


def changed(races: Sequence[float], level: float = LEVEL) -> bool:
    """Returns whether any change point is found."""
    segmentation = find_changes(races, level)
    return segmentation is not None and bool(segmentation.changes)


def drifting(races: Sequence[float]) -> bool:
    """Returns whether a drift is found."""
    segmentation = find_changes(races)
    return segmentation is not None and segmentation.drift is not None


def false_alarms(given: argparse.Namespace) -> Rows:
    """Series without a change: how many have a change point, and how many nights of a job are wrong."""
    print("Series without any change in which a change point is found\n")
    heading = ("series", "10 races", "20 races", "50 races", "20 races, p < 0.01")
    rows: list[tuple[str, ...]] = [(*heading, "20 races, a drift")]
    for kind in KINDS:
        random = np.random.default_rng(given.seed)
        shares = []
        for count, level in ((10, LEVEL), (20, LEVEL), (50, LEVEL), (20, 0.01)):
            size = given.experiments if count < 50 else given.experiments // 4
            shares.append([changed(values(kind.logs(count, random)), level) for _ in range(size)])
        drifts = [drifting(values(kind.logs(20, random))) for _ in range(given.experiments)]
        rows.append((kind.name, *map(share, (*shares, drifts))))
    return rows


def nightly(given: argparse.Namespace) -> Rows:
    """A job that looks after every race: how often any of its first nights is a false alarm."""
    print("A metric without any change, looked at after every race: any false alarm in 60 nights\n")
    rows: list[tuple[str, ...]] = [("series", "any of 60 nights")]
    for kind in KINDS[:5]:
        random = np.random.default_rng(given.seed)
        alarms = []
        for _ in range(given.experiments // 20):
            races = values(kind.logs(60, random))
            alarms.append(any(changed(races[:night]) for night in range(6, 61)))
        rows.append((kind.name, share(alarms)))
    return rows


def delay(given: argparse.Namespace) -> Rows:
    """A step: after how many of its races it is found, and where."""
    print("Races after a step until it is found (noise of a race 2 %)\n")
    heading = ("step", "races before", "found after: median", "9 of 10", "after 3", "after 5", "after 10")
    rows: list[tuple[str, ...]] = [
        (*heading, "after 20", "at its place ± 1 race", "error of its size (median)")
    ]
    for step in (0.03, 0.05, 0.1, 0.2):
        for before in (7, 20):
            rows.append(_delay_row(given, step, before))
    return rows


def _delay_row(given: argparse.Namespace, step: float, before: int) -> tuple[str, ...]:
    random = np.random.default_rng(given.seed)
    delays, places, errors = [], [], []
    for _ in range(given.experiments // 10):
        logs = Series().logs(before + 20, random)
        logs[before:] += math.log1p(step)
        races = values(logs)
        needed = next((after for after in range(MIN_SEGMENT, 21) if changed(races[: before + after])), None)
        delays.append(math.inf if needed is None else needed)
        if needed is not None:
            segmentation = find_changes(races[: before + needed])
            assert segmentation is not None
            near = min(segmentation.changes, key=lambda change: abs(change.at - before))
            places.append(abs(near.at - before) <= 1)
            errors.append(abs(math.expm1(near.step.value) - step))
    quantiles = (float(np.quantile(delays, part, method="lower")) for part in (0.5, 0.9))
    return (
        f"{100 * step:g} %",
        str(before),
        *("> 20" if math.isinf(count) else f"{count:.0f}" for count in quantiles),
        *(share([count <= after for count in delays]) for after in (3, 5, 10, 20)),
        share(places) if places else "–",
        f"{100 * float(np.median(errors)):.1f} points" if errors else "–",
    )


def shapes(given: argparse.Namespace) -> Rows:
    """Series with other shapes: what is said of them."""
    print("What is found in series of 40 races (noise of a race 2 %)\n")
    rows: list[tuple[str, ...]] = [("series", "no change", "1 change", "2 changes", "more", "a drift")]
    count = 40
    race = np.arange(count)
    trends = {
        "two steps of -10 % at 13 and 26": math.log(0.9) * ((race >= 13) * 1.0 + (race >= 26)),
        "-10 % for races 20 to 24": math.log(0.9) * ((race >= 20) & (race < 25)),
        "drift by 0.5 % per race": math.log1p(0.005) * race,
        "drift by 0.1 % per race": math.log1p(0.001) * race,
        "a step of -10 %, and a drift by 0.2 %": math.log(0.9) * (race >= 20) - math.log1p(0.002) * race,
    }
    for name, trend in trends.items():
        random = np.random.default_rng(given.seed)
        results = [
            find_changes(values(Series().logs(count, random) + trend)) for _ in range(given.experiments // 10)
        ]
        drifts = [result is not None and result.drift is not None for result in results]
        numbers = [
            -1 if drift else len(result.changes) if result else 0
            for result, drift in zip(results, drifts, strict=True)
        ]
        kinds = ([number == wanted for number in numbers] for wanted in (0, 1, 2))
        rows.append((name, *map(share, kinds), share([number > 2 for number in numbers]), share(drifts)))
    return rows


def methods(given: argparse.Namespace) -> Rows:
    """The same series with E-divisive: the energy distance of each split, and a permutation test."""
    print("E-divisive with a permutation test, at the same level of significance\n")
    rows: list[tuple[str, ...]] = [("series", "this search", "E-divisive")]
    for name, before, after, step in (
        ("20 races without a change", 10, 10, 0.0),
        *((f"{before} races, then {after} with -10 %", before, after, -0.1) for before, after in _SIZES),
    ):
        random = np.random.default_rng(given.seed)
        own, other = [], []
        for _ in range(given.experiments // 40):
            logs = Series().logs(before + after, random)
            logs[before:] += math.log1p(step)
            own.append(changed(values(logs)))
            other.append(_energy_p(logs, random) <= LEVEL)
        rows.append((name, share(own), share(other)))
    return rows


_SIZES = ((7, 3), (12, 3), (12, 5), (20, 3), (20, 5), (20, 10))


def _energy_p(logs: Numbers, random: np.random.Generator) -> float:
    """Returns the p-value of the first split of E-divisive (D. S. Matteson and N. A. James, Journal of the
    American Statistical Association 109, 2014), with the exponent 1.
    """
    orders = random.permuted(np.tile(np.arange(len(logs)), (PERMUTATIONS, 1)), axis=1)
    own = float(_energy(logs[None, :])[0])
    return (1 + int((_energy(logs[orders]) >= own - 1e-12).sum())) / (PERMUTATIONS + 1)


def _energy(logs: Numbers) -> Numbers:
    """Returns the largest statistic of all splits of each series."""
    count = logs.shape[1]
    distances = np.abs(logs[:, :, None] - logs[:, None, :]).cumsum(1).cumsum(2)
    left = np.arange(MIN_SEGMENT, count - MIN_SEGMENT + 1)
    right = count - left
    within_left = distances[:, left - 1, left - 1]
    of_left, every = distances[:, left - 1, -1], distances[:, -1, -1][:, None]
    between = of_left - within_left
    within_right = every - 2 * of_left + within_left
    energy = 2 * between / (left * right) - within_left / left**2 - within_right / right**2
    return (left * right / count * energy).max(axis=1)


SIMULATIONS = {
    "false-alarms": false_alarms,
    "nightly": nightly,
    "delay": delay,
    "shapes": shapes,
    "methods": methods,
}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 4_000, Path(__file__))
