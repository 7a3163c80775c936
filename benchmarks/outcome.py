"""The result of a benchmark: figures, the limits with which they are compared, and their JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

_CONFIDENCE = 0.95


class BenchmarkError(Exception):
    """The benchmark could not run; the message is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a benchmark."""

    quick: bool
    """Whether the run only tests the benchmark: it is short, and its figures are not stored."""

    engines: Path
    """The home folder in which engines are assembled."""

    blocks: int | None = None
    """Number of blocks of the comparisons of tools; None is the number that each benchmark prefers."""

    def choose(self, full: int, quick: int) -> int:
        """Returns `quick` for a quick run, otherwise `full`."""
        return quick if self.quick else full

    def choose_blocks(self, full: int) -> int:
        """Returns the number of blocks of a comparison."""
        return self.blocks or self.choose(full, 1)


class Interval(NamedTuple):
    """A range that contains a true value with a confidence of at least 95 %."""

    low: float
    """Lower bound."""

    high: float
    """Upper bound."""


def median_interval(values: Sequence[float]) -> Interval | None:
    """Returns the 95 % interval of the median from order statistics, or None for fewer than six values.

    It assumes only that the values are independent: the number of values below the true median is binomial.
    Six values are bounded by their minimum and maximum, with a confidence of 97 %, eight with 99 %.
    """
    ranked, outside = sorted(values), 0.0
    excluded = -1
    for below in range(len(ranked)):
        outside += 2 * math.comb(len(ranked), below) / 2 ** len(ranked)
        if outside > 1 - _CONFIDENCE:
            break
        excluded = below
    return Interval(ranked[excluded], ranked[-1 - excluded]) if excluded >= 0 else None


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times in one run."""

    name: str
    """The name shown in tables."""

    unit: str
    """Unit of the values."""

    values: tuple[float, ...]
    """The measured values; at least one. They must be independent: one for each block, race or command, not
    for each of its runs, requests or gaps, from which the interval would be too narrow.
    """

    @property
    def median(self) -> float:
        """The median of the values, which results quote."""
        return statistics.median(self.values)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the median, or None for fewer than six values."""
        return median_interval(self.values)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON document, with median, interval, minimum and maximum."""
        spread = {"median": self.median, "min": min(self.values), "max": max(self.values)}
        quoted = {name: _short(value) for name, value in spread.items()}
        return {
            "name": self.name,
            "unit": self.unit,
            **quoted,
            "interval": _short_interval(self.interval),
            "values": [_short(v) for v in self.values],
        }


TargetOutcome = Literal["met", "missed", "undecided"]
"""Whether the interval of a median is within a limit, outside of it, or contains it or is unknown."""


@dataclass(frozen=True, slots=True)
class Target:
    """A measured quantity, and the limit that its median should meet."""

    figure: Figure
    """The measured quantity."""

    limit: float
    """The limit, in the unit of the figure."""

    at_most: bool
    """Whether the limit is the largest allowed value instead of the smallest."""

    @property
    def outcome(self) -> TargetOutcome:
        """Whether the whole interval of the median is within the limit."""
        interval = self.figure.interval
        if interval is None:
            return "undecided"
        within = {value <= self.limit if self.at_most else value >= self.limit for value in interval}
        if len(within) > 1:
            return "undecided"
        return "met" if within.pop() else "missed"

    def to_document(self) -> dict[str, Any]:
        """The JSON document."""
        side = "at most" if self.at_most else "at least"
        return {
            "what": self.figure.name,
            "measured": _short(self.figure.median),
            "interval": _short_interval(self.figure.interval),
            side: self.limit,
            "unit": self.figure.unit,
            "outcome": self.outcome,
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

    incomplete: str = ""
    """The reason why a peer was not measured, or an empty string. The outcome is printed, but not stored."""

    def to_document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "skipped": self.skipped,
            "incomplete": self.incomplete,
            "targets": [target.to_document() for target in self.targets],
            "figures": [figure.to_document() for figure in self.figures],
            "notes": list(self.notes),
        }


def percentile(values: tuple[float, ...], q: float) -> float:
    """Returns the smallest measured value that at least `q` percent of the values do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(q / 100 * len(ranked)) - 1)]


def _short_interval(interval: Interval | None) -> list[float] | None:
    return [_short(bound) for bound in interval] if interval else None


def _short(value: float) -> float:
    """Rounds a value to five significant digits, because measurements are not more precise."""
    return float(f"{value:.5g}")
