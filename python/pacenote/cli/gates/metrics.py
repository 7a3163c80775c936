"""Which metrics a gate of `pacenote compare` is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison, MetricComparison

PRIMARY = "primary"
"""The name of all metrics that decide, and of quality metrics with a direction, which must not be worse."""


def gate_metrics(comparison: Comparison, name: str, option: str) -> Sequence[MetricComparison]:
    """Returns the metrics that an option names. Raises UsageError if there are none of this name."""
    if name.lower() == PRIMARY:
        return comparison.deciding
    from pacenote.compare.metrics import expanded_primary, metric_hint

    metrics = [each.metric for each in comparison.metrics]
    labels, unknown = expanded_primary([name], metrics)
    if unknown and comparison.answer != "void":
        raise UsageError(
            f"{option}: the races have no common metric '{name}'", hint=metric_hint(name, metrics)
        )
    return [each for each in comparison.metrics if each.metric.label in labels]
