"""Looking at an experiment before it has ended, without more false alarms.

Testing after each block until something is "significant" finds a difference between identical systems in
every fifth experiment. Here, the numbers of blocks at which an experiment is looked at are planned, and each
look spends a part of the probability of a false alarm, alpha: after a share t of the blocks,
4 - 4 Phi(z / sqrt(t)) has been spent, with Phi(z) = 1 - alpha / 4. This is the function of Lan and DeMets
that resembles the boundaries of O'Brien and Fleming: an early look needs overwhelming evidence, and the last
one is nearly as precise as if it had been the only one.

All intervals of an experiment contain the true change at the same time with the stated confidence, so that it
may be stopped for any reason: because of a clear loss, because the interval is narrow enough, or because the
night is over. Sources: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials",
Biometrika 70, 1983; C. Jennison and B. W. Turnbull, "Group Sequential Methods", Chapman & Hall 2000, chapters
7, 9 and 19. That the blocks have an estimated noise is accounted for by using the levels with Student's
distribution (their section 4.4).
"""

from __future__ import annotations

import itertools
import math
from functools import cache

from msgspec import Struct

from pacenote.stats.effect import CONFIDENCE

_NODES = 160
"""Number of points at which the density of the blocks so far is known."""

_BISECTIONS = 60
"""Number of times that the range of a boundary is halved."""

_FARTHEST = 7.0
"""The farthest boundary in standard errors. Beyond, 1 minus the level would lose its digits."""


class LookPlan(Struct, frozen=True):
    """The numbers of blocks at which an experiment is looked at; the last is the planned end.

    A look that was not planned, because an experiment has to end early, is one more number of blocks: the
    levels of the looks before it remain the same.
    """

    blocks: tuple[int, ...] = (5, 10)
    """Numbers of blocks, in ascending order."""

    def __post_init__(self) -> None:
        """Rejects numbers of blocks that are not ascending."""
        ascending = all(earlier < later for earlier, later in itertools.pairwise((0, *self.blocks)))
        if not self.blocks or not ascending:
            raise ValueError(f"the looks must be ascending numbers of blocks, not {self.blocks}")

    def level(self, look: int, alpha: float = 1 - CONFIDENCE) -> float:
        """Returns the significance level of a look, counted from 0, if all looks together have `alpha`."""
        return _levels(tuple(count / self.blocks[-1] for count in self.blocks), alpha)[look]

    def confidence(self, look: int, confidence: float = CONFIDENCE) -> float:
        """Returns the confidence of the interval at a look, counted from 0, if all intervals are to contain
        the true change at the same time with this confidence.
        """
        return 1 - self.level(look, 1 - confidence)


@cache
def _levels(fractions: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """Returns the two-sided level of each look, from the share of the blocks at it.

    The sum of the blocks so far is a Brownian motion at these times. Its density, as far as no boundary has
    been crossed, is carried from look to look by numerical integration; each boundary is where the
    probability of crossing it first equals what the look may spend.
    """
    import numpy as np
    from scipy.special import ndtr

    roots, weights = np.polynomial.legendre.leggauss(_NODES)
    levels, spent, before = [], 0.0, 0.0
    points, density = np.zeros(1), np.ones(1)
    for time in fractions:
        step, spend = math.sqrt(time - before), _spent(time, alpha) - spent
        low, high = 0.0, _FARTHEST
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            bound = middle * math.sqrt(time)
            crossing = density @ (ndtr((points - bound) / step) + ndtr((-points - bound) / step))
            low, high = (middle, high) if crossing > spend else (low, middle)
        levels.append(2 * float(ndtr(-high)))
        bound = high * math.sqrt(time)
        inside = roots * bound
        steps = (inside[:, None] - points) / step
        density = weights * bound * (np.exp(-(steps**2) / 2) @ density) / (step * math.sqrt(2 * math.pi))
        points, spent, before = inside, spent + spend, time
    return tuple(levels)


def _spent(time: float, alpha: float) -> float:
    """Returns the probability of a false alarm that has been spent after a share of the blocks."""
    from scipy.special import ndtr, ndtri

    return 4 * float(ndtr(float(ndtri(alpha / 4)) / math.sqrt(time)))
