"""The interval of the mean of values that follow one another, and may depend on their predecessors."""

from __future__ import annotations

import math

from pacenote.model.result import LEAST_EQUAL_VALUES, LEAST_VALUES

_MAX_BATCHES = 64
"""Number of batches at which neighbours are joined: an even number, so that the memory is bounded."""

_Z = 1.959963984540054
"""The quantile of the normal distribution below which 97.5 % of it lie."""


class BatchMeans:
    """Running mean of values with its 95 % interval, from the means of batches of consecutive values.

    Values of neighbours may resemble each other, as if pauses hit several requests in a row. The means of
    long batches hardly do, so that their spread shows how precise the mean is. Fewer than 64 values are
    batches of their own, and count as independent. Source: A. M. Law, "Simulation
    Modeling and Analysis", 2014, section 9.5.3 (method of batch means).
    """

    def __init__(self) -> None:
        self._sums: list[float] = []
        self._size = 1
        self._sum = 0.0
        self._count = 0

    def add(self, value: float) -> None:
        """Adds the next value."""
        self._sum += value
        self._count += 1
        if self._count < self._size:
            return
        self._sums.append(self._sum)
        self._sum, self._count = 0.0, 0
        if len(self._sums) == _MAX_BATCHES:
            pairs = zip(self._sums[::2], self._sums[1::2], strict=True)
            self._sums = [first + second for first, second in pairs]
            self._size *= 2

    def half_width(self) -> float | None:
        """Returns half the width of the 95 % interval of the mean; None with too few values, more of which
        are needed if all are equal, or if they are too large.
        """
        count = len(self._sums)
        if count < LEAST_VALUES:
            return None
        means = [batch_sum / self._size for batch_sum in self._sums]
        mean = sum(means) / count
        variance = sum((batch_mean - mean) * (batch_mean - mean) for batch_mean in means) / (count - 1)
        # The squares of the largest numbers that a runner may return are infinite.
        if not math.isfinite(variance):
            return None
        # A few equal values do not show that others would be equal, too.
        if min(means) == max(means) and count * self._size < LEAST_EQUAL_VALUES:
            return None
        return _student_975(count - 1) * math.sqrt(variance / count)


def _student_975(degrees: int) -> float:
    """Returns the quantile of Student's distribution below which 97.5 % of it lie, within 0.002 for at least
    seven degrees of freedom. It is needed within a race, in which SciPy would take too long to import.

    Source: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964, formula 26.7.5.
    """
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    third = (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / 384
    return _Z + first / degrees + second / degrees**2 + third / degrees**3
