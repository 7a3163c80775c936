"""Which metrics a gate of `pacenote compare` is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.comparison import Comparison, MetricComparison, MetricId

PRIMARY = "primary"
"""The name of all metrics that decide, and of quality metrics with a direction, which must not be worse."""


def gate_metrics(comparison: Comparison, name: str, option: str) -> Sequence[MetricComparison]:
    """Returns the metrics that an option names. Raises UsageError if no metric has this name."""
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
    `primary`, and for the key of a metric what some races have of it, and the tasks of which no metric of
    this key is compared.

    Raises UsageError if no metric has this name.
    """
    if name.lower() == PRIMARY:
        return comparison.lacking
    metrics = [each.metric for each in gate_metrics(comparison, name, option)]
    own = [label for label in comparison.lacking_quality if label.partition(":")[0] == name]
    if ":" not in name and any(metric.kind in _OF_EVERY_TASK for metric in metrics):
        tasks = {metric.task for metric in metrics}
        own = [*(label for label in comparison.lacking_primary if _task(label) not in tasks), *own]
    # Of a task that is lacking as a whole, one metric is named.
    named = set(map(_task, own))
    own += [label for label in _partial_labels(comparison, name, metrics) if _task(label) not in named]
    return tuple(own)


def _partial_labels(comparison: Comparison, name: str, metrics: Sequence[MetricId]) -> list[str]:
    """Returns the labels of the metrics that a name selects, that some races have but not all, and for which
    none of `metrics`, which all races have, stands in.
    """
    from pacenote.compare.deciding import uncovered
    from pacenote.compare.metrics import expanded_primary

    labels, _ = expanded_primary([name], comparison.partial_metrics)
    return uncovered([metric for metric in comparison.partial_metrics if metric.label in labels], metrics)


def _task(label: str) -> str:
    return label.partition(":")[2]
