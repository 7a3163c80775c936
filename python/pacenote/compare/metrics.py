"""The metrics of a race that are compared: Rally's rows in Rally's order, with their exact values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pacenote.compare.imported_metrics import custom_metric, imported_metrics, imported_primary
from pacenote.model.comparison import PRIMARY_PERCENTILES, MetricId, PercentileTime
from pacenote.model.custom_metrics import CustomMetrics, declared_metrics, is_figure
from pacenote.model.imported import ImportedResults
from pacenote.model.messages import list_with_rest, similar_names
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import PERCENTILES, DurationSummary, TaskResult, percentiles_for
from pacenote.model.sample_counts import samples_for
from pacenote.model.system_metrics import COLLECTORS, SHARD_TIMES, SIZES, SystemMetrics
from pacenote.model.target_rate import misses_target
from pacenote.model.task_kinds import indexes, reported_tasks, runs_once, searches
from pacenote.stats.absolute_effect import OperationCount, total

PRIMARY_KEY = "primary-metrics"
"""Key of a task's metadata (`meta`) with a list of its primary metrics."""

_HINTED = 20
"""Number of keys, and of tasks, that a hint names."""

_MINUTE_MS, _SECOND_MS, _GB = 60_000.0, 1000.0, 1024.0**3


@dataclass(frozen=True, slots=True)
class Datum:
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
    """Whether it is a latency that includes the backlog of the warm-up."""

    bounds: tuple[float | None, float | None] = (None, None)
    """The 95 % interval of a percentile, or of the mean of a custom metric, from the operations of its race;
    None for a bound without one.
    """

    @property
    def is_usable(self) -> bool:
        """Whether it may decide: a percentile has enough samples, and a latency no backlog of the warm-up."""
        return not self.samples_needed and not self.has_backlog


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
    found = dict(_system_metrics(record.system))
    for task in reported_tasks(record):
        found.update(_task_metrics(task))
        found.update(_custom_metrics(task, customs))
    return found


def _custom_metrics(task: TaskResult, customs: CustomMetrics) -> Iterator[tuple[MetricId, Datum]]:
    for name, summary in task.values.items():
        if is_figure(name):
            yield (
                custom_metric(task.task, customs.of(task.task, name)),
                Datum(summary.mean, bounds=(summary.low, summary.high)),
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
    for found in imported_metrics(imported, customs):
        needed = 0 if found.is_supported else samples_for(found.metric.q)
        yield found.metric, Datum(found.value, needed, is_count_known=False)


def primary_metrics(
    records: Sequence[RaceRecord], metrics: Iterable[MetricId]
) -> tuple[frozenset[str], Mapping[str, tuple[str, ...]]]:
    """Returns the labels of the metrics that a trend of races shows: those that the metadata of their tasks
    names or, if there are none, throughput of tasks that index, percentiles of searches, and the error rates
    of both. Also returns the names in the metadata that select no metric, by task.

    Fewer of them decide a comparison (`deciding_metrics`).
    """
    named, unknown = named_metrics(records, metrics)
    return named or frozenset().union(*map(_default_primary, records)), unknown


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


def _names_in_metadata(record: RaceRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
    for task, meta in record.task_meta.items():
        named = meta.get(PRIMARY_KEY, ())
        yield task, tuple(map(str, named)) if isinstance(named, list | tuple) else (str(named),)


def _default_primary(record: RaceRecord) -> frozenset[str]:
    if record.imported is not None:
        return imported_primary(record.imported)
    tasks = [task for task in reported_tasks(record) if indexes(task) or searches(task)]
    if not tasks:
        tasks = [task for task in reported_tasks(record) if not runs_once(task)]
    return frozenset(f"{key}:{task.task}" for task in tasks for key in _primary_keys(task, record))


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
    found, unknown = set[str](), list[str]()
    for name in names:
        chosen = by_name.get(name, [])
        with_latency = {each.task for each in chosen if each.key.endswith("-latency")}
        found |= {
            each.label
            for each in chosen
            if name.startswith(each.key) or each.key.endswith("-latency") or each.task not in with_latency
        }
        unknown += [] if chosen else [name]
    return frozenset(found), tuple(unknown)


def option_names(metric: MetricId) -> tuple[str, ...]:
    """Returns the names of a metric in options; `p99` and `p99:TASK` are shorter ones of a percentile."""
    names = (metric.label, metric.key)
    if metric.kind != "percentile" or metric.key.endswith("-processing-time"):
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
    percentiles = {f"p{q:g}{time}" for q in PERCENTILES for time in ("", "-latency", "-service-time")}
    rates = {"throughput", "throughput-min", "throughput-median", "throughput-max", "error-rate"}
    return frozenset(percentiles | rates), frozenset(
        _system_metric(name, unit).key for name, unit, _ in _system_values(SystemMetrics())
    )


def _primary_keys(task: TaskResult, record: RaceRecord) -> Iterator[str]:
    target = record.targets.get(task.task)
    # A task that keeps its target rate has the throughput of its schedule.
    is_scheduled = task.paced and (target is None or not misses_target(task, target, record.max_shortfall))
    if indexes(task) and not is_scheduled:
        yield "throughput"
    else:
        for q in PRIMARY_PERCENTILES:
            if task.paced:
                yield f"p{q:g}-latency"
            yield f"p{q:g}-service-time"
    yield "error-rate"


def _task_metrics(task: TaskResult) -> Iterator[tuple[MetricId, Datum]]:
    for which in ("min", "mean", "median", "max") if task.throughput else ():
        key = "throughput" if which == "mean" else f"throughput-{which}"
        metric = MetricId(
            task.task, f"{which.capitalize()} Throughput", f"{task.unit}/s", key, "throughput", 0.0, True
        )
        yield metric, Datum(float(getattr(task.throughput, which)))
    if task.paced:
        for metric, datum in _percentiles(task.task, "latency", task.latency):
            yield metric, replace(datum, has_backlog=task.warmup_backlog.marked)
    yield from _percentiles(task.task, "service time", task.service_time)
    if task.accounting.normal and task.error_rate is not None:
        yield (
            MetricId(task.task, "error rate", "%", "error-rate", "error rate"),
            Datum(task.error_rate * 100, operations=task.accounting.normal),
        )


@lru_cache(maxsize=4096)
def percentile_metric(task: str, time: PercentileTime, q: float) -> MetricId:
    """Returns a percentile of a kind of time as a metric."""
    name, key = f"{q:g}th percentile {time}", f"p{q:g}-{time.replace(' ', '-')}"
    return MetricId(task, name, "ms", key, "percentile", q)


def _percentiles(
    task: str, time: PercentileTime, times: DurationSummary | None
) -> Iterator[tuple[MetricId, Datum]]:
    shown = percentiles_for(times.count) if times else ()
    for q in PERCENTILES:
        found = times.at(q) if times and q in shown else None
        if found is not None:
            supported = found.supported and q < 100
            yield (
                percentile_metric(task, time, q),
                Datum(found.ms, 0 if supported else samples_for(q), bounds=(found.low_ms, found.high_ms)),
            )


def _system_metrics(system: SystemMetrics) -> Iterator[tuple[MetricId, Datum]]:
    for name, unit, value in _system_values(system):
        if value is not None:
            yield _system_metric(name, unit), Datum(float(value))


@lru_cache(maxsize=256)
def _system_metric(name: str, unit: str) -> MetricId:
    return MetricId("", name, unit, name.lower().replace(" ", "-"), "system")


def _system_values(system: SystemMetrics) -> Iterator[tuple[str, str, float | None]]:
    for name, field, count in SHARD_TIMES:
        yield f"Cumulative {name} time of primary shards", "min", _scaled(getattr(system, field), _MINUTE_MS)
        if count:
            yield f"Cumulative {name} count of primary shards", "", getattr(system, count)
        spread = getattr(system, f"{field}_per_shard")
        for which in ("min", "median", "max"):
            value = _scaled(getattr(spread, which), _MINUTE_MS) if spread else None
            yield f"{which.capitalize()} cumulative {name} time across primary shard", "min", value
    for name, field in COLLECTORS:
        yield f"Total {name} GC time", "s", _scaled(getattr(system, f"{field}_gc_time"), _SECOND_MS)
        yield f"Total {name} GC count", "", getattr(system, f"{field}_gc_count")
    for name, field in SIZES:
        yield name, "GB", _scaled(getattr(system, field), _GB)
    yield "Segment count", "", system.segment_count
    yield "Total Ingest Pipeline count", "", system.ingest_pipeline_cluster_count
    yield "Total Ingest Pipeline time", "ms", system.ingest_pipeline_cluster_time
    yield "Total Ingest Pipeline failed", "", system.ingest_pipeline_cluster_failed


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value / factor


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
