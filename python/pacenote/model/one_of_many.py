"""Which values represent many: one out of each so many, drawn by chance."""

from __future__ import annotations

from random import Random


class OneOfMany:
    """Draws the first of some values, and then one out of each `step` that follow one another.

    Every `step`-th value would represent the others badly if they recur: of two queries that take turns, only
    one would be kept. A few values are represented by the first.
    """

    def __init__(self, step: int, seed: str) -> None:
        """`step` is at least 1; the same `seed` draws the same values."""
        self._random = Random(seed)
        self._begin(step)
        self._drawn = 0

    def takes_next(self) -> bool:
        """Returns whether the next value is drawn."""
        is_drawn = self._position == self._drawn
        self._position += 1
        if self._position == self._step:
            self._begin(self._step)
        return is_drawn

    def double(self) -> None:
        """Draws one out of twice as many values from now on."""
        self._begin(2 * self._step)

    def one_of_two(self) -> int:
        """Draws 0 or 1."""
        return self._random.randrange(2)

    def _begin(self, step: int) -> None:
        self._step, self._position = step, 0
        self._drawn = self._random.randrange(step)
