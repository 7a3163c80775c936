"""Several levels in blocks: the mean of each level without the differences between blocks and the drift.

A block has one race of each level; races that failed may be missing. The logarithm of a value is fitted as
block + level + drift × position, in which the position is the number of races before it. With two levels,
this is `student.block_mean`. All races are assumed to have the same noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pacenote.stats.effect import RESOLUTION, Effect, bounded_effect
from pacenote.stats.student import StudentEstimate, t_quantile

if TYPE_CHECKING:
    import numpy as np

Values = Sequence[Sequence[float | None]]
"""Values by block and level; None for a race that is missing."""


class LevelMeans(Struct, frozen=True):
    """The means of the levels."""

    means: tuple[float, ...]
    """Logarithms of the means, per level."""

    covariance: tuple[tuple[float, ...], ...]
    """Covariances of the differences to the first level."""

    degrees: int
    """Degrees of freedom of the covariances."""

    blocks: int
    """Number of blocks."""

    drift_excluded: bool
    """Whether a steady drift of the machine is removed."""

    def contrast(self, weights: Sequence[float]) -> Effect:
        """Returns the effect that is a weighted sum of the means, whose weights add up to 0."""
        import numpy as np

        weight_array = np.array(weights, dtype=float)
        value = math.fsum(weight_array * self.means)
        variance = float(weight_array @ np.array(self.covariance) @ weight_array)
        estimate = StudentEstimate(value, math.sqrt(max(0.0, variance)), self.degrees)
        return bounded_effect(estimate, self.blocks, paired=True, drift_excluded=self.drift_excluded)

    def ratio(self, level: int, to: int) -> Effect:
        """Returns the effect of a level compared with another."""
        return self.contrast([(index == level) - (index == to) for index in range(len(self.means))])

    def beaten(self, confidence: float, sign: int) -> tuple[bool, ...]:
        """Returns for each level whether the interval of its difference to any other one shows that the other
        one is higher (`sign` 1) or lower (-1).
        """
        import numpy as np

        means, covariance = sign * np.array(self.means), np.array(self.covariance)
        variances = np.diag(covariance)
        errors = np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))
        halves = t_quantile(self.degrees, (1 + confidence) / 2) * np.maximum(errors, RESOLUTION / 2)
        return tuple(map(bool, (means - means[:, None] > halves).any(axis=1)))


def level_means(values: Values, positions: Sequence[Sequence[float]] | None = None) -> LevelMeans | None:
    """Fits the means of the levels to values by block and level, of which each level needs at least one.

    `positions` has, by block and level, how many races of the experiment came before. Without it, a drift is
    not removed. Returns None if there are too few blocks, or if a value is not a number above 0.
    """
    levels = len(values[0]) if values else 0
    if any(len(block) != levels for block in (*values, *(positions or ()))):
        raise ValueError("all blocks must have the same levels")
    if levels < 2 or not all(value is None or 0 < value < math.inf for block in values for value in block):
        return None
    fit = None if positions is None else _fit(values, positions)
    return fit or _fit(values, None)


class _Block(Struct, frozen=True):
    """The races of one block."""

    levels: Any
    """Their levels."""

    columns: Any
    """One row per race: its position (if it counts), and the logarithm of its value."""


def _fit(values: Values, positions: Sequence[Sequence[float]] | None) -> LevelMeans | None:
    """Solves the normal equations of the levels and the drift, from which the blocks are eliminated.

    Returns None if they have no solution, or if no degree of freedom is left.
    """
    import numpy as np

    count = len(values[0])
    blocks = _blocks(values, positions)
    size = count + (positions is not None)
    normal, right = np.zeros((size, size)), np.zeros(size)
    squares, races = 0.0, 0
    for block in blocks:
        rows = np.zeros((len(block.levels), size + 1))
        rows[np.arange(len(block.levels)), block.levels] = 1.0
        rows[:, count:] = block.columns
        rows -= rows.mean(axis=0)
        normal += rows[:, :size].T @ rows[:, :size]
        right += rows[:, :size].T @ rows[:, size]
        squares += float(rows[:, size] @ rows[:, size])
        races += len(block.levels)
    # The first level is 0: the others are fitted as differences to it.
    degrees = races - len(blocks) - (size - 1)
    if degrees < 1 or np.linalg.matrix_rank(normal[1:, 1:], hermitian=True) < size - 1:
        return None
    inverse = np.linalg.inv(normal[1:, 1:])
    solution = np.concatenate(([0.0], inverse @ right[1:]))
    variance = max(0.0, squares - float(solution @ right)) / degrees
    spread = np.zeros((count, count))
    spread[1:, 1:] = inverse[: count - 1, : count - 1] * variance
    means = solution[:count] + _typical(blocks, solution, count)
    covariance = tuple(tuple(map(float, row)) for row in spread)
    return LevelMeans(tuple(map(float, means)), covariance, degrees, len(blocks), positions is not None)


def _blocks(values: Values, positions: Sequence[Sequence[float]] | None) -> list[_Block]:
    import numpy as np

    blocks = []
    middle = 0.0
    if positions is not None:
        middle = math.fsum(map(math.fsum, positions)) / (len(values) * len(values[0]))
    for number, block in enumerate(values):
        known = [level for level, value in enumerate(block) if value is not None]
        logs = [math.log(value) for value in block if value is not None]
        columns = [logs] if positions is None else [[positions[number][at] - middle for at in known], logs]
        if known:
            blocks.append(_Block(np.array(known), np.array(columns).T))
    return blocks


def _typical(blocks: Sequence[_Block], solution: np.ndarray, count: int) -> float:
    """Returns the mean of the blocks for the first level, in the middle of the experiment."""
    rests = [
        block.columns[:, -1] - solution[block.levels] - block.columns[:, :-1] @ solution[count:]
        for block in blocks
    ]
    return math.fsum(float(rest.mean()) for rest in rests) / len(rests)
