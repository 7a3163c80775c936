"""The metrics that decide an experiment, and the one that its tables show; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pacenote.compare.deciding import deciding_metrics
from pacenote.compare.metrics import PRIMARY_KEY, Datum, expanded_primary
from pacenote.compare.operation_work import other_operation_work
from pacenote.compare.pairing import VARIANT_TAG
from pacenote.compare.race_findings import RaceDoubts
from pacenote.lab.experiment.progress import MAX_LOST_SHARE
from pacenote.model.comparison import MetricComparison, MetricId
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.user_tags import tag_texts

MAX_DEFAULT_TASKS = 6
"""Tasks whose metrics decide unless the file or the track names some: with more, every interval becomes so
wide that nothing is decided.
"""

Metrics = Mapping[MetricId, Datum]
"""The metrics of one race."""


def chosen_primary(
    names: Sequence[str], records: Sequence[RaceRecord], metrics: Collection[MetricId]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the labels of the metrics that decide, and what the user should know about them.

    `names` are those of the file, and `metrics` those of all races. `records` has at least one of them: the
    first race of each variant, so that what decides stays the same while further races end.
    """
    chosen, unknown = expanded_primary(names, metrics)
    notes = [f"no race has the metric '{name}', which the file names in primary" for name in unknown]
    if chosen:
        return chosen, tuple(notes)
    if unknown:
        notes.append("the default metrics decide instead")
    labels, left = _default(records, metrics)
    if left:
        notes.append(
            f"{MAX_DEFAULT_TASKS} tasks decide, and {left} more do not; primary in the file names others"
        )
    return labels, tuple(notes)


def _default(records: Sequence[RaceRecord], metrics: Collection[MetricId]) -> tuple[frozenset[str], int]:
    """Returns the metrics that the track names or, if it names none, one metric and the error rate of each of
    the first tasks, and how many tasks are left.
    """
    labels, _ = deciding_metrics(records, metrics)
    if any(PRIMARY_KEY in meta for record in records for meta in record.task_meta.values()):
        return labels, 0
    by_task: dict[str, set[str]] = {}
    for label in labels:
        by_task.setdefault(label.partition(":")[2], set()).add(label)
    tasks = dict.fromkeys(task.task for record in records for task in record.tasks)
    chosen = [by_task[task] for task in tasks if task in by_task]
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


def by_variant(records: Iterable[RaceRecord]) -> list[list[RaceRecord]]:
    """Returns the races of an experiment, those of each variant together."""
    variants: dict[str, list[RaceRecord]] = {}
    for record in records:
        variants.setdefault(tag_texts(record.user_tags).get(VARIANT_TAG, ""), []).append(record)
    return [*variants.values()]


def main_metric(
    labels: Collection[str], records: Sequence[RaceRecord], metrics: Sequence[Metrics]
) -> MetricId | None:
    """Returns the metric of these labels that stands for the others, or None. Nearly every race must have
    enough samples of it, one must not make it doubtful, and it must not be a time of a task whose operations
    do other work in some variants.
    """
    doubts = [RaceDoubts(record) for record in records]
    unlike = _unlike_tasks(by_variant(records))
    return leading_metric(
        metric
        for metric in dict.fromkeys(metric for metrics_of_race in metrics for metric in metrics_of_race)
        if metric.label in labels
        and not (metric.q and metric.task in unlike)
        and sum(metric not in known or not known[metric].is_usable for known in metrics)
        <= MAX_LOST_SHARE * len(metrics)
        and not all(doubts_of_race.is_doubtful(metric) for doubts_of_race in doubts)
    )


def without_main_text(labels: Collection[str], records: Sequence[RaceRecord]) -> str:
    """Returns that `main_metric` found none of these labels in these races, and why."""
    unlike = _unlike_tasks(by_variant(records))
    times = sorted(label for label in labels if label.partition(":")[2] in unlike)
    if times:
        return (
            f"no primary metric can be compared between all variants: {', '.join(times)} is of operations "
            "with other work in some of them; throughput as primary in the file counts the work"
        )
    return f"no primary metric counts in nearly all races: {', '.join(sorted(labels))}"


def _unlike_tasks(variants: Sequence[Sequence[RaceRecord]]) -> frozenset[str]:
    """Returns the tasks whose operations do other work in some variants than in the first."""
    tasks: list[dict[str, list[TaskResult]]] = []
    for records in variants:
        tasks.append({})
        for task in (task for record in records for task in record.tasks):
            tasks[-1].setdefault(task.task, []).append(task)
    return frozenset(
        name
        for name, first in tasks[0].items()
        if any(other_operation_work(first, own[name]) for own in tasks[1:] if name in own)
    )


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


def half_width(primary: Sequence[MetricComparison]) -> float | None:
    """Returns half the width of the widest interval, or None if there is none, or one that is infinite.

    Error rates do not count: their changes are not relative.
    """
    changes = [metric.change for metric in primary if not metric.is_absolute]
    widths = [(c.high - c.low) / 2 for c in changes if c is not None and c.high is not None]
    return max(widths) if widths and len(widths) == len(changes) else None
