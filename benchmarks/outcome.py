"""What a benchmark hands back: figures, the floors they are held against, and their JSON."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENOUGH_FOR_P99 = 368
"""So many samples carry a 99th percentile; with fewer it is shown with a mark."""


class BenchmarkError(Exception):
    """The benchmark could not be run; the text is one line that says why."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: `quick` is for trying the benchmarks out, its figures are never kept.

    `engines` is the home folder that engines are assembled in.
    """

    quick: bool
    engines: Path

    def choose(self, full: int, quick: int) -> int:
        """How much of something: the number for a real run, or the one for a quick one."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times in one run."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.values)

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document, with what is quoted from it."""
        spread = {"median": self.median, "min": min(self.values), "max": max(self.values)}
        quoted = {name: _short(value) for name, value in spread.items()}
        return {"name": self.name, "unit": self.unit, **quoted, "values": [_short(v) for v in self.values]}


@dataclass(frozen=True, slots=True)
class Target:
    """What we hold ourselves to: `measured` may not be above (`at_most`) or below `limit`."""

    what: str
    measured: float
    limit: float
    unit: str
    at_most: bool

    @property
    def met(self) -> bool:
        """Whether the measured value keeps to the limit."""
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document."""
        side = "at most" if self.at_most else "at least"
        return {
            "what": self.what,
            "measured": _short(self.measured),
            side: self.limit,
            "unit": self.unit,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that one benchmark found. `skipped` says why it was not run; it is empty when it was."""

    figures: tuple[Figure, ...] = ()
    targets: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: str = ""

    def to_document(self) -> dict[str, Any]:
        """The JSON-ready document."""
        return {
            "skipped": self.skipped,
            "targets": [target.to_document() for target in self.targets],
            "figures": [figure.to_document() for figure in self.figures],
            "notes": list(self.notes),
        }


def percentile(values: tuple[float, ...], q: float) -> float:
    """The smallest value that at least `q` percent of the values do not exceed: one that was measured."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(q / 100 * len(ranked)) - 1)]


def _short(value: float) -> float:
    """Five digits: more would pretend to know more than was measured."""
    return float(f"{value:.5g}")
