"""What a number of blocks can see.

The noise is the standard deviation of the logarithm of contender / baseline within a block. If nothing is
shared by the two races of a block, it is the noise of a race times the square root of 2. Powers are those of
Student's test, from its non-central distribution.
"""

from __future__ import annotations

import math

from pacenote.stats.effect import CONFIDENCE, RESOLUTION
from pacenote.stats.student import MIN_BLOCKS, POWER, detectable_shift


def detectable_effect(
    noise: float, blocks: int, confidence: float = CONFIDENCE, power: float = POWER
) -> float | None:
    """Returns the smallest increase, relative to the baseline, that so many blocks see with the probability
    `power`, or None if there are too few blocks.
    """
    if blocks < MIN_BLOCKS:
        return None
    return detectable_contrast(_standard_error(noise, blocks), blocks - 2, confidence, power)


def detectable_contrast(
    standard_error: float, degrees: float, confidence: float = CONFIDENCE, power: float = POWER
) -> float | None:
    """Returns the smallest increase that an effect with this standard error of its logarithm sees with the
    probability `power`, or None without degrees of freedom.
    """
    if degrees < 1:
        return None
    return _increase(detectable_shift(degrees, confidence, power) * max(standard_error, RESOLUTION / 2))


def _standard_error(noise: float, blocks: int) -> float:
    """Returns the standard error of the mean change. Without the drift, an odd number of blocks is not quite
    balanced (`student.block_mean`).
    """
    balanced = blocks - 1 / blocks if blocks % 2 else blocks
    return noise / math.sqrt(balanced)


def _increase(log_ratio: float) -> float:
    return math.expm1(log_ratio) if log_ratio < 700 else math.inf
