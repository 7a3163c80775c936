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


_OF_EVERY_TASK = ("throughput", "percentile", "error rate")
"""Kinds of metrics that every task has."""


def lacking_labels(comparison: Comparison, name: str, option: str) -> tuple[str, ...]:
    """Returns the labels of what not all races have, and an option is about: all that must not be worse for
    `primary`, and for the key of a metric the tasks of which no metric of this key is compared.

    Raises UsageError if there are no metrics of this name.
    """
    if name.lower() == PRIMARY:
        return comparison.lacking
    metrics = [each.metric for each in gate_metrics(comparison, name, option)]
    own = tuple(label for label in comparison.lacking_quality if label.partition(":")[0] == name)
    if ":" in name or not any(metric.kind in _OF_EVERY_TASK for metric in metrics):
        return own
    tasks = {metric.task for metric in metrics}
    return (*(label for label in comparison.lacking_primary if label.partition(":")[2] not in tasks), *own)
