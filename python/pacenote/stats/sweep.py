"""The best region of one knob: the levels that may be the best, as far as the races show.

A level is left out if any other one is better by more than the noise explains. The truly best level is left
out with a probability of at most 5 %: each of its comparisons may err with a share of it. All levels are
assumed to have the same noise: one that has three times that of the others is left out up to 9 % of the time,
although it is the best. Source: J. C. Hsu,
"Constrained simultaneous confidence intervals for multiple comparisons with the best", The Annals of
Statistics 12, 1984.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pacenote.stats.effect import CONFIDENCE
from pacenote.stats.layout import LevelMeans, Values, level_means


class BestRegion(Struct, frozen=True):
    """The levels of a knob that may be the best."""

    fit: LevelMeans
    """The means of all levels."""

    best: int
    """Number of the level with the best mean, from 0."""

    may_be_best: tuple[bool, ...]
    """Per level, whether it belongs to the region; the best one always does."""


def best_region(
    values: Values,
    positions: Sequence[Sequence[float]] | None = None,
    *,
    higher_is_better: bool,
    confidence: float = CONFIDENCE,
) -> BestRegion | None:
    """Compares the levels of a knob, from values by block and level; None for a race that is missing.

    `positions` has, by block and level, how many races of the experiment came before. Returns None if there
    are fewer than two levels or too few blocks, or if a value is not a number above 0.
    """
    fit = level_means(values, positions)
    if fit is None:
        return None
    sign = 1 if higher_is_better else -1
    levels = range(len(fit.means))
    best = max(levels, key=lambda level: sign * fit.means[level])
    # One-sided tests: half of the probability outside of a two-sided interval.
    comparisons = 1 - 2 * (1 - confidence) / (len(levels) - 1)
    return BestRegion(fit, best, tuple(not beaten for beaten in fit.beaten(comparisons, sign)))
