"""How much the machine drifted from race to race, where that limits a comparison within blocks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from pacenote.compare.estimate import Measured
from pacenote.model.comparison import MetricComparison
from pacenote.model.finding import Finding
from pacenote.stats.student import t_quantile
from pacenote.units import format_change

_CONFIDENCE = 0.99
"""Confidence with which a drift is told from noise."""


def drift_findings(measured: Sequence[Measured], metrics: Sequence[MetricComparison]) -> Iterator[Finding]:
    """Yields which primary metrics drifted from race to race by more than they changed, and by at least half
    of what matters. A drift that is the same for all races is removed, but one of this size seldom is.
    """
    drifts = defaultdict[str, list[str]](list)
    for each, metric in zip(measured, metrics, strict=True):
        change = metric.change
        if metric.role != "primary" or change is None or change.is_absolute or change.value <= -1:
            continue
        drift = _drift(metric, each.races.lags) if each.races.design == "paired" else None
        limit = max(abs(math.log1p(change.value)), math.log1p(metric.smallest_effect) / 2)
        if drift is not None and abs(drift) > limit:
            drifts[format_change(math.expm1(drift))].append(metric.metric.label)
    for text, labels in drifts.items():
        yield Finding(
            f"{', '.join(labels)} drifted by {text} from each race to the next, more than the change: it is "
            "removed only as far as it is the same for all races",
            "machine",
            "warm up for longer, or repeat the blocks when the machine has settled",
        )


def _drift(metric: MetricComparison, lags: Sequence[float]) -> float | None:
    """Returns the drift of the logarithm from race to race, or None if it may be noise."""
    values = list(zip(metric.contender, metric.baseline, lags, strict=True))
    count = len(values)
    if count < 4 or any(min(new, old) <= 0 for new, old, _ in values):
        return None
    changes = [math.log(new / old) for new, old, _ in values]
    mean, lag = math.fsum(changes) / count, math.fsum(lags) / count
    spread = math.fsum((one - lag) ** 2 for one in lags)
    if spread == 0:
        return None
    drift = math.fsum((one - lag) * change for change, one in zip(changes, lags, strict=True)) / spread
    rest = math.fsum(
        (change - mean - drift * (one - lag)) ** 2 for change, one in zip(changes, lags, strict=True)
    )
    error = math.sqrt(rest / (count - 2) / spread)
    return drift if abs(drift) > t_quantile(count - 2, (1 + _CONFIDENCE) / 2) * error else None
