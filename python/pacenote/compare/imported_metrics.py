"""The metrics of imported races that are compared: those of Rally that a file has."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from pacenote.figures.catalogue import ENGINE, METRICS
from pacenote.model.comparison import MetricId
from pacenote.model.custom_metrics import CustomMetric, CustomMetrics, custom_key, known_direction
from pacenote.model.imported import (
    ERROR_RATE,
    ImportedResults,
    ImportedTask,
    ImportedValue,
    imported_tasks,
    percentile_of,
    throughput_of,
)

_SYSTEM = ("Cumulative ", "Min cumulative ", "Median cumulative ", "Max cumulative ", "Total ", "Heap used ")
"""Beginnings of the names of metrics of the whole race."""

_ERROR_RATE_KEY = METRICS["error_rate"].option_key

_NAMES = frozenset(metric.compared.label for metric in ENGINE if metric.compared)
"""Names of such metrics."""


class ImportedMetric(Struct, frozen=True):
    """A metric of an imported race."""

    metric: MetricId
    """The metric, as for races of Pacenote."""

    value: float
    """Its value in the unit of the metric."""

    is_supported: bool = True
    """Whether it is known that there are enough samples for it."""


def imported_metrics(imported: ImportedResults, customs: CustomMetrics) -> Iterator[ImportedMetric]:
    """Yields the metrics in the order of the file. Latency that equals service time is left out, because the
    task has no target rate.
    """
    tasks = {task.task: task for task in imported_tasks(imported.values)}
    for value in imported.values:
        task = tasks.get(value.task)
        if task is None and not (value.task and known_direction(custom_key(value.metric))):
            yield from _system_metric(value)
        elif task is not None and (percentile := percentile_of(value.metric)):
            kind, q = percentile
            if kind == "latency" and not is_paced(task):
                continue
            metric = MetricId(
                value.task, value.metric, value.unit, f"p{q:g}-{kind.replace(' ', '-')}", "percentile", q
            )
            yield ImportedMetric(metric, value.value, task.supports(kind, q))
        elif which := throughput_of(value.metric):
            key = "throughput" if which == "mean" else f"throughput-{which}"
            metric = MetricId(value.task, value.metric, value.unit, key, "throughput", 0.0, True)
            yield ImportedMetric(metric, value.value)
        elif value.metric == ERROR_RATE:
            metric = MetricId(value.task, value.metric, value.unit, _ERROR_RATE_KEY, "error rate")
            yield ImportedMetric(metric, value.value)
        else:
            yield ImportedMetric(
                custom_metric(value.task, customs.of(value.task, value.metric), value.unit), value.value
            )


def custom_metric(task: str, custom: CustomMetric, unit: str = "") -> MetricId:
    """Returns a custom metric of a task as a metric; `unit` is that of the file if no other one is known."""
    return MetricId(
        task,
        custom.name,
        custom.unit or unit,
        custom.key,
        "custom",
        higher_is_better=custom.higher_is_better,
    )


def is_paced(task: ImportedTask) -> bool:
    """Returns whether a task had a target rate: its latency and service time differ."""
    return task.percentiles.get("latency") != task.percentiles.get("service time")


def _system_metric(value: ImportedValue) -> Iterator[ImportedMetric]:
    if value.task or not (value.metric.startswith(_SYSTEM) or value.metric in _NAMES):
        return
    # Rally's comparisons have the singular.
    name = value.metric.replace("across primary shards", "across primary shard")
    metric = MetricId("", name, value.unit, name.lower().replace(" ", "-"), "system")
    yield ImportedMetric(metric, value.value)
