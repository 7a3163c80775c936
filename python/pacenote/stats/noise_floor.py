"""The noise floor: how much races of one configuration differ.

What counts for blocks is not the noise of a race, but that of the difference between a race and the next: it
contains neither a drift nor what consecutive races have in common. Its interval uses the degrees of freedom
of the mean square successive difference: J. von Neumann et al., "The mean square successive difference", The
Annals of Mathematical Statistics 12, 1941. Their mean square of m differences has the mean 2 σ² and the
variance (8 m + 4 p) σ⁴ / m², where p pairs of differences have a race in common.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from msgspec import Struct

from pacenote.model.experiment_result import ENOUGH_RACES
from pacenote.stats.effect import CONFIDENCE

MIN_RACES = 3
"""The smallest number of races with a noise floor."""


def noise_to_plan_with(races: int, estimate: float, high: float) -> float:
    """Returns the noise with which blocks are planned: the estimate or, from few races, which can be far too
    low by chance, the upper bound of its interval.
    """
    return estimate if races >= ENOUGH_RACES else high


class Spread(Struct, frozen=True):
    """A standard deviation with its interval."""

    deviation: float
    """Standard deviation of the logarithm: about 0.01 for 1 %."""

    low: float
    """Lower bound of its 95 % interval."""

    high: float
    """Upper bound of its 95 % interval."""


class NoiseFloor(Struct, frozen=True):
    """How much races of one configuration differ."""

    races: int
    """Number of races with a value."""

    race: Spread
    """Of a race."""

    block: Spread
    """Of the difference between a race and the next: the noise of a block."""


def noise_floor(values: Sequence[float | None]) -> NoiseFloor | None:
    """Returns the noise floor of races, in the order in which they were raced; None is a race that does not
    count, beside which no difference is taken.

    Returns None with fewer than three races or two differences, or if a value is not a number above 0.
    """
    known = [value for value in values if value is not None]
    if len(known) < MIN_RACES or not all(0 < value < math.inf for value in known):
        return None
    logs = [None if value is None else math.log(value) for value in values]
    pairs = itertools.pairwise(logs)
    steps = [None if old is None or new is None else new - old for old, new in pairs]
    differences = [step for step in steps if step is not None]
    if len(differences) < MIN_RACES - 1:
        return None
    adjacent = sum(None not in pair for pair in itertools.pairwise(steps))
    successive = 2 * len(differences) ** 2 / (2 * len(differences) + adjacent)
    race = _spread([log for log in logs if log is not None], len(known) - 1)
    return NoiseFloor(len(known), race, _spread(differences, successive))


def _spread(values: Sequence[float], degrees: float) -> Spread:
    """Returns the standard deviation of values with the interval of so many degrees of freedom."""
    from scipy.special import chdtri

    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    tail = (1 - CONFIDENCE) / 2
    low, high = (math.sqrt(degrees / float(chdtri(degrees, share))) for share in (tail, 1 - tail))
    return Spread(deviation, low * deviation, high * deviation)
