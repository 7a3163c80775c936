"""The metrics that decide an experiment, and the one that its tables show; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pacenote.compare.deciding import deciding_metrics
from pacenote.compare.metrics import PRIMARY_KEY, Datum, expanded_primary
from pacenote.compare.race_findings import RaceDoubts
from pacenote.model.comparison import MetricId
from pacenote.model.race_record import RaceRecord

MAX_DEFAULT_TASKS = 6
"""Tasks whose metrics decide unless the file or the track names some: with more, every interval becomes so
wide that nothing is decided.
"""

Metrics = Mapping[MetricId, Datum]
"""The metrics of one race."""


def chosen_primary(
    names: Sequence[str], record: RaceRecord, metrics: Collection[MetricId]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the labels of the metrics that decide, and what the user should know about them.

    `names` are those of the file, and `metrics` those of all races, of which `record` is one.
    """
    chosen, unknown = expanded_primary(names, metrics)
    notes = [f"no race has the metric '{name}', which the file names in primary" for name in unknown]
    if chosen:
        return chosen, tuple(notes)
    if unknown:
        notes.append("the default metrics decide instead")
    labels, left = _default(record, metrics)
    if left:
        notes.append(
            f"{MAX_DEFAULT_TASKS} tasks decide, and {left} more do not; primary in the file names others"
        )
    return labels, tuple(notes)


def _default(record: RaceRecord, metrics: Collection[MetricId]) -> tuple[frozenset[str], int]:
    """Returns the metrics that the track names or, if it names none, one metric and the error rate of each of
    the first tasks, and how many tasks are left.
    """
    labels, _ = deciding_metrics([record], metrics)
    if any(PRIMARY_KEY in meta for meta in record.task_meta.values()):
        return labels, 0
    by_task: dict[str, set[str]] = {}
    for label in labels:
        by_task.setdefault(label.partition(":")[2], set()).add(label)
    chosen = [by_task[task.task] for task in record.tasks if task.task in by_task]
    kept = chosen[:MAX_DEFAULT_TASKS]
    return frozenset[str]().union(*kept), len(chosen) - len(kept)


def usable_metrics(race: RaceRecord, metrics: Metrics) -> dict[MetricId, float]:
    """Returns the metrics of a race that may decide: those that it does not make doubtful, with enough
    samples and without the backlog of a warm-up.
    """
    doubts = RaceDoubts(race)
    return {
        metric: datum.value
        for metric, datum in metrics.items()
        if datum.is_usable and not doubts.is_doubtful(metric)
    }


def leading_metric(metrics: Iterable[MetricId]) -> MetricId | None:
    """Returns the metric that stands for the others: throughput, or else the first percentile or the first
    custom metric with a direction.
    """
    kinds = ("throughput", "percentile", "custom", "system")
    return min(
        (metric for metric in metrics if metric.kind in kinds and metric.higher_is_better is not None),
        key=lambda metric: kinds.index(metric.kind),
        default=None,
    )
