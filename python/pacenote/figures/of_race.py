"""The figures of a race: every metric of the catalogue that the race has, with its value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pacenote.figures.catalogue import (
    DOCUMENTS,
    ENGINE,
    IMPORTED,
    METRICS,
    TASK,
)
from pacenote.figures.metric import VALUE, Metric, MetricRow
from pacenote.model.custom_metrics import is_figure
from pacenote.model.imported import (
    ERROR_RATE,
    ImportedResults,
    imported_tasks,
    percentile_of,
    throughput_of,
)
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import (
    REPORTED_PERCENTILES,
    CensoredPercentile,
    DurationSummary,
    Percentile,
    SubOperationResult,
    TaskResult,
    ValueSummary,
    percentiles_for,
)
from pacenote.model.system_metrics import FieldUsage, MlProcessingTime, SystemMetrics, TransformFigure
from pacenote.model.target_rate import achieved_rate
from pacenote.model.unserved import is_endless
from pacenote.model.warmup_backlog import (
    includes_backlog,
    mean_includes_backlog,
    throughput_includes_backlog,
)
from pacenote.units import OPS

_LARGEST = 100.0
"""The percentile that is the largest value."""

_RATES = ("throughput", "achieved_rate")
"""The metrics that are work per second of the measured window."""

_ALL: Collection[Metric] = frozenset(METRICS.values())
"""All metrics."""


class Figure(msgspec.Struct, frozen=True):
    """One figure of a race."""

    metric: Metric
    """What it is a figure of."""

    statistic: str
    """Which figure of the metric it is: `mean`, `p99.9`, or `value` if there is only one."""

    value: float | None
    """The figure in `unit`; None if it was not measured."""

    unit: str
    """The unit; empty for a number of things."""

    task: str = ""
    """Name of the task; empty for a figure of the whole race."""

    operation: str = ""
    """Name of the operation of the task, or of its sub-operation; empty for a figure of the whole race."""

    part: str = ""
    """What of the task or the engine it describes, such as a sub-operation or an index; empty for all of it.
    """

    q: float = 0.0
    """Which percentile it is, from 0 to 100; 0 for other figures."""

    low: float | None = None
    """Lower bound of the 95 % interval, in `unit`; None if it has none."""

    high: float | None = None
    """Upper bound of the 95 % interval, in `unit`; None if it has none."""

    supported: bool = True
    """Whether there are enough samples for this percentile; true for other figures."""

    is_shown: bool = True
    """Whether reports and comparisons have it: of a distribution, percentiles that it has enough samples for.
    """

    operations: int = 0
    """Number of operations that it is a figure of; 0 if that is not known."""

    result: TaskResult | None = None
    """The task; None for a figure of the whole race, or of an imported one."""

    @property
    def which(self) -> str:
        """Which figure of the metric it is, as rows name it: `Mean`, or `99.9` for a percentile."""
        return f"{self.q:g}" if self.q else self.statistic.capitalize()

    @property
    def has_backlog(self) -> bool:
        """Whether it is a latency or a throughput that includes the backlog of the warm-up."""
        if self.result is None:
            return False
        if self.metric.key in _RATES:
            return throughput_includes_backlog(self.result)
        if not self.metric.is_latency:
            return False
        if self.statistic == "mean":
            return mean_includes_backlog(self.result)
        return includes_backlog(self.result, self.q)

    @property
    def is_endless(self) -> bool:
        """Whether it is a percentile of the latency of successes, but so many operations failed, or were not
        answered or not sent that the percentile of all is theirs.
        """
        return self.metric.is_latency and self.result is not None and is_endless(self.result, self.q)

    def unit_of(self, row: MetricRow) -> str:
        """Returns the unit of its row."""
        return self.unit if row.unit is None else row.unit.name

    def value_in(self, row: MetricRow) -> float | None:
        """Returns its value in the unit of its row."""
        return self.value if row.unit is None or self.value is None else row.unit.of(self.value)


def race_figures(record: RaceRecord, wanted: Collection[Metric] = _ALL) -> Iterator[Figure]:
    """Yields the figures of a race: those of the engine, those of each task, and those of the indices. A
    metric that was not measured has figures without a value, because reports may show their rows.

    Only those of the metrics `wanted` are made: races of a long trend have many.
    """
    if record.imported is not None:
        yield from (figure for figure in _imported(record.imported) if figure.metric in wanted)
        return
    yield from engine_figures(record.system, wanted)
    for task in record.tasks:
        yield from task_figures(task, wanted)
        if target := record.targets.get(task.task):
            unit, of_task = f"{target.unit}/s", _Maker.of(task)
            if (metric := METRICS["target_rate"]) in wanted:
                yield of_task.figure(metric, target.value, unit)
            if (metric := METRICS["achieved_rate"]) in wanted:
                yield of_task.figure(metric, achieved_rate(task, target), unit)
    if saturation := record.saturation:
        of_task = _Maker(saturation.task)
        if (metric := METRICS["saturation_stable"]) in wanted:
            yield of_task.figure(metric, saturation.stable, f"{OPS}/s")
        if (metric := METRICS["saturation_unstable"]) in wanted:
            yield of_task.figure(metric, saturation.unstable, f"{OPS}/s")
    of_documents = [metric for metric in DOCUMENTS if metric in wanted]
    for check in record.documents if of_documents else ():
        of_index = _Maker(part=check.label)
        for metric in of_documents:
            yield from of_index.figures(metric, origin_value(metric.origin, check))


def engine_figures(system: SystemMetrics, wanted: Collection[Metric] = _ALL) -> Iterator[Figure]:
    """Yields the figures of the engine."""
    for metric in ENGINE:
        if metric not in wanted:
            continue
        value = origin_value(metric.origin, system)
        for item in value if isinstance(value, tuple) else ():
            yield from _item_figures(metric, item)
        if not isinstance(value, tuple):
            yield from _Maker().figures(metric, value)


def task_figures(task: TaskResult, wanted: Collection[Metric] = _ALL) -> Iterator[Figure]:
    """Yields the figures of a task and of its parts."""
    of_task = _Maker.of(task)
    metrics = [metric for metric in TASK if metric in wanted]
    for metric in metrics:
        if metric.origin and (task.paced or not metric.is_scheduled):
            yield from of_task.figures(metric, origin_value(metric.origin, task))
    if (with_failures := METRICS["latency_with_failures"]) in wanted:
        yield from of_task.censored(with_failures, task.latency_with_failures)
    if METRICS["failures"] in wanted:
        yield from _failures(task, of_task)
    for name, part in zip(part_names(task.parts), task.parts, strict=True):
        of_part = replace(of_task, operation=part.operation, part=name)
        for metric in metrics:
            if metric.origin_of_part:
                yield from of_part.figures(metric, origin_value(metric.origin_of_part, part))
    if (of_runner := METRICS["runner_value"]) in wanted:
        for name, returned in task.values.items():
            of_value = replace(of_task, part=name, unit="", operations=returned.count)
            yield from of_value.returned(of_runner, returned)


def part_names(parts: Sequence[SubOperationResult]) -> tuple[str, ...]:
    """Returns the names of the sub-operations of a task, with their types where they alone do not tell them
    apart: operations of several types may have one name.
    """
    counts = Counter(name for name, _ in {(part.operation, part.operation_type) for part in parts})
    with_type = [f"{part.operation} ({part.operation_type})" for part in parts]
    names = [
        typed if counts[part.operation] > 1 else part.operation
        for part, typed in zip(parts, with_type, strict=True)
    ]
    # A name such as `x (sleep)` may equal that of a different operation with its type.
    return tuple(with_type if len(set(names)) < len(set(with_type)) else names)


def _failures(task: TaskResult, of_task: _Maker) -> Iterator[Figure]:
    counts = Counter[tuple[str, str]]()
    for group in task.errors:
        counts[group.label, f"{group.counted}s"] += group.count
    for (label, unit), count in counts.items():
        yield replace(of_task, part=label).figure(METRICS["failures"], count, unit)


def origin_value(origin: str | Callable[[Any], object], source: object) -> object:
    """Returns the value of a metric: `origin` says where `source` has it."""
    return origin(source) if callable(origin) else _getter(origin)(source)


@cache
def _getter(origin: str) -> attrgetter[object]:
    return attrgetter(origin)


class _Maker(Struct, frozen=True):
    """Makes the figures of one task, or of one part of it or of the engine."""

    task: str = ""
    operation: str = ""
    part: str = ""
    unit: str = ""
    operations: int = 0
    result: TaskResult | None = None

    @classmethod
    def of(cls, task: TaskResult) -> _Maker:
        """Returns what makes the figures of a task."""
        return cls(task.task, task.operation, "", task.unit, task.accounting.normal, task)

    def figure(
        self, metric: Metric, value: object, unit: str | None = None, statistic: str = VALUE
    ) -> Figure:
        """Returns a figure; its unit is that of the metric, unless another one is given."""
        if unit is None:
            unit = metric.unit
            if unit in ("rate", "other"):
                unit = f"{self.unit}/s" if unit == "rate" else self.unit
        return self._figure(metric, value, unit, statistic, is_shown=True)

    def _unshown(self, metric: Metric, value: float, unit: str, statistic: str) -> Figure:
        return self._figure(metric, value, unit, statistic, is_shown=False)

    def _figure(self, metric: Metric, value: object, unit: str, statistic: str, *, is_shown: bool) -> Figure:
        assert value is None or isinstance(value, int | float)
        return Figure(
            *(metric, statistic, value, unit, self.task, self.operation, self.part),
            is_shown=is_shown,
            operations=self.operations,
            result=self.result,
        )

    def figures(self, metric: Metric, value: object) -> Iterator[Figure]:
        """Yields the figures of a value that is a number, a distribution, or has the statistics."""
        if metric.form == "times":
            assert value is None or isinstance(value, DurationSummary)
            yield from self._times(metric, value)
        elif metric.statistics == (VALUE,):
            yield self.figure(metric, value)
        else:
            for which in metric.statistics:
                yield self.figure(metric, getattr(value, which, None), None, which)

    def _times(self, metric: Metric, times: DurationSummary | None) -> Iterator[Figure]:
        """Yields the count of a distribution, its extremes, its mean and its percentiles."""
        computed, shown = dict[float, Percentile](), tuple[float, ...]()
        if times is not None:
            # The driver computes a percentile from a share, so that it may have a rounding error.
            computed = {float(f"{found.q:.10g}"): found for found in times.percentiles}
            fixed = metric.row.percentiles if metric.row else ()
            shown = fixed or percentiles_for(times.count)
            yield self._unshown(metric, times.count, "", "count")
            yield self._unshown(metric, times.min_ms, "ms", "min")
            yield self._unshown(metric, times.mean_ms, "ms", "mean")
        for q in sorted({*computed, *REPORTED_PERCENTILES} - {_LARGEST}):
            yield self._percentile(metric, q, computed.get(q), is_shown=q in shown)
        largest = None if times is None else Percentile(_LARGEST, times.max_ms, None, None, supported=True)
        yield self._percentile(metric, _LARGEST, largest, is_shown=_LARGEST in shown)

    def censored(self, metric: Metric, percentiles: Iterable[CensoredPercentile]) -> Iterator[Figure]:
        """Yields percentiles of durations of which some never ended; one that never ended has no value."""
        for percentile in percentiles:
            if percentile.ms is not None:
                bounded = Percentile(
                    percentile.q, percentile.ms, None, percentile.high_ms, percentile.supported
                )
                yield self._percentile(metric, float(f"{percentile.q:.10g}"), bounded, is_shown=False)

    def _percentile(
        self, metric: Metric, q: float, percentile: Percentile | None, *, is_shown: bool
    ) -> Figure:
        return Figure(
            metric,
            "max" if q == _LARGEST else percentile_name(q),
            percentile.ms if percentile else None,
            *("ms", self.task, self.operation, self.part, q),
            low=percentile.low_ms if percentile else None,
            high=percentile.high_ms if percentile else None,
            supported=percentile.supported if percentile else True,
            is_shown=is_shown,
            operations=self.operations,
            result=self.result,
        )

    def returned(self, metric: Metric, value: ValueSummary) -> Iterator[Figure]:
        """Yields the figures of a number that a runner returned."""
        yield self._unshown(metric, value.count, "", "count")
        for figure in self.figures(metric, value):
            is_mean = figure.statistic == "mean"
            bounds = (value.low, value.high) if is_mean else (None, None)
            yield msgspec.structs.replace(
                figure, low=bounds[0], high=bounds[1], is_shown=is_mean and is_figure(self.part)
            )


def percentile_name(q: float) -> str:
    """Returns the statistic of a percentile (0 to 100), such as `p99.9`."""
    return f"p{q:.10g}"


def _item_figures(metric: Metric, item: MlProcessingTime | TransformFigure | FieldUsage) -> Iterator[Figure]:
    """Yields the figures of a job, a transform or a field."""
    if isinstance(item, MlProcessingTime):
        for which in metric.statistics:
            yield _Maker(part=item.job).figure(metric, getattr(item, which), item.unit, which)
    elif isinstance(item, TransformFigure):
        yield _Maker(part=item.id).figure(metric, item.mean, item.unit)
    else:
        yield _Maker(part=f"{item.index}/{item.field}").figure(metric, item.value)


def _imported(imported: ImportedResults) -> Iterator[Figure]:
    tasks = {task.task: task for task in imported_tasks(imported.values)}
    for value in imported.values:
        of_task = _Maker(value.task)
        percentile, which = percentile_of(value.metric), throughput_of(value.metric)
        task = tasks.get(value.task)
        if task is not None and percentile is not None and value.unit == "ms":
            kind, q = percentile
            is_max = q >= _LARGEST
            yield Figure(
                METRICS[kind.replace(" ", "_")],
                "max" if is_max else percentile_name(q),
                *(value.value, "ms", value.task, "", "", q),
                supported=is_max or task.supports(kind, q),
            )
        elif task is not None and which is not None:
            yield of_task.figure(METRICS["throughput"], value.value, value.unit, which)
        elif task is not None and value.metric == ERROR_RATE:
            yield of_task.figure(METRICS["error_rate"], task.error_rate)
        else:
            # Under its name in Rally, because it may mean something else: times of shards, for example, do
            # not begin with the race there.
            yield replace(of_task, part=value.metric).figure(IMPORTED, value.value, value.unit)
