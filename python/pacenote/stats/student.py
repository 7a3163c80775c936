"""Student's distribution, and the mean change of blocks without the drift of the machine.

A block is one race of the baseline and one of the contender. Its change d is estimated by the least squares
fit of d = change + drift × lag, in which the lag is the number of races by which the contender came after the
baseline (negative: before it). A drift that is the same for every race is thereby removed, whatever its size,
for one degree of freedom. This is the analysis of a cross-over trial with a period effect: M. Hills and
P. Armitage, "The two-period cross-over clinical trial", British Journal of Clinical Pharmacology 8, 1979.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

MIN_BLOCKS = 3
"""Number of blocks from which on there is an interval."""

_LARGE_QUANTILE = 100.0
"""A quantile of Student's distribution from which on the error of the standard error decides the power."""

POWER = 0.8
"""Probability with which an effect of the stated size is seen."""


class StudentEstimate(Struct, frozen=True):
    """An estimate whose error, divided by its standard error, follows Student's distribution."""

    value: float
    """The estimate."""

    standard_error: float
    """Standard deviation of the estimate, itself estimated."""

    degrees: float
    """Degrees of freedom of the standard error."""

    def half_width(self, confidence: float) -> float:
        """Returns half the width of the interval with this confidence, from 0 to 1."""
        return t_quantile(self.degrees, (1 + confidence) / 2) * self.standard_error

    @property
    def p(self) -> float:
        """The two-sided p-value of the hypothesis that the true value is 0."""
        from scipy.special import stdtr

        return min(1.0, 2 * float(stdtr(self.degrees, -abs(self.value) / self.standard_error)))

    def detectable(self, confidence: float, power: float = POWER, *, of_blocks: bool = False) -> float:
        """Returns the smallest true value whose interval would exclude 0 with the probability `power`.

        The standard error of blocks is multiplied by the median correction, so that half of the stated
        values are too small and half too large: uncorrected ones are too small more often, with three degrees
        of freedom in 61 % of the cases. That of two sides needs no correction, as simulations show: what the
        machine did meanwhile is a part of their spread.
        """
        factor = _median_correction(self.degrees) if of_blocks else 1.0
        return detectable_shift(self.degrees, confidence, power) * self.standard_error * factor


@lru_cache(maxsize=1024)
def _median_correction(degrees: float) -> float:
    """Returns the factor by which the median of estimated standard errors is smaller than the true one.

    With d degrees of freedom, the squared estimate is the squared true value, times a value of the
    chi-squared distribution with d degrees, divided by d. The square root does not change the order, so that
    the median of the estimate is the true value times sqrt(m / d), where m is the median of that
    distribution.
    """
    from scipy.special import chdtri

    return math.sqrt(degrees / float(chdtri(degrees, 0.5)))


def t_quantile(degrees: float, share: float) -> float:
    """Returns the quantile of Student's distribution below which this share of it lies."""
    # Importing SciPy takes time, so it is imported only by what needs it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


@lru_cache(maxsize=1024)
def detectable_shift(degrees: float, confidence: float, power: float = POWER) -> float:
    """Returns the smallest true value, in standard errors, whose interval excludes 0 with the probability
    `power`: the non-centrality of Student's distribution. It takes a millisecond, and the metrics of a
    comparison mostly have the same degrees and confidence.
    """
    from scipy.special import chdtri, nctdtrinc

    quantile = t_quantile(degrees, (1 + confidence) / 2)
    if quantile > _LARGE_QUANTILE:
        # The error of the estimate is small beside it, so that only that of the standard error counts; the
        # distribution itself takes seconds or does not converge.
        return quantile * math.sqrt(float(chdtri(degrees, 1 - power)) / degrees)
    return float(nctdtrinc(degrees, 1 - power, quantile))


class BlockMean(Struct, frozen=True):
    """The mean change of blocks."""

    estimate: StudentEstimate
    """The change; a standard error of 0 means that all blocks agree."""

    drift_excluded: bool
    """Whether a drift of the machine that is the same for every race is removed. This needs blocks with
    different lags.
    """


def block_mean(changes: Sequence[float], lags: Sequence[float] | None = None) -> BlockMean | None:
    """Estimates the mean of the changes of at least three blocks, or returns None if there are fewer.

    `lags` has, for every block, the number of races by which the contender came after the baseline. Without
    it, the blocks alternate: baseline first, contender first, and so on.
    """
    count = len(changes)
    lags = lags or [1 - 2 * (block % 2) for block in range(count)]
    if len(lags) != count:
        raise ValueError(f"{count} blocks have {len(lags)} lags")
    if count < MIN_BLOCKS:
        return None
    mean, mean_lag = math.fsum(changes) / count, math.fsum(lags) / count
    spread = math.fsum((lag - mean_lag) ** 2 for lag in lags)
    if spread == 0:
        variance = math.fsum((change - mean) ** 2 for change in changes) / (count - 1)
        return BlockMean(StudentEstimate(mean, math.sqrt(variance / count), count - 1), drift_excluded=False)
    pairs = list(zip(changes, lags, strict=True))
    drift = math.fsum((lag - mean_lag) * change for change, lag in pairs) / spread
    variance = math.fsum((change - mean - drift * (lag - mean_lag)) ** 2 for change, lag in pairs) / (
        count - 2
    )
    error = math.sqrt(variance * (1 / count + mean_lag**2 / spread))
    return BlockMean(StudentEstimate(mean - drift * mean_lag, error, count - 2), drift_excluded=True)
