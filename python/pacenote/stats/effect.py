"""The effect of a change: the contender's value divided by the baseline's, with its interval.

The race is the unit: every number is the result of one race, such as its mean throughput or its p99. Requests
of one race say nothing about the difference between two races of the same configuration, so that tests over
requests find differences between identical systems in half of all comparisons.

Logarithms are compared, so that swapping the two sides inverts the ratio and changes nothing else. Races in
blocks are compared within each block (`student.block_mean`), others by Welch's test: B. L. Welch, "The
generalization of Student's problem when several different population variances are involved", Biometrika 34,
1947. `benchmarks/comparison_simulations.py` counts how often they are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.stats.student import StudentEstimate, block_mean

CONFIDENCE = 0.95
"""Confidence of an interval, unless a correction for several metrics or looks requires more."""

RESOLUTION = 0.001
"""The relative resolution of a value: that of the histograms, which have three digits."""


class Effect(Struct, frozen=True):
    """The ratio of contender to baseline."""

    log_ratio: float
    """Logarithm of contender / baseline, as estimated."""

    standard_error: float
    """Standard error of the logarithm of the ratio, at least half of `RESOLUTION`."""

    degrees: float
    """Degrees of freedom of the standard error."""

    count: int
    """Number of blocks; if they are not paired, the number of races of the side with fewer."""

    paired: bool
    """Whether races were compared within blocks."""

    drift_excluded: bool
    """Whether a steady drift of the machine cannot have caused the effect. This needs blocks in which either
    side came first.
    """

    confidence: float = CONFIDENCE
    """Confidence of the interval, from 0 to 1."""

    @property
    def ratio(self) -> float:
        """Contender / baseline, as estimated."""
        return _exp(self.log_ratio)

    @property
    def estimate(self) -> StudentEstimate:
        """The logarithm of the ratio."""
        return StudentEstimate(self.log_ratio, self.standard_error, self.degrees)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the interval of the logarithm of the ratio; 0 is no change."""
        half = self.estimate.half_width(self.confidence)
        return self.log_ratio - half, self.log_ratio + half

    @property
    def low(self) -> float:
        """Lower bound of the interval of the ratio."""
        return _exp(self.interval[0])

    @property
    def high(self) -> float:
        """Upper bound of the interval of the ratio; infinite if it is too large for a number."""
        return _exp(self.interval[1])

    @property
    def p(self) -> float:
        """The two-sided p-value of the hypothesis that nothing changed."""
        return self.estimate.p

    @property
    def detectable(self) -> float:
        """The smallest increase, relative to the baseline, that as many races with this noise would have seen
        with a probability of 80 %: 0.02 is 2 %.
        """
        return _exp(self.estimate.detectable(self.confidence, of_blocks=self.paired)) - 1

    def at(self, confidence: float) -> Effect:
        """Returns the same effect with an interval of another confidence, from 0 to 1."""
        return replace(self, confidence=confidence)

    @staticmethod
    def margin(smallest_effect: float) -> float:
        """Returns the logarithm of the ratio that a relative effect is; 0.03 is 3 %."""
        return math.log1p(smallest_effect)


def paired_effect(
    baseline: Sequence[float],
    contender: Sequence[float],
    confidence: float = CONFIDENCE,
    lags: Sequence[float] | None = None,
) -> Effect | None:
    """Compares races in blocks: each block has one value of either side, at the same position of both.

    `lags` has, for every block, the number of races by which the contender came after the baseline: 1 or -1
    with two variants. Without it, the blocks alternate (ABBA). Returns None with fewer than three blocks, or
    if a value is not a number above 0.
    """
    if len(baseline) != len(contender):
        raise ValueError(f"{len(baseline)} races of the baseline cannot be paired with {len(contender)}")
    if not _are_positive(baseline, contender):
        return None
    changes = [log_ratio(new, old) for old, new in zip(baseline, contender, strict=True)]
    mean = block_mean(changes, lags)
    if mean is None:
        return None
    effect = bounded_effect(mean.estimate, len(changes), paired=True, drift_excluded=mean.drift_excluded)
    return effect.at(confidence)


def unpaired_effect(
    baseline: Sequence[float], contender: Sequence[float], confidence: float = CONFIDENCE
) -> Effect | None:
    """Compares two groups of races that were not interleaved, so that a drift of the machine is not excluded.

    Returns None with fewer than two races on a side, or if a value is not a number above 0.
    """
    if min(len(baseline), len(contender)) < 2 or not _are_positive(baseline, contender):
        return None
    old, new = ([math.log(value) for value in side] for side in (baseline, contender))
    count = min(len(old), len(new))
    return bounded_effect(welch(old, new), count, paired=False, drift_excluded=False).at(confidence)


def welch(baseline: Sequence[float], contender: Sequence[float]) -> StudentEstimate:
    """Returns the difference of two means of at least two values, with Welch's degrees of freedom."""
    means = [math.fsum(side) / len(side) for side in (baseline, contender)]
    variances = [
        math.fsum((value - mean) ** 2 for value in side) / (len(side) - 1) / len(side)
        for mean, side in zip(means, (baseline, contender), strict=True)
    ]
    total = sum(variances)
    degrees = float(min(len(baseline), len(contender)) - 1)
    if total > 0:
        shares = [variance / total for variance in variances]
        degrees = 1 / (shares[0] ** 2 / (len(baseline) - 1) + shares[1] ** 2 / (len(contender) - 1))
    return StudentEstimate(means[1] - means[0], math.sqrt(total), degrees)


def bounded_effect(estimate: StudentEstimate, count: int, *, paired: bool, drift_excluded: bool) -> Effect:
    """Returns an effect whose interval is not narrower than the resolution of the values.

    Equal values do not prove that nothing varies: each of them may be wrong by half of the resolution.
    """
    error = max(estimate.standard_error, RESOLUTION / 2)
    return Effect(estimate.value, error, estimate.degrees, count, paired, drift_excluded)


def _are_positive(*sides: Sequence[float]) -> bool:
    return all(0 < value < math.inf for side in sides for value in side)


def log_ratio(new: float, old: float) -> float:
    """Returns the logarithm of the ratio of two values above 0, whose ratio itself may not be a number."""
    return math.log(new) - math.log(old)


def _exp(value: float) -> float:
    """Returns e to the power of a value; infinite instead of an overflow."""
    return math.exp(value) if value < 700 else math.inf
