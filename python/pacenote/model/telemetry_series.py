"""The telemetry of a task, as the figures of a diagnosis need it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from pacenote.model.telemetry_cuts import GaugeCut, TaskTelemetry

LEAST_COVERAGE = 0.5
"""Part of a task of which a counter must be known, and part of the time between samples that the task must
fill.
"""

_MISSING_SHARE, _MISSING_S = 0.05, 1.0
"""Part of a task, or seconds of it, for which a counter need not be known to have counted nothing."""

_T = TypeVar("_T")


class TaskSeries:
    """What the series of one source say about one task. Values that are not known are None."""

    def __init__(self, telemetry: TaskTelemetry, duration_s: float) -> None:
        self._telemetry = telemetry
        self.duration_s = duration_s
        self._names: dict[tuple[str, str], tuple[str, ...]] = {}
        self._of_nodes: dict[tuple[object, str], object] = {}

    def values_of(self, name: str, label: str, **labels: str) -> tuple[str, ...]:
        """Returns the values of a label of the counters with this name, and with these labels."""
        counters = self._telemetry.counters(name, **labels)
        return tuple(dict.fromkeys(labels[label] for labels, _ in counters if label in labels))

    def names(self, beginning: str, end: str) -> tuple[str, ...]:
        """Returns the names of series with this beginning and end. They are looked for once: each node asks
        for the same ones.
        """
        key = (beginning, end)
        if key not in self._names:
            names = self._telemetry.cuts
            self._names[key] = tuple(
                name for name in names if name.startswith(beginning) and name.endswith(end)
            )
        return self._names[key]

    def of_node(self, read: Callable[[TaskSeries, str], _T], node: str) -> _T:
        """Returns what `read` returns for a node. It is called once for each, although all other nodes may be
        compared with it.
        """
        key = (read, node)
        if key not in self._of_nodes:
            self._of_nodes[key] = read(self, node)
        return cast(_T, self._of_nodes[key])

    def per_s(self, name: str, **labels: str) -> float | None:
        """Returns the mean increase of a counter per second, in its unit; None if too little of the task is
        known, or if most of it was counted before or after the task, which is shorter than an interval of
        the samples.
        """
        cut = self._telemetry.counter(name, **labels)
        if cut is None or cut.covered_s < LEAST_COVERAGE * max(self.duration_s, cut.span_s):
            return None
        return cut.per_s

    def increase(self, name: str, **labels: str) -> float | None:
        """Returns by how much a counter has grown during the task, at least. None has grown only if nearly
        all of the task is known: what happened in the rest may have been all there was.
        """
        if self.per_s(name, **labels) is None or (cut := self._telemetry.counter(name, **labels)) is None:
            return None
        missing_s = self.duration_s - cut.covered_s
        is_whole = not cut.resets and missing_s <= max(_MISSING_SHARE * self.duration_s, _MISSING_S)
        return cut.increase if is_whole or cut.increase else None

    def share(self, name: str, **labels: str) -> float | None:
        """Returns the increase of a counter of milliseconds, as a part of the time."""
        per_s = self.per_s(name, **labels)
        return None if per_s is None else per_s / 1000

    def mean(self, name: str, **labels: str) -> float | None:
        """Returns the mean of a gauge."""
        cut = self.gauge(name, **labels)
        return None if cut is None else cut.mean

    def largest(self, name: str, **labels: str) -> float | None:
        """Returns the largest value of a gauge."""
        cut = self.gauge(name, **labels)
        return None if cut is None else cut.max

    def last(self, name: str, **labels: str) -> float | None:
        """Returns the last value of a gauge."""
        cut = self.gauge(name, **labels)
        return None if cut is None else cut.last

    def growth(self, name: str, **labels: str) -> float | None:
        """Returns the last value of a gauge minus its first one."""
        cut = self.gauge(name, **labels)
        return None if cut is None else cut.last - cut.first

    def gauge(self, name: str, **labels: str) -> GaugeCut | None:
        """Returns the values of a gauge."""
        return self._telemetry.gauge(name, **labels)


def total(values: Iterable[float | None]) -> float | None:
    """Returns the sum of the values that are known, or None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def ratio(part: float | None, whole: float | None) -> float | None:
    """Returns a quotient, or None if a value is not known or the divisor is 0."""
    return part / whole if part is not None and whole else None
