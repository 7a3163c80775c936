"""The interval of a limit that varies from probe to probe, from the outcomes of probes at several rates.

If the logarithm of the limit is normal, a rate passes with the probability Φ((log limit - log rate) /
spread). The interval is the central one of the limit's posterior distribution, with a uniform prior of its
logarithm and of that of the spread.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

CONFIDENCE = 0.98
"""Probability of the interval: the choice of the rates makes a smaller one contain the median too seldom."""

_SPREADS = (0.002, 0.5, 40)
"""Smallest and largest relative spread of the limit, and the number of values between them."""

_LIMITS = 1200
_BEYOND = 4.0
"""By which factor the limit may be outside the rates that were tried."""


def limit_interval(trials: Iterable[tuple[float, bool]]) -> tuple[float, float]:
    """Returns the ends of the interval; each trial has its rate, and whether it passed. There must be one."""
    import numpy as np
    from scipy.special import log_ndtr

    counts = Counter(trials)
    rates = np.log([rate for rate, _ in counts])
    signs = np.array([1.0 if passed else -1.0 for _, passed in counts])
    times = np.array([*counts.values()], dtype=float)
    beyond = math.log(_BEYOND)
    limits = np.linspace(rates.min() - beyond, rates.max() + beyond, _LIMITS)
    spreads = np.geomspace(*_SPREADS)
    deviations = (limits[:, None, None] - rates) / spreads[:, None]
    likelihood = (times * log_ndtr(signs * deviations)).sum(axis=-1)
    weights = np.exp(likelihood - likelihood.max()).sum(axis=1)
    reached = weights.cumsum() / weights.sum()
    tail = (1 - CONFIDENCE) / 2
    low, high = np.searchsorted(reached, (tail, 1 - tail))
    return math.exp(limits[low]), math.exp(limits[min(high, _LIMITS - 1)])
