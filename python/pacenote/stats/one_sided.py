"""One-sided bounds of what a configuration has on average, from some of its races.

The race is the unit: the mean of the races varies by as much as they differ from each other. That races agree
does not prove that nothing varies: a time is known as precisely as the histograms are, and an error rate as
the number of its operations allows. 100 operations without a failure do not exclude that 0.4 % of them fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from pacenote.stats.absolute_effect import MAX_DISPERSION, OperationCount, dispersion, total
from pacenote.stats.effect import RESOLUTION
from pacenote.stats.student import t_quantile

CONFIDENCE = 0.95
"""Confidence of a one-sided interval."""

Bounds = tuple[float, float]
"""The bounds of the one-sided intervals to both sides."""


def mean_bounds(values: Sequence[float], *, in_histograms: bool) -> Bounds:
    """Returns the bounds of the mean of at least two values: the geometric mean if all are above 0.

    `in_histograms` is whether the values are those of histograms, which round them.
    """
    error = RESOLUTION / 2 if in_histograms else 0.0
    if min(values) <= 0:
        return _student_bounds(values, error * max(map(abs, values)))
    low, high = _student_bounds([math.log(value) for value in values], error)
    return math.exp(low), math.exp(high)


def error_rate_bounds(races: Sequence[OperationCount]) -> Bounds:
    """Returns the bounds of the mean error rate, from 0 to 1, of at least two races with operations.

    They contain those of the mean of the races, and those of all operations together (Clopper and Pearson).
    If failures come in bursts, or the races differ by more than chance, a number of operations says as much
    as that number / the design effect of independent ones.
    """
    low, high = _student_bounds([race.failed / race.operations for race in races], 0.0)
    whole, effect = total(races), _design_effect(races)
    least, most = _share_bounds(whole.failed / effect, whole.operations / effect)
    return min(low, least), max(high, most)


def _share_bounds(failed: float, operations: float) -> Bounds:
    """Returns the bounds of the share of failures among independent operations, of which a part may count."""
    from scipy.special import betaincinv

    succeeded = operations - failed
    return (
        float(betaincinv(failed, succeeded + 1, 1 - CONFIDENCE)) if failed > 0 else 0.0,
        float(betaincinv(failed + 1, succeeded, CONFIDENCE)) if succeeded > 0 else 1.0,
    )


def _design_effect(races: Sequence[OperationCount]) -> float:
    """Returns how many operations say as much as one independent operation. A few races tell it badly: if
    they differ by more than chance, it is the upper bound of the dispersion.
    """
    from scipy.special import chdtri

    varies = dispersion(races)
    if varies <= MAX_DISPERSION:
        return max(1.0, varies)
    degrees = len(races) - 1
    return varies * degrees / float(chdtri(degrees, CONFIDENCE))


def _student_bounds(values: Sequence[float], smallest_error: float) -> Bounds:
    """Returns the bounds of the mean of values whose standard error is at least `smallest_error`."""
    error = max(stdev(values) / math.sqrt(len(values)), smallest_error)
    half = t_quantile(len(values) - 1, CONFIDENCE) * error
    return fmean(values) - half, fmean(values) + half
