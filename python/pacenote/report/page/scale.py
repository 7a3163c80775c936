"""Axes of drawings: where a value is, and which values are labelled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from pacenote.report.page.drawing import Tick

_TICKS = 5
_LEAST = 1e-75
"""A narrower range is one value, and a smaller number is at the end of a logarithmic scale: what is computed
with them may be 0.
"""
_STEPS = (1.0, 2.0, 5.0, 10.0)
_FACTORS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0))


class Scale(Struct, frozen=True):
    """Maps values to shares of the width or the height of a drawing."""

    low: float
    """The value at 0."""

    high: float
    """The value at 1, not below `low`."""

    is_logarithmic: bool = False
    """Whether equal factors are equally wide; both ends are then above 0."""

    def at(self, value: float) -> float:
        """Returns the share at which a value is; at the end for one beyond it; 0 on a scale of one value."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            value, low, high = (math.log(max(each, self.low)) for each in (value, low, high))
        return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.0

    def has(self, value: float) -> bool:
        """Returns whether a value is within the scale."""
        return self.low <= value <= self.high

    def steps(self, most: int = _TICKS) -> list[float]:
        """Returns at most so many round values on the scale, and at least one."""
        return self._powers(most) if self.is_logarithmic else self._multiples(most)

    def ticks(self, label: Callable[[float], str], strong: float | None = None) -> tuple[Tick, ...]:
        """Returns labelled positions; the value `strong` stands out."""
        return tuple(Tick(self.at(value), label(value), value == strong) for value in self.steps())

    def _multiples(self, most: int) -> list[float]:
        rough = (self.high - self.low) / most
        if rough < _LEAST:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in _STEPS if factor * power >= rough * (1 - 1e-9))
        numbers = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [float(f"{number * step:.12g}") for number in numbers]

    def _powers(self, most: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in reversed(_FACTORS):
            values = [
                value for power in powers for factor in factors if self.has(value := factor * 10.0**power)
            ]
            if 0 < len(values) <= most:
                return values
        return self._multiples(most)


def scale_of(values: Iterable[float], *, padding: float = 0.05, is_logarithmic: bool = False) -> Scale:
    """Returns a scale with all finite values, and a margin as a share of its width on both sides."""
    finite: Sequence[float] = [value for value in values if math.isfinite(value)]
    if is_logarithmic:
        finite = [value for value in finite if value > 0] or [1.0]
        low, high = (math.log(min(max(value, _LEAST), 1 / _LEAST)) for value in (min(finite), max(finite)))
        margin = max((high - low) * padding, 0.05)
        return Scale(math.exp(low - margin), math.exp(high + margin), is_logarithmic=True)
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    width = next((width for width in (high - low, abs(high) * 0.02) if width >= _LEAST), 1.0)
    return Scale(low - width * padding, high + width * padding)
