"""The result of a benchmark: figures, the limits with which they are compared, and their JSON."""

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
    """The options of a benchmark."""

    quick: bool
    """Whether the run only tests the benchmark: it is short, and its figures are not stored."""

    engines: Path
    """The home folder in which engines are assembled."""

    def choose(self, full: int, quick: int) -> int:
        """Returns `quick` for a quick run, otherwise `full`."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times in one run."""

    name: str
    """The name shown in tables."""

    unit: str
    """Unit of the values."""

    values: tuple[float, ...]
    """The measured values; at least one."""

    @property
    def median(self) -> float:
        """The median of the values, which results quote."""
        return statistics.median(self.values)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON document, with median, minimum and maximum."""
        spread = {"median": self.median, "min": min(self.values), "max": max(self.values)}
        quoted = {name: _short(value) for name, value in spread.items()}
        return {"name": self.name, "unit": self.unit, **quoted, "values": [_short(v) for v in self.values]}


@dataclass(frozen=True, slots=True)
class Target:
    """A measured value, and the limit that it should meet."""

    what: str
    """The name of the quantity in tables."""

    measured: float
    """The measured value, in `unit`."""

    limit: float
    """The limit, in `unit`."""

    unit: str
    """Unit of the value and the limit."""

    at_most: bool
    """Whether the limit is the largest allowed value instead of the smallest."""

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
    """The outcome of one benchmark."""

    figures: tuple[Figure, ...] = ()
    """The measured quantities."""

    targets: tuple[Target, ...] = ()
    """The limits that the benchmark checks."""

    notes: tuple[str, ...] = ()
    """Remarks about the run, one line each."""

    skipped: str = ""
    """The reason why the benchmark did not run, or an empty string."""

    def to_document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "skipped": self.skipped,
            "targets": [target.to_document() for target in self.targets],
            "figures": [figure.to_document() for figure in self.figures],
            "notes": list(self.notes),
        }


def percentile(values: tuple[float, ...], q: float) -> float:
    """Returns the smallest measured value that at least `q` percent of the values do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(q / 100 * len(ranked)) - 1)]


def _short(value: float) -> float:
    """Rounds a value to five significant digits, because measurements are not more precise."""
    return float(f"{value:.5g}")
