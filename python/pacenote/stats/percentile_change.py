"""Percentiles of one race on each side: the change, and how precise the percentiles themselves are.

A percentile is read from the histogram of a race, which is merged from those of all threads. Its interval
lies between two order statistics (`crates/stats/src/quantile.rs`), and covers what other operations of the
same race would have taken, but not how much another race would have differed, which is usually more. So it
never makes a verdict: a change of one race each has no word.
"""

from __future__ import annotations

import math

from msgspec import Struct

from pacenote.stats.effect import RESOLUTION, log_ratio

_MAX_LOG = 700.0
"""A larger logarithm is that of no number."""


class BoundedPercentile(Struct, frozen=True):
    """A percentile with its 95 % interval."""

    value: float
    """The percentile."""

    low: float | None
    """Lower bound, or None if there are too few values."""

    high: float | None
    """Upper bound, or None if there are too few values."""


class PercentileChange(Struct, frozen=True):
    """The ratio of a percentile of two races."""

    ratio: float
    """Contender / baseline."""

    low: float | None
    """Lower bound of the 95 % interval, without the differences between races; None if there is none."""

    high: float | None
    """Upper bound of the 95 % interval, without the differences between races; None if there is none."""


def percentile_change(baseline: BoundedPercentile, contender: BoundedPercentile) -> PercentileChange | None:
    """Returns the ratio of two percentiles, with an interval from both, or None if one is not above 0. It is
    not narrower than the resolution of the histograms.

    Source: G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general
    approach", Statistics in Medicine 27, 2008.
    """
    if not (0 < baseline.value < math.inf and 0 < contender.value < math.inf):
        return None
    change = log_ratio(contender.value, baseline.value)
    down = _combined(contender.value, contender.low, baseline.high, baseline.value)
    up = _combined(contender.high, contender.value, baseline.value, baseline.low)
    return PercentileChange(
        contender.value / baseline.value,
        None if down is None else math.exp(change - down),
        None if up is None else math.exp(min(change + up, _MAX_LOG)),
    )


def _combined(
    one_above: float | None, one_below: float | None, other_above: float | None, other_below: float | None
) -> float | None:
    """Returns the distance of a bound of the difference of two logarithms."""
    if not (one_above and one_below and other_above and other_below):
        return None
    distance = math.hypot(log_ratio(one_above, one_below), log_ratio(other_above, other_below))
    return max(distance, RESOLUTION)
