"""How a metric is compared over time: by ratios or, if it may be 0, by differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from pacenote.compare.metrics import smallest_effect_of
from pacenote.model.comparison import MetricId, MetricWord
from pacenote.model.trend import TrendOptions
from pacenote.stats.effect import log_ratio


class MetricScale(Struct, frozen=True):
    """How a metric is compared: by ratios or, if it may be 0, by differences."""

    metric: MetricId
    """The metric."""

    smallest_effect: float
    """The smallest change that matters: relative, or in the unit of the metric."""

    resolution: float | None
    """The resolution of differences; None for ratios."""

    @classmethod
    def of(cls, metric: MetricId, options: TrendOptions, values: Sequence[float] = ()) -> MetricScale:
        """Returns how a metric with these values is compared."""
        smallest = smallest_effect_of(metric)
        if metric.kind == "error rate":
            return cls(metric, smallest, smallest)
        if metric.kind == "custom":
            if values and min(values) <= 0:
                # It is compared in its unit.
                smallest *= max(map(abs, values)) or 1.0
                return cls(metric, smallest, smallest)
            return cls(metric, smallest, None)
        return cls(metric, options.smallest_effect or smallest, None)

    @property
    def margin(self) -> float:
        """The smallest step that matters."""
        return self.smallest_effect if self.resolution is not None else math.log1p(self.smallest_effect)

    def change(self, step: float) -> float:
        """Returns the change that a step is."""
        return step if self.resolution is not None else math.expm1(step)

    def step_between(self, old: float, new: float) -> float:
        """Returns the step from one value to another one."""
        return new - old if self.resolution is not None else log_ratio(new, old)

    def value(self, level: float) -> float:
        """Returns the value of a level in the unit of the metric."""
        if self.resolution is None:
            return math.exp(level)
        return max(level, 0.0) if self.metric.kind == "error rate" else level

    def is_worse(self, step: float) -> bool:
        """Returns whether a step is a worsening."""
        return (step < 0) == self.metric.higher_is_better

    def word(self, step: float) -> MetricWord:
        """Returns the verdict on a step that is certain: `same` if it is too small to matter."""
        if abs(step) < self.margin:
            return "same"
        if self.metric.higher_is_better is None:
            return "changed"
        return "worse" if self.is_worse(step) else "better"

    def step(self, change: float) -> float:
        """Returns the step that a change is, the inverse of `change`."""
        return change if self.resolution is not None else math.log1p(change)

    @property
    def worse_sign(self) -> int:
        """1 if larger values are worse, or neither are, and -1 if smaller ones are."""
        return -1 if self.metric.higher_is_better else 1
