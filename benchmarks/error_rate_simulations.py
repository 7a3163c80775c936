"""Simulates error rates of races whose operations fail in bursts, and counts how often comparisons are wrong.

docs/comparing.md has a part of the tables; all are in `results/error_rate_simulations.json`. The simulations
need no engine and take some minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from simulations import Rows, print_tables, share_with_exact_interval

from pacenote.stats.absolute_effect import (
    MAX_DISPERSION,
    AbsoluteEffect,
    OperationCount,
    counting_error,
    dispersion,
    paired_difference,
    total,
    unpaired_difference,
)
from pacenote.stats.words import word_of

OPERATIONS = 10_000
"""Operations of a race."""

RATE = 0.002
"""Share of operations of the baseline that fail on average."""

SMALLEST = 0.1
"""The smallest difference that matters, in points of a percentage."""

RACES = (3, 5, 10)


@dataclass(frozen=True, slots=True)
class Failures:
    """How operations fail."""

    length: int
    """Number of operations in a row that fail together."""

    spread: float
    """Standard deviation of the rates of races, relative to their mean."""

    def __str__(self) -> str:
        text = "independent" if self.length == 1 else f"{self.length} in a row"
        return f"{text}, rates vary by {self.spread * 100:g} %" if self.spread else text

    def races(self, rate: float, count: int, random: np.random.Generator) -> list[OperationCount]:
        """Returns races of which this share of the operations fails on average."""
        sigma = math.sqrt(math.log1p(self.spread**2))
        rates = rate * np.exp(random.normal(-(sigma**2) / 2, sigma, count))
        bursts = random.poisson(rates * OPERATIONS / self.length)
        return [OperationCount(int(min(each * self.length, OPERATIONS)), OPERATIONS) for each in bursts]


KINDS = (
    Failures(1, 0.0),
    Failures(20, 0.0),
    Failures(60, 0.0),
    Failures(1, 1.0),
    Failures(20, 1.0),
    Failures(1, 2.2),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A simulated comparison."""

    effect: AbsoluteEffect
    """The difference, in points."""

    counted: AbsoluteEffect
    """The same, if as many times fewer operations count as their failures vary more than independent ones."""

    dispersion: float
    """How much more the failures of its races vary than independent ones."""

    @property
    def word(self) -> str:
        """The word for its interval."""
        return word_of(self.effect, SMALLEST, higher_is_better=False)

    @property
    def varies_too_much(self) -> bool:
        """Whether its interval is not trusted to show that the rates are the same."""
        return self.dispersion > MAX_DISPERSION

    @property
    def is_same(self) -> bool:
        """Whether a comparison says that the rates are the same."""
        return self.word == "same" and not self.varies_too_much


@dataclass(frozen=True, slots=True)
class Setting:
    """Comparisons that are alike."""

    failures: Failures
    """How operations fail."""

    races: int
    """Races of each side."""

    design: str
    """`blocks` or `unpaired`."""

    baseline: float = RATE
    """Share of operations of the baseline that fail on average."""

    def compared(self, contender: float, given: argparse.Namespace) -> Iterator[Compared]:
        """Yields comparisons with a contender of which this share of the operations fails on average."""
        random = np.random.default_rng(given.seed)
        compare = paired_difference if self.design == "blocks" else unpaired_difference
        for _ in range(given.experiments):
            old, new = (self.failures.races(rate, self.races, random) for rate in (self.baseline, contender))
            if not any(race.failed for race in (*old, *new)):
                continue  # Rates of 0 in all races have no verdict.
            first, second = ([100 * race.failed / OPERATIONS for race in side] for side in (old, new))
            varies = dispersion(old, new)
            fewer = [_fewer(total(side), max(1.0, varies)) for side in (old, new)]
            effect = compare(first, second, counting_error(total(old), total(new)) * 100)
            counted = compare(first, second, counting_error(*fewer) * 100)
            assert effect is not None
            assert counted is not None
            yield Compared(effect, counted, varies)


def settings(baseline: float = RATE) -> Iterator[Setting]:
    """Yields all settings with a baseline."""
    for failures in KINDS:
        for count in RACES:
            for design in ("blocks", "unpaired"):
                yield Setting(failures, count, design, baseline)


def _fewer(count: OperationCount, times: float) -> OperationCount:
    return OperationCount(round(count.failed / times), round(count.operations / times))


def coverage(given: argparse.Namespace) -> Rows:
    """How often the interval contains the difference, and on which side it misses it."""
    print("Error rate of the baseline 0.2 %, of the contender three times as high\n")
    rows: list[tuple[str, ...]] = [
        (
            *("failures", "races", "design", "interval contains it", "it is above", "it is below"),
            *("with fewer operations", "varies too much"),
        )
    ]
    truth = 100 * 2 * RATE
    for setting in settings():
        comparisons = list(setting.compared(3 * RATE, given))
        above = [one.effect.high < truth for one in comparisons]
        below = [one.effect.low > truth for one in comparisons]
        inside = [not (one or other) for one, other in zip(above, below, strict=True)]
        fewer = [one.counted.low <= truth <= one.counted.high for one in comparisons]
        varies = [one.varies_too_much for one in comparisons]
        shares = map(share_with_exact_interval, (inside, above, below, fewer, varies))
        rows.append((str(setting.failures), str(setting.races), setting.design, *shares))
    return rows


def words(given: argparse.Namespace) -> Rows:
    """How often words are wrong: of equal rates, and of rates that differ by just what matters."""
    print("Error rates that are equal, or higher by 0.1 points\n")
    rows: list[tuple[str, ...]] = [
        (
            *("baseline", "failures", "races", "design", "equal: a difference is said", "equal: same"),
            *("higher: worse", "higher: same by its interval", "by one of fewer operations", "higher: same"),
        )
    ]
    for baseline in (RATE, RATE / 10):
        for setting in settings(baseline):
            equal = list(setting.compared(baseline, given))
            higher = list(setting.compared(baseline + SMALLEST / 100, given))
            shares = (
                [one.effect.low > 0 or one.effect.high < 0 for one in equal],
                [one.is_same for one in equal],
                [one.word == "worse" for one in higher],
                [one.word == "same" for one in higher],
                [word_of(one.counted, SMALLEST, higher_is_better=False) == "same" for one in higher],
                [one.is_same for one in higher],
            )
            names = (f"{baseline * 100:g} %", str(setting.failures), str(setting.races), setting.design)
            rows.append((*names, *map(share_with_exact_interval, shares)))
    return rows


SIMULATIONS = {"coverage": coverage, "words": words}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 2_000, Path(__file__))
