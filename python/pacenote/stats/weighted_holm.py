"""Several primary metrics: how much confidence the interval of each needs, so that all of them together
seldom say that something has changed although it has not.

With Holm's correction, twenty metrics of five blocks need intervals of 99.75 %, which three degrees of
freedom make so wide that a task which became 10 % slower is overlooked in two of three comparisons. In its
weighted form, the metrics do not share the probability of an error equally: one gets the more of it the more
its races differ, compared with what matters, by the sum of the squares of its change and of its noise.
Without a change, this sum says nothing about Student's ratio of the two, so that the probability that any
metric is said to have changed, although it has not, is at most 1 - confidence, whatever the noise of the
metrics is and however they depend on each other. With a change, the sum is large, and the metric gets most of
the probability. A part of it is shared equally (`EQUAL_SHARE`), because a metric with much noise has a large
sum, too.

Sources: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 1979; S. Kropf and J. Läuter, "Multiple tests for different sets of variables using a
data-driven ordering of hypotheses", Biometrical Journal 44, 2002; P. H. Westfall, S. Kropf and L. Finos,
"Weighted FWE-controlling methods in high-dimensional situations", IMS Lecture Notes 47, 2004.
`benchmarks/family_simulations.py` counts how often it is right, beside other corrections.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from pacenote.stats.effect import CONFIDENCE
from pacenote.stats.student import POWER, StudentEstimate, t_quantile

EQUAL_SHARE = 0.5
"""Share of the probability of an error that the metrics have equally; the weights distribute the rest."""

_EXPONENT = 2
"""The power of the sum of squares that is the weight of a metric."""

_STEPS = 20
"""A share is rounded down to one of so many steps for each factor of e, so that looks compute their
boundaries for few levels.
"""

_BISECTIONS = 12
"""Number of times that the range of a detectable change is halved."""


class FamilyConfidence(Struct, frozen=True):
    """The confidences that one of several metrics needs, from 0 to 1."""

    interval: float
    """That of its interval, which excludes 0 exactly if the metric is said to have changed."""

    power: float
    """That with which the smallest change would have been seen that is seen with a probability of 80 %: such
    a change has a larger weight than the one that was measured.
    """


def weighted_holm_confidences(
    estimates: Sequence[StudentEstimate],
    confidence: float = CONFIDENCE,
    level: Callable[[float], float] = float,
    *,
    with_power: bool = True,
) -> tuple[FamilyConfidence, ...]:
    """Returns the confidences of primary metrics, whose changes are given in units of what matters.

    Of the metrics that are not said to have changed so far, each has its share of 1 - confidence. Those whose
    p-value is below it are taken out, until there is none: that is the sequentially rejective form of the
    closed test. Without `with_power`, which takes most of the time, the powers are those of the intervals. At
    one of several looks, `level` returns the significance level of the look for that of all looks.
    """
    confidences: dict[int, FamilyConfidence] = {}
    left = _Metrics.of(dict(enumerate(estimates)), 1 - confidence, level)
    while left.estimates:
        levels = {index: left.level_of(index) for index in left.estimates}
        changed = {index for index, estimate in left.estimates.items() if estimate.p < levels[index]}
        for index in changed or left.estimates:
            power = left.power_confidence(index) if with_power else 1 - levels[index]
            confidences[index] = FamilyConfidence(1 - levels[index], power)
        left = left.without(changed or left.estimates)
    return tuple(confidences[index] for index in range(len(estimates)))


class _Metrics(Struct, frozen=True):
    """The metrics that are not said to have changed so far."""

    estimates: Mapping[int, StudentEstimate]
    weights: Mapping[int, float]
    total: float
    alpha: float
    level: Callable[[float], float]

    @classmethod
    def of(
        cls, estimates: Mapping[int, StudentEstimate], alpha: float, level: Callable[[float], float]
    ) -> _Metrics:
        weights = {index: _weight(estimate, estimate.value) for index, estimate in estimates.items()}
        return cls(estimates, weights, math.fsum(weights.values()), alpha, level)

    def without(self, indices: Collection[int]) -> _Metrics:
        left = {index: estimate for index, estimate in self.estimates.items() if index not in indices}
        return _Metrics.of(left, self.alpha, self.level)

    def level_of(self, index: int, change: float | None = None) -> float:
        """Returns the significance level of a metric, or what it would be with another change."""
        weight = self.weights[index] if change is None else _weight(self.estimates[index], change)
        others = max(0.0, self.total - self.weights[index])
        share = EQUAL_SHARE / len(self.estimates) + (1 - EQUAL_SHARE) * weight / (weight + others)
        return self.level(self.alpha * math.exp(math.floor(math.log(share) * _STEPS) / _STEPS))

    def power_confidence(self, index: int) -> float:
        """Returns the confidence of the smallest change that would have been seen: the larger a change is,
        the smaller is the one that is seen beside the same metrics.
        """
        if len(self.estimates) == 1:
            return 1 - self.level_of(index)
        estimate = self.estimates[index]
        low, high = _seen(estimate, self.level(self.alpha)), _seen(estimate, self.level_of(index, 0.0))
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            is_seen = middle >= _seen(estimate, self.level_of(index, middle))
            low, high = (low, middle) if is_seen else (middle, high)
        return 1 - self.level_of(index, high)


def _seen(estimate: StudentEstimate, level: float) -> float:
    """Returns about the change that is seen with a probability of 80 %, without the time of the exact one."""
    return estimate.half_width(1 - level) + t_quantile(estimate.degrees, POWER) * estimate.standard_error


def _weight(estimate: StudentEstimate, change: float) -> float:
    return (change**2 + estimate.degrees * estimate.standard_error**2) ** _EXPONENT
