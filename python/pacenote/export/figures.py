"""The figures of a race: one for each task, metric and statistic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pacenote.export.metrics import METRICS, VALUE, shard_metric
from pacenote.model.imported import (
    ERROR_RATE,
    ImportedResults,
    ImportedValue,
    imported_tasks,
    percentile_of,
    throughput_of,
)
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import CensoredPercentile, DurationSummary, SubOperationResult, TaskResult
from pacenote.model.system_metrics import COLLECTORS, DISK_USAGE, SEGMENT_MEMORY, SHARD_TIMES, SystemMetrics
from pacenote.model.target_rate import achieved_rate
from pacenote.units import OPS

_MAX_Q = 100.0
"""The percentile that is the statistic `max`."""


@dataclass(frozen=True, slots=True)
class ExportedFigure:
    """One figure of a race."""

    metric: str
    """Name of the metric."""

    statistic: str
    """Which figure of the metric it is: `mean`, `p99.9`, or `value` if there is only one."""

    value: float
    """The figure in `unit`."""

    unit: str
    """The unit; empty for a number of things."""

    task: str = ""
    """Name of the task; empty for a figure of the whole race."""

    operation: str = ""
    """Name of the operation of the task, or of its sub-operation; empty for a figure of the whole race."""

    part: str = ""
    """What of the task or the engine it describes, such as a sub-operation or an index; empty for all of it.
    """

    low: float | None = None
    """Lower bound of the 95 % interval of a percentile, or of the mean of what a runner returned, in `unit`;
    null if it has none.
    """

    high: float | None = None
    """Upper bound of the 95 % interval of a percentile, or of the mean of what a runner returned, in `unit`;
    null if it has none.
    """

    supported: bool = True
    """Whether there are enough samples for this percentile; true for other figures."""


def race_figures(record: RaceRecord) -> tuple[ExportedFigure, ...]:
    """Returns the figures of a race, each once: those of its tasks, then those of the engine and the indices.
    What was not measured has none.
    """
    found = _imported(record.imported) if record.imported is not None else _measured(record)
    unique: dict[tuple[str, str, str, str], ExportedFigure] = {}
    for figure in found:
        unique.setdefault((figure.task, figure.part, figure.metric, figure.statistic), figure)
    return tuple(unique.values())


def _measured(record: RaceRecord) -> Iterator[ExportedFigure]:
    for task in record.tasks:
        of_task = _FigureMaker(task.task, task.operation)
        yield from _task_figures(task, of_task)
        if target := record.targets.get(task.task):
            rate = f"{target.unit}/s"
            yield from of_task.values("target_rate", target.value, unit=rate)
            yield from of_task.values("achieved_rate", achieved_rate(task, target), unit=rate)
        for part in task.parts:
            yield from _part_figures(part, _FigureMaker(task.task, part.operation, part.operation))
    if found := record.saturation:
        of_task = _FigureMaker(found.task)
        yield from of_task.values("saturation_stable", found.stable, unit=f"{OPS}/s")
        yield from of_task.values("saturation_unstable", found.unstable, unit=f"{OPS}/s")
    yield from _system_figures(record.system)
    for check in record.documents:
        of_index = _FigureMaker(part=check.index)
        yield from of_index.values("documents_acknowledged", check.acknowledged)
        yield from of_index.values("documents_counted", check.counted)


@dataclass(frozen=True, slots=True)
class _FigureMaker:
    """Makes the figures of one task, or of one part of it or of the engine."""

    task: str = ""
    operation: str = ""
    part: str = ""

    def values(
        self, metric: str, value: float | None, statistic: str = VALUE, *, unit: str | None = None
    ) -> Iterator[ExportedFigure]:
        """Yields a figure if it has a value. The unit is that of the metric, unless another one is given."""
        if value is not None:
            own = METRICS[metric].unit if unit is None else unit
            yield ExportedFigure(metric, statistic, value, own, self.task, self.operation, self.part)

    def times(self, metric: str, times: DurationSummary | None) -> Iterator[ExportedFigure]:
        """Yields the figures of a distribution."""
        if times is None:
            return
        yield from self.values(metric, times.count, "count", unit="")
        yield from self.values(metric, times.min_ms, "min")
        yield from self.values(metric, times.mean_ms, "mean")
        for found in times.percentiles:
            if found.q < _MAX_Q:
                yield self._percentile(
                    metric, found.q, found.ms, (found.low_ms, found.high_ms), found.supported
                )
        yield from self.values(metric, times.max_ms, "max")

    def censored(self, metric: str, percentiles: Iterable[CensoredPercentile]) -> Iterator[ExportedFigure]:
        """Yields percentiles of durations of which some never ended; one that never ended has no figure."""
        for found in percentiles:
            if found.ms is not None:
                yield self._percentile(metric, found.q, found.ms, (None, found.high_ms), found.supported)

    def _percentile(
        self, metric: str, q: float, ms: float, bounds: tuple[float | None, float | None], supported: bool
    ) -> ExportedFigure:
        low, high = bounds
        return ExportedFigure(
            metric=metric,
            statistic=percentile_name(q),
            value=ms,
            unit="ms",
            task=self.task,
            operation=self.operation,
            part=self.part,
            low=low,
            high=high,
            supported=supported,
        )


def percentile_name(q: float) -> str:
    """Returns the statistic of a percentile (0 to 100), such as `p99.9`."""
    # The driver computes the percentile from a share, so that it may have a rounding error.
    return f"p{q:.10g}"


def _task_figures(task: TaskResult, of_task: _FigureMaker) -> Iterator[ExportedFigure]:
    for which in ("min", "mean", "median", "max") if task.throughput else ():
        yield from of_task.values("throughput", getattr(task.throughput, which), which, unit=f"{task.unit}/s")
    for metric in ("service_time", "latency", "processing_time", "lateness", "failed_service_time"):
        yield from of_task.times(metric, getattr(task, metric))
    yield from of_task.censored("latency_with_failures", task.latency_with_failures)
    # Without measured operations there is no rate; older records have 0.
    yield from of_task.values("error_rate", task.error_rate if task.accounting.normal else None)
    yield from _totals(task, of_task)
    failures: dict[tuple[str, str], int] = {}
    for group in task.errors:
        key = (group.label, f"{group.counted}s")
        failures[key] = failures.get(key, 0) + group.count
    for (label, unit), count in failures.items():
        yield from _FigureMaker(task.task, task.operation, label).values("failures", count, unit=unit)
    for name, value in task.values.items():
        of_value = _FigureMaker(task.task, task.operation, name)
        yield from of_value.values("runner_value", value.count, "count", unit="")
        for which in ("min", "mean", "max"):
            for figure in of_value.values("runner_value", getattr(value, which), which, unit=""):
                yield replace(figure, low=value.low, high=value.high) if which == "mean" else figure


def _totals(task: TaskResult, of_task: _FigureMaker) -> Iterator[ExportedFigure]:
    counted = task.accounting
    for metric, value in (
        ("operations", counted.operations),
        ("operations_succeeded", counted.succeeded),
        ("operations_failed", counted.failed),
        ("operations_unanswered", counted.unanswered),
        ("operations_warmup", counted.warmup),
        ("operations_measured", counted.normal),
        ("operations_unsent", counted.unsent),
        ("operations_waited", counted.waited),
        ("retries", counted.retried),
        ("requests", counted.requests),
        ("reconnects", counted.reconnects),
        ("network_sent", task.bytes_out),
        ("network_received", task.bytes_in),
        ("content_sent", task.content_out),
        ("content_received", task.content_in),
        ("clients", task.clients),
        ("task_start", task.started_s),
        ("task_duration", task.duration_s),
        ("measured_window", task.window_s),
    ):
        yield from of_task.values(metric, value)
    if task.warmup_backlog.marked:
        yield from of_task.values("warmup_backlog", task.warmup_backlog.operations)
    yield from of_task.values("work_done", task.work.done, unit=task.unit)
    yield from of_task.values("work_failed", task.work.failed, unit=task.unit)


def _part_figures(part: SubOperationResult, of_part: _FigureMaker) -> Iterator[ExportedFigure]:
    yield from of_part.times("service_time", part.service_time)
    yield from of_part.times("failed_service_time", part.failed_service_time)
    yield from of_part.values("error_rate", part.error_rate)
    yield from of_part.values("operations", part.operations)
    yield from of_part.values("operations_failed", part.failed)
    yield from of_part.values("retries", part.retried)
    yield from of_part.values("requests", part.requests)


def _system_figures(system: SystemMetrics) -> Iterator[ExportedFigure]:
    of_race = _FigureMaker()
    for what, field, counted in SHARD_TIMES:
        yield from of_race.values(shard_metric(what), getattr(system, field))
        if spread := getattr(system, f"{field}_per_shard"):
            for which in ("min", "median", "max"):
                metric = f"{shard_metric(what)}_per_shard"
                yield from of_race.values(metric, getattr(spread, which), which, unit=spread.unit)
        if counted:
            yield from of_race.values(counted, getattr(system, counted))
    same = [f"{prefix}_gc_{what}" for _, prefix in COLLECTORS for what in ("time", "count")]
    same += ["dataset_size", "store_size", "translog_size", "index_size", "segment_count"]
    same += [field for _, field in SEGMENT_MEMORY]
    for name in same:
        yield from of_race.values(name, getattr(system, name))
    yield from of_race.values("disk_written", system.bytes_written)
    for what in ("count", "time", "failed"):
        value = getattr(system, f"ingest_pipeline_cluster_{what}")
        yield from of_race.values(f"ingest_pipeline_{what}", value)
    yield from _figures_of_items(system)


def _figures_of_items(system: SystemMetrics) -> Iterator[ExportedFigure]:
    """Yields the figures of jobs, transforms and fields."""
    for job in system.ml_processing_time:
        for which in ("min", "mean", "median", "max"):
            value = getattr(job, which)
            yield from _FigureMaker(part=job.job).values("ml_processing_time", value, which, unit=job.unit)
    for metric, figures in (
        ("transform_processing_time", system.total_transform_processing_times),
        ("transform_index_time", system.total_transform_index_times),
        ("transform_search_time", system.total_transform_search_times),
        ("transform_throughput", system.total_transform_throughput),
    ):
        for figure in figures:
            yield from _FigureMaker(part=figure.id).values(metric, figure.mean, unit=figure.unit)
    for _, field in DISK_USAGE:
        for usage in getattr(system, field):
            yield from _FigureMaker(part=f"{usage.index}/{usage.field}").values(field, usage.value)


def _imported(imported: ImportedResults) -> Iterator[ExportedFigure]:
    tasks = {task.task: task for task in imported_tasks(imported.values)}
    for value in imported.values:
        of_task = _FigureMaker(value.task)
        percentile, which = percentile_of(value.metric), throughput_of(value.metric)
        task = tasks.get(value.task)
        if task is not None and percentile is not None and value.unit == "ms":
            kind, q = percentile
            metric, is_max = kind.replace(" ", "_"), q >= _MAX_Q
            yield ExportedFigure(
                metric,
                "max" if is_max else percentile_name(q),
                value.value,
                "ms",
                value.task,
                supported=is_max or task.supports(kind, q),
            )
        elif task is not None and which is not None:
            yield from of_task.values("throughput", value.value, which, unit=value.unit)
        elif task is not None and value.metric == ERROR_RATE:
            yield from of_task.values("error_rate", task.error_rate)
        else:
            yield from _other_value(value)


def _other_value(value: ImportedValue) -> Iterator[ExportedFigure]:
    """Yields a figure under its name in Rally, because it may mean something else: times of shards, for
    example, do not begin with the race there.
    """
    named = _FigureMaker(value.task, part=value.metric)
    yield from named.values("imported_value", value.value, unit=value.unit)
