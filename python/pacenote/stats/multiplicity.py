"""Several metrics: how much confidence the interval of each needs, so that all of them together seldom err.

Of sixty metrics without any change, three have a 95 % interval that excludes 0. Instead of correcting
p-values beside uncorrected intervals, the functions return the confidence of the interval of every metric.
Its word follows from that interval alone (`words.word_of`), and the interval excludes 0 exactly if the
correction rejects "no change".

- Primary metrics: with Holm's correction, the probability that any of them is said to have changed, although
  it has not, is at most 1 - confidence. Source: S. Holm, "A simple sequentially rejective multiple test
  procedure", Scandinavian Journal of Statistics 6, 1979.
- Secondary metrics: with that of Benjamini and Hochberg, at most this share of those that are said to have
  changed have not, on average. Sources: Y. Benjamini and Y. Hochberg, "Controlling the false discovery
  rate", Journal of the Royal Statistical Society B 57, 1995; for the intervals, Y. Benjamini and D.
  Yekutieli, "False discovery rate-adjusted multiple confidence intervals", Journal of the American
  Statistical Association 100, 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pacenote.stats.effect import CONFIDENCE


def holm_confidences(
    p_values: Sequence[float],
    confidence: float = CONFIDENCE,
    level: Callable[[float], float] = float,
) -> tuple[float, ...]:
    """Returns the confidence of the interval of each primary metric, from its p-value of "no change".

    The smallest of m p-values is compared with (1 - confidence) / m, the next with
    (1 - confidence) / (m - 1), and so on; all from the first that is not below its level have the confidence
    of that one.

    At one of several looks, `level` returns the significance level of the look for that of all looks
    (`LookPlan.level`).
    """
    confidences = [confidence] * len(p_values)
    used, rejecting = 0.0, True
    for rank, index in enumerate(_ascending(p_values)):
        if rejecting:
            used = level((1 - confidence) / (len(p_values) - rank))
            rejecting = p_values[index] < used
        confidences[index] = 1 - used
    return tuple(confidences)


def benjamini_hochberg_confidences(
    p_values: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, ...]:
    """Returns the confidence of the interval of each secondary metric, from its p-value of "no change".

    With m metrics of which r are said to have changed, it is 1 - (1 - confidence) × r / m for these, and that
    of r + 1 for the others.
    """
    count = len(p_values)
    confidences = [confidence] * count
    order = _ascending(p_values)
    share = (1 - confidence) / count if count else 0.0
    rejected = max((rank for rank, index in enumerate(order, 1) if p_values[index] < share * rank), default=0)
    for rank, index in enumerate(order, 1):
        confidences[index] = 1 - share * (rejected if rank <= rejected else rejected + 1)
    return tuple(confidences)


def _ascending(p_values: Sequence[float]) -> list[int]:
    """Returns the indices of the values in ascending order."""
    return sorted(range(len(p_values)), key=p_values.__getitem__)
