"""Changes of values that may be 0 or negative, such as error rates: contender minus baseline.

The methods are those of `effect`, without logarithms. An error rate that is 0 in every race is not certainly
0: the standard error of a difference is at least that of the counted operations, with one failure and one
success added to each side. Source: A. Agresti and B. Caffo, "Simple and effective confidence intervals for
proportions and differences of proportions result from adding two successes and two failures", The American
Statistician 54, 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.stats.effect import CONFIDENCE, welch
from pacenote.stats.student import StudentEstimate, block_mean

MAX_DISPERSION = 1.5
"""The `dispersion` above which an interval does not show that error rates are the same: failures come in
bursts, or the races differ, and a few races without many of them make it too narrow. Of independent failures,
18 % of comparisons with three races of each side are above it, and 7 % with ten
(`benchmarks/error_rate_simulations.py`).
"""

_ROUNDING = 1e-12
"""A standard error below this is that of the arithmetic: the mean of equal values may differ from them."""


class AbsoluteEffect(Struct, frozen=True):
    """The difference between contender and baseline, in the unit of the values."""

    difference: float
    """Contender - baseline, as estimated."""

    standard_error: float
    """Standard error of the difference; above 0."""

    degrees: float
    """Degrees of freedom of the standard error."""

    count: int
    """Number of blocks; if they are not paired, the number of races of the side with fewer."""

    paired: bool
    """Whether races were compared within blocks."""

    drift_excluded: bool
    """Whether a steady drift of the machine cannot have caused the difference."""

    confidence: float = CONFIDENCE
    """Confidence of the interval, from 0 to 1."""

    @property
    def estimate(self) -> StudentEstimate:
        """The difference as an estimate."""
        return StudentEstimate(self.difference, self.standard_error, self.degrees)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the interval of the difference."""
        half = self.estimate.half_width(self.confidence)
        return self.difference - half, self.difference + half

    @property
    def low(self) -> float:
        """Lower bound of the interval of the difference."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Upper bound of the interval of the difference."""
        return self.interval[1]

    @property
    def p(self) -> float:
        """The two-sided p-value of the hypothesis that nothing changed."""
        return self.estimate.p

    @property
    def detectable(self) -> float:
        """The smallest difference that as many races with this noise would have seen with a probability of
        80 %.
        """
        return self.estimate.detectable(self.confidence, of_blocks=self.paired)

    def at(self, confidence: float) -> AbsoluteEffect:
        """Returns the same difference with an interval of another confidence, from 0 to 1."""
        return replace(self, confidence=confidence)

    @staticmethod
    def margin(smallest_effect: float) -> float:
        """Returns the effect itself: it is in the unit of the values."""
        return smallest_effect


def paired_difference(
    baseline: Sequence[float],
    contender: Sequence[float],
    smallest_error: float = 0.0,
    lags: Sequence[float] | None = None,
) -> AbsoluteEffect | None:
    """Compares races in blocks, like `effect.paired_effect`.

    `smallest_error` is a lower limit of the standard error, such as `counting_error`. Returns None with fewer
    than three blocks, if a value is not finite, or if the blocks agree exactly and there is no such limit.
    """
    if len(baseline) != len(contender):
        raise ValueError(f"{len(baseline)} races of the baseline cannot be paired with {len(contender)}")
    if not _are_finite(baseline, contender):
        return None
    mean = block_mean([new - old for old, new in zip(baseline, contender, strict=True)], lags)
    if mean is None:
        return None
    effect = _effect(mean.estimate, len(baseline), smallest_error)
    return effect and replace(effect, paired=True, drift_excluded=mean.drift_excluded)


def unpaired_difference(
    baseline: Sequence[float], contender: Sequence[float], smallest_error: float = 0.0
) -> AbsoluteEffect | None:
    """Compares two groups of races that were not interleaved, like `effect.unpaired_effect`.

    Returns None with fewer than two races on a side, if a value is not finite, or if all values of each side
    are equal and there is no `smallest_error`.
    """
    count = min(len(baseline), len(contender))
    if count < 2 or not _are_finite(baseline, contender):
        return None
    return _effect(welch(baseline, contender), count, smallest_error)


class OperationCount(Struct, frozen=True):
    """How many operations of the races of one side failed."""

    failed: int
    """Number of operations that failed."""

    operations: int
    """Number of all operations."""

    @property
    def variance(self) -> float:
        """Variance of the error rate, with one failure and one success added."""
        rate = (self.failed + 1) / (self.operations + 2)
        return rate * (1 - rate) / (self.operations + 2)


def total(races: Sequence[OperationCount]) -> OperationCount:
    """Returns the operations of several races."""
    return OperationCount(sum(race.failed for race in races), sum(race.operations for race in races))


def dispersion(*sides: Sequence[OperationCount]) -> float:
    """Returns how many times more the failures of the races of each side vary than independent ones: the
    chi-squared statistic of equal error rates, divided by its degrees of freedom. 0 if a side with failures
    has fewer than two races. Source: R. A. Fisher, "Statistical Methods for Research Workers", 1925,
    section 16.
    """
    statistic, degrees = 0.0, 0
    for races in sides:
        rate = total(races).failed / total(races).operations
        if not 0 < rate < 1:
            continue
        degrees += len(races) - 1
        for race in races:
            expected = race.operations * rate
            statistic += (race.failed - expected) ** 2 / (expected * (1 - rate))
    return statistic / degrees if degrees else 0.0


def counting_error(baseline: OperationCount, contender: OperationCount) -> float:
    """Returns the standard error of the difference of two error rates, from 0 to 1, that counting so many
    operations has, even if races do not differ.
    """
    return math.sqrt(baseline.variance + contender.variance)


def _effect(estimate: StudentEstimate, count: int, smallest_error: float) -> AbsoluteEffect | None:
    error = max(estimate.standard_error, smallest_error)
    if error < _ROUNDING:
        return None
    return AbsoluteEffect(estimate.value, error, estimate.degrees, count, paired=False, drift_excluded=False)


def _are_finite(*sides: Sequence[float]) -> bool:
    return all(math.isfinite(value) for side in sides for value in side)
