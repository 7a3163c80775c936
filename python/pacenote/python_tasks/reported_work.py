"""Throughput from the times that the engine or a runner reports for the work of operations."""

from __future__ import annotations

from array import array

from msgspec.structs import replace

from pacenote.model.one_of_many import OneOfMany
from pacenote.model.result import Steadiness, TaskResult, Throughput

_MAX_RATES = 65_536
"""Number of rates that are kept for the median."""


class ReportedWork:
    """The work of a task's measured operations, and the times that were reported for it."""

    def __init__(self) -> None:
        self._complete = True
        self._weight = 0
        self._seconds = 0.0
        self._min = self._max = 0.0
        self._rates = array("d")
        self._drawn = OneOfMany(1, "reported work")

    def add(self, weight: int, seconds: float | None) -> None:
        """Adds the work of one operation and its time, which is None if it was not reported."""
        if seconds is None:
            self._complete = False
            return
        self._weight += weight
        self._seconds += seconds
        if seconds > 0:
            self._add_rate(weight / seconds)

    def replace_throughput(self, result: TaskResult) -> TaskResult:
        """Returns a result whose throughput is the work divided by the reported time.

        Returns it unchanged if the time of an operation is unknown. There is no throughput if the time is 0.
        """
        if not self._complete:
            return result
        # The seconds in which operations ended say nothing about when the work was done.
        steady = Steadiness() if result.steady.by == "throughput" else result.steady
        return replace(result, throughput=self._throughput(), reported_s=self._seconds, steady=steady)

    def _throughput(self) -> Throughput | None:
        if self._seconds <= 0:
            return None
        ordered = sorted(self._rates)
        median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        return Throughput(self._min, self._weight / self._seconds, median, self._max)

    def _add_rate(self, rate: float) -> None:
        self._min = min(self._min, rate) if self._rates else rate
        self._max = max(self._max, rate) if self._rates else rate
        if self._drawn.takes_next():
            self._rates.append(rate)
        if len(self._rates) >= _MAX_RATES:
            # From now on, half as many rates represent all of them.
            pairs = range(0, len(self._rates) - 1, 2)
            self._rates = array("d", [self._rates[at + self._drawn.one_of_two()] for at in pairs])
            self._drawn.double()
