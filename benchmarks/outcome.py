"""The result of a benchmark: figures, the limits that they are compared with, and their JSON."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENOUGH_FOR_P99 = 368
"""Number of values that a 99th percentile needs; with fewer values, it is marked."""


class BenchmarkError(Exception):
    """The benchmark could not run; the message is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a benchmark."""

    quick: bool
    """Whether the run only tests the benchmark: it is short, and its figures are not stored."""

    engines: Path
    """The home folder that engines are assembled in."""

    def choose(self, full: int, quick: int) -> int:
        """`quick` for a quick run, otherwise `full`."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times in one run."""

    name: str
    """Name in tables."""

    unit: str
    """Unit of the values."""

    values: tuple[float, ...]
    """The measured values; at least one."""

    @property
    def median(self) -> float:
        """The median of the values, which results quote."""
        return statistics.median(self.values)

    def to_document(self) -> dict[str, Any]:
        """The JSON document, with median, minimum and maximum."""
        spread = {"median": self.median, "min": min(self.values), "max": max(self.values)}
        quoted = {name: _short(value) for name, value in spread.items()}
        return {"name": self.name, "unit": self.unit, **quoted, "values": [_short(v) for v in self.values]}


@dataclass(frozen=True, slots=True)
class Target:
    """A measured value and the limit that it should meet."""

    what: str
    """The quantity, as named in tables."""

    measured: float
    """The measured value, in `unit`."""

    limit: float
    """The limit, in `unit`."""

    unit: str
    """Unit of the value and the limit."""

    at_most: bool
    """Whether the limit is the largest allowed value, not the smallest."""

    @property
    def met(self) -> bool:
        """Whether the measured value is within the limit."""
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit

    def to_document(self) -> dict[str, Any]:
        """The JSON document."""
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
    """The result of one benchmark."""

    figures: tuple[Figure, ...] = ()
    """The measured quantities."""

    targets: tuple[Target, ...] = ()
    """The limits that the benchmark checks."""

    notes: tuple[str, ...] = ()
    """Remarks about the run, one line each."""

    skipped: str = ""
    """Why the benchmark did not run; empty if it did."""

    def to_document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "skipped": self.skipped,
            "targets": [target.to_document() for target in self.targets],
            "figures": [figure.to_document() for figure in self.figures],
            "notes": list(self.notes),
        }


def percentile(values: tuple[float, ...], q: float) -> float:
    """The smallest measured value that is not exceeded by at least `q` percent of the values."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(q / 100 * len(ranked)) - 1)]


def _short(value: float) -> float:
    """The value with five significant digits, because measurements are not more precise."""
    return float(f"{value:.5g}")
