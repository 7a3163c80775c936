"""The metrics of a race that are compared: Rally's rows in Rally's order, with their exact values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from pacenote.compare.imported_metrics import custom_metric, imported_metrics
from pacenote.figures.catalogue import ENGINE, METRICS, TASK
from pacenote.figures.metric import Metric, MetricRow
from pacenote.figures.of_race import Figure, race_figures
from pacenote.model.comparison import MetricId, PercentileTime
from pacenote.model.custom_metrics import CustomMetrics, declared_metrics
from pacenote.model.imported import ImportedResults
from pacenote.model.messages import list_with_rest, similar_names
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import REPORTED_PERCENTILES
from pacenote.model.sample_counts import samples_for
from pacenote.model.task_kinds import reported_tasks
from pacenote.stats.absolute_effect import OperationCount, total

PRIMARY_KEY = "primary-metrics"
"""Key of a task's metadata (`meta`) with a list of its primary metrics."""

_COMPARED = frozenset(metric for metric in METRICS.values() if metric.compared or metric.kind == "custom")
"""The metrics whose figures are compared."""

_PROCESSING_TIME = METRICS["processing_time"].option_key
"""The end of the keys of percentiles that have no shorter name."""

_HINTED = 20
"""Number of keys, and of tasks, that a hint names."""


class Datum(msgspec.Struct, frozen=True):
    """The value of a metric in one race."""

    value: float
    """The value in the unit of the metric."""

    samples_needed: int = 0
    """Number of samples that a percentile needs to count; 0 if it has enough."""

    is_count_known: bool = True
    """Whether the number of samples of a percentile is known; files of other tools do not have it."""

    operations: int = 0
    """Of an error rate, the number of measured operations; 0 if unknown."""

    has_backlog: bool = False
    """Whether it is a latency or a throughput that includes the backlog of the warm-up."""

    is_endless: bool = False
    """Whether it is a percentile of the latency of successes, while that of all operations is one of those
    that failed, or were not answered or not sent.
    """

    bounds: tuple[float | None, float | None] = (None, None)
    """The 95 % interval of a percentile, or of the mean of a custom metric, from the operations of its race;
    None for a bound without one.
    """

    @property
    def is_usable(self) -> bool:
        """Whether it may decide: a percentile has enough samples, and a latency no backlog of the warm-up and
        an end.
        """
        return not (self.samples_needed or self.has_backlog or self.is_endless)


def race_counts(data: Sequence[Datum]) -> list[OperationCount] | None:
    """Returns how many operations failed in each of the races of which these are the error rates; None if
    that is unknown or not counted.
    """
    if not data or not all(each.operations for each in data):
        return None
    return [OperationCount(round(each.value / 100 * each.operations), each.operations) for each in data]


def operation_count(data: Sequence[Datum]) -> OperationCount | None:
    """Returns how many operations failed in races of which these are the error rates; None if that is unknown
    or not counted.
    """
    counts = race_counts(data)
    return None if counts is None else total(counts)


def race_metrics(record: RaceRecord, customs: CustomMetrics | None = None) -> dict[MetricId, Datum]:
    """Returns the metrics of a race that have a value, in the order of Rally's table.

    `customs` is what is declared of custom metrics; None for what the track of the race declares.
    """
    customs = declared_metrics([record.task_meta]) if customs is None else customs
    if record.imported is not None:
        return dict(_imported_metrics(record.imported, customs))
    reported = {"", *(task.task for task in reported_tasks(record))}
    metrics = dict[MetricId, Datum]()
    for figure in race_figures(record, _COMPARED):
        if figure.value is None or not figure.is_shown or figure.task not in reported:
            continue
        if figure.metric.kind == "custom":
            metric = custom_metric(figure.task, customs.of(figure.task, figure.part))
            metrics[metric] = Datum(figure.value, bounds=(figure.low, figure.high))
        elif figure.metric.compared is not None and not figure.part:
            row = figure.metric.compared
            metric = _metric_id(figure.metric, figure.task, figure.which, figure.q, figure.unit_of(row))
            metrics[metric] = _datum(figure, row)
    return metrics


def _datum(figure: Figure, row: MetricRow) -> Datum:
    has_samples = not figure.q or (figure.supported and figure.statistic != "max")
    return Datum(
        float(figure.value_in(row) or 0.0),
        0 if has_samples else samples_for(figure.q),
        operations=figure.operations if figure.metric.kind == "error rate" else 0,
        has_backlog=figure.has_backlog,
        is_endless=figure.is_endless,
        bounds=(figure.low, figure.high),
    )


def quality_labels(metrics: Iterable[MetricId], customs: CustomMetrics) -> frozenset[str]:
    """Returns the labels of the quality metrics among some: custom metrics with a direction, `neutral`
    included.
    """
    return frozenset(
        metric.label
        for metric in metrics
        if metric.kind == "custom" and customs.of(metric.task, metric.key).direction is not None
    )


def _imported_metrics(imported: ImportedResults, customs: CustomMetrics) -> Iterator[tuple[MetricId, Datum]]:
    for metric in imported_metrics(imported, customs):
        needed = 0 if metric.is_supported else samples_for(metric.metric.q)
        yield metric.metric, Datum(metric.value, needed, is_count_known=False)


def named_metrics(
    records: Sequence[RaceRecord], metrics: Iterable[MetricId]
) -> tuple[frozenset[str], Mapping[str, tuple[str, ...]]]:
    """Returns the labels of the metrics that the metadata of the tasks names as primary, and the names in it
    that select no metric, by task.
    """
    of_task: dict[str, list[MetricId]] = {}
    for metric in metrics:
        of_task.setdefault(metric.task, []).append(metric)
    named, unknown = set[str](), dict[str, tuple[str, ...]]()
    for task, names in dict.fromkeys(each for record in records for each in _names_in_metadata(record)):
        if task in of_task:
            labels, missing = expanded_primary(names, of_task[task])
            named |= labels
            if missing:
                unknown[task] = missing
    return frozenset(named), unknown


def metadata_names(records: Sequence[RaceRecord]) -> Iterator[tuple[str, str]]:
    """Yields the primary metrics that the metadata of tasks names, each with the task."""
    every = dict.fromkeys(each for record in records for each in _names_in_metadata(record))
    yield from ((task, name) for task, names in every for name in names)


def _names_in_metadata(record: RaceRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
    for task, meta in record.task_meta.items():
        named = meta.get(PRIMARY_KEY, ())
        yield task, tuple(map(str, named)) if isinstance(named, list | tuple) else (str(named),)


def expanded_primary(
    names: Iterable[str], metrics: Iterable[MetricId]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the labels of the metrics that the names select, and the names that select none.

    A name is `KEY:TASK`, or `KEY` for all tasks; `p99` is that of latency if the task has one, and otherwise
    of service time.
    """
    by_name: dict[str, list[MetricId]] = {}
    for metric in metrics:
        for name in option_names(metric):
            by_name.setdefault(name, []).append(metric)
    labels, unknown = set[str](), list[str]()
    for name in names:
        chosen = by_name.get(name, [])
        with_latency = {each.task for each in chosen if each.key.endswith("-latency")}
        labels |= {
            each.label
            for each in chosen
            if name.startswith(each.key) or each.key.endswith("-latency") or each.task not in with_latency
        }
        unknown += [] if chosen else [name]
    return frozenset(labels), tuple(unknown)


def option_names(metric: MetricId) -> tuple[str, ...]:
    """Returns the names of a metric in options; `p99` and `p99:TASK` are shorter ones of a percentile."""
    names = (metric.label, metric.key)
    if metric.kind != "percentile" or metric.key.endswith(_PROCESSING_TIME):
        return names
    short = metric.key.partition("-")[0]
    return (*names, f"{short}:{metric.task}", short)


def metric_hint(name: str, metrics: Iterable[MetricId]) -> str:
    """Returns the hint about a name that selects none of the metrics: similar ones, or which exist."""
    known = tuple(metrics)
    if similar := similar_names(name, {each for metric in known for each in option_names(metric)}):
        return f"did you mean {' or '.join(similar)}?"
    keys = dict.fromkeys(metric.key for metric in known if metric.task)
    tasks = dict.fromkeys(metric.task for metric in known if metric.task)
    if not tasks:
        return "a metric is KEY:TASK, such as throughput:index-append or p99:term"
    return (
        f"a metric is KEY:TASK; keys: {list_with_rest([*keys], _HINTED)}; "
        f"tasks: {list_with_rest([*tasks], _HINTED)}"
    )


def metric_keys() -> tuple[frozenset[str], frozenset[str]]:
    """Returns the keys of all metrics of tasks, with the short ones of percentiles, and those of races."""
    of_tasks = (key for metric in TASK if metric.compared for key in _option_keys(metric))
    return frozenset(of_tasks), frozenset(
        key for metric in ENGINE if metric.compared for key in _option_keys(metric)
    )


def _option_keys(metric: Metric) -> Iterator[str]:
    if metric.form != "times":
        yield from (_metric_id(metric, "", which.capitalize(), 0.0, "").key for which in metric.statistics)
        return
    for q in REPORTED_PERCENTILES:
        key = _metric_id(metric, "", f"{q:g}", q, "").key
        yield from (key, key.partition("-")[0])


def percentile_metric(task: str, time: PercentileTime, q: float) -> MetricId:
    """Returns a percentile of a kind of time as a metric."""
    return _metric_id(METRICS[time.replace(" ", "_")], task, f"{q:g}", q, "ms")


def _percentile_key(metric: Metric, which: str) -> str:
    return f"p{which}-{metric.option_key}"


@lru_cache(maxsize=8192)
def _metric_id(metric: Metric, task: str, which: str, q: float, unit: str) -> MetricId:
    assert metric.compared is not None
    name = metric.compared.named(which)
    if q:
        key = _percentile_key(metric, which)
    elif metric.kind == "throughput":
        key = metric.key if which == "Mean" else f"{metric.key}-{which.lower()}"
    else:
        key = name.lower().replace(" ", "-")
    return MetricId(task, name, unit, key, metric.kind, q, metric.higher_is_better)


def smallest_effect_of(metric: MetricId) -> float:
    """Returns the smallest change of a metric that matters by default: relative, or of an error rate in
    points of a percentage. For a custom metric without a direction, it is that of a usual time.
    """
    if metric.kind == "throughput":
        return 0.03
    if metric.kind == "error rate":
        return 0.1
    if metric.kind == "custom" and metric.higher_is_better is not None:
        return 0.01
    return 0.10 if metric.q >= 99 else 0.05
