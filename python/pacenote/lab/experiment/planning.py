"""What an experiment will see, and how many blocks it needs, from the noise of a block; pure."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec.structs import replace

from pacenote.lab.experiment.design import all_variants
from pacenote.model.experiment import Experiment
from pacenote.stats.blocks import detectable_contrast, detectable_effect
from pacenote.stats.sequential import LookPlan
from pacenote.stats.student import MIN_BLOCKS

ERROR_RATE = 0.05
"""Probability with which an experiment says that something has changed although nothing has."""

PRECISE_SHARE = 0.4
"""Significance level of an experiment that ends when its intervals are narrow enough, as a share of that of
an experiment that does not. Such an end is more likely after blocks that happen to vary little, so that
intervals contain the true change less often than they state (`benchmarks/experiment_simulations.py`).
"""

EARLY_SHARE = 0.1
"""Share of the significance level of an experiment without looks that is spent before its end, so that what
it says may be read after every block; the end has the rest.
"""

_FIRST_EARLY, _FIRST_OF_LEVELS = MIN_BLOCKS, 2
"""The first number of blocks that has an interval: of two variants, and of the levels of factors, which
estimate the noise together.
"""

_MOST_EARLY = 20
"""The largest number of looks before the end: if there are more blocks, those between two of them have the
level of the one before.
"""

FEWEST_PLANNED = 5
"""Smallest number of blocks that is planned: that of a first look."""


def error_level(experiment: Experiment, blocks: int, *, is_end: bool = False) -> Callable[[float], float]:
    """Returns the significance level of a comparison after so many blocks, for that of the whole experiment:
    all contenders and all looks together are wrong as seldom as one comparison.

    `is_end` is whether the experiment has ended, or would end, with fewer blocks than planned.
    """
    contenders = 1 if experiment.design == "ladder" else max(1, len(all_variants(experiment)) - 1)
    level = look_level(experiment, blocks, is_end=is_end)
    return lambda alpha: level(alpha / contenders)


def look_level(experiment: Experiment, blocks: int, *, is_end: bool = False) -> Callable[[float], float]:
    """Returns the significance level of what is said after so many blocks, for that of all that is said at
    any time: also of the best region of its levels and of the effects of its factors. Without looks, what is
    read before the end counts as looks after every block.

    `is_end` is as for `error_level`.
    """
    if experiment.looks:
        look = max(0, sum(look <= blocks for look in experiment.looks) - 1)
        return lambda alpha: LookPlan(experiment.looks).level(look, alpha)
    share = 1.0 if experiment.precision is None else PRECISE_SHARE
    early = _early_looks(experiment)
    if not early:
        return lambda alpha: alpha * share
    if is_end or blocks >= experiment.blocks:
        return lambda alpha: alpha * share * (1 - EARLY_SHARE)
    look = max(0, sum(look <= blocks for look in early) - 1)
    return lambda alpha: LookPlan(early).level(look, alpha * share * EARLY_SHARE)


def _early_looks(experiment: Experiment) -> tuple[int, ...]:
    """Returns the numbers of blocks before the end at which an experiment without looks may be read."""
    first = _FIRST_OF_LEVELS if experiment.factors else _FIRST_EARLY
    step = max(1, math.ceil((experiment.blocks - first) / _MOST_EARLY))
    return tuple(range(first, experiment.blocks, step))


def planned_effect(experiment: Experiment, noise: float) -> float | None:
    """Returns the smallest relative effect that the experiment sees at its end with a probability of 80 %: on
    one of its primary metrics against the baseline, of the best of its levels, or of a factor. None if it has
    too few blocks for an interval. `noise` is that of a block.
    """
    blocks, cells = experiment.blocks, len(all_variants(experiment))
    at_end = look_level(experiment, blocks)
    degrees = (blocks - 1) * (cells - 1) - 1
    if experiment.design == "screening":
        error = noise * math.sqrt(2 / (cells * blocks))
        # A single replicate has the noise of its effects.
        degrees_of_effects = (cells - 1) / 3 if blocks == 1 else degrees
        return detectable_contrast(
            error, degrees_of_effects, 1 - at_end(ERROR_RATE / len(experiment.factors))
        )
    if experiment.factors:
        one_sided = at_end(ERROR_RATE) / (cells - 1)
        return detectable_contrast(noise / math.sqrt(blocks), degrees, 1 - 2 * one_sided)
    level = error_level(experiment, blocks)(ERROR_RATE / max(1, len(experiment.primary)))
    return detectable_effect(noise, blocks, 1 - level)


def blocks_to_see(experiment: Experiment, noise: float, effect: float) -> int:
    """Returns the smallest number of blocks with which a pair sees an effect (0.03 is 3 %), at most those
    that the experiment has.
    """
    for blocks in range(min(FEWEST_PLANNED, experiment.blocks), experiment.blocks):
        seen = planned_effect(replace(experiment, blocks=blocks), noise)
        if seen is not None and seen <= effect:
            return blocks
    return experiment.blocks
