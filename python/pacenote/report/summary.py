"""The summary report of one race: Rally's rows in Rally's order, then rows that Rally does not have.

A new row is a `Row` in the function for its kind: the engine (`_system_rows`), a task (`_task_rows`,
`_additional_task_rows`) or the race (`_additional_race_rows`). A value that does not exist is None, not 0.

Intentional differences from Rally: latency is shown only for tasks with a target rate (for others it equals
the service time), a value of 0 is shown, and values of primary shards cover only the race. The rows of the
heap used for segments only have values with engines that measure it, such as Elasticsearch 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pacenote.model.custom_metrics import is_figure
from pacenote.model.printable import whole_line
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.model.result import PERCENTILES, DurationSummary, Percentile, TaskResult, percentiles_for
from pacenote.model.system_metrics import (
    COLLECTORS,
    DISK_USAGE,
    SEGMENT_MEMORY,
    SHARD_TIMES,
    SIZES,
    TRANSFORM_FIGURES,
    SystemMetrics,
)
from pacenote.model.target_rate import achieved_rate
from pacenote.model.task_kinds import reported_tasks
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.report.imported_rows import imported_footnotes, imported_rows
from pacenote.report.notes import footnotes, header, notes, printable_finding
from pacenote.report.rows import (
    PERCENTILE_KINDS,
    SHORT_WINDOW_MARK,
    UNSUPPORTED_MARK,
    PercentileKind,
    Report,
    Row,
    ShownRows,
)

_MINUTE_MS = 60_000.0


def build_report(
    record: RaceRecord, show: ShownRows = "available", *, show_processing_time: bool = False
) -> Report:
    """Returns the report of a race, which may have been interrupted or may still be running.

    `show_processing_time` adds the percentiles of processing time (Rally's `output.processingtime`).
    """
    reported = reported_tasks(record)
    rows = [
        *_system_rows(record.system),
        *(row for task in reported for row in _task_rows(task, with_processing=show_processing_time)),
        *(replace(row, is_rallys=False) for task in reported for row in _additional_task_rows(task)),
        *(replace(row, is_rallys=False) for row in _additional_race_rows(record)),
    ]
    if record.imported is not None:
        rows = list(imported_rows(record.imported))
    shown = tuple(
        replace(row, metric=whole_line(row.metric), task=whole_line(row.task), unit=whole_line(row.unit))
        for row in rows
        if row.value is not None or _is_forced(row, show)
    )
    verdict = Verdict(record.verdict.state, tuple(map(printable_finding, record.verdict.findings)))
    explained = footnotes(shown) if record.imported is None else imported_footnotes(shown, record.imported)
    return Report(header(record), shown, verdict, notes(record), explained)


def _is_forced(row: Row, show: ShownRows) -> bool:
    return show == "all" or (show == "all-percentiles" and row.kind in PERCENTILE_KINDS)


def _system_rows(system: SystemMetrics) -> Iterator[Row]:
    for name, field, count in SHARD_TIMES:
        yield Row(
            f"Cumulative {name} time of primary shards", "", _minutes(getattr(system, field)), "min", "shards"
        )
        if count:
            yield Row(f"Cumulative {name} count of primary shards", "", getattr(system, count), "", "shards")
        spread = getattr(system, f"{field}_per_shard")
        for which in ("min", "median", "max"):
            value = _minutes(getattr(spread, which)) if spread else None
            yield Row(
                f"{which.capitalize()} cumulative {name} time across primary shards",
                "",
                value,
                "min",
                "shards",
            )
    for job in system.ml_processing_time:
        for which in ("min", "mean", "median", "max"):
            yield Row(f"{which.capitalize()} ML processing time", job.job, getattr(job, which), job.unit)
    for name, field in COLLECTORS:
        time_ms = getattr(system, f"{field}_gc_time")
        yield Row(f"Total {name} GC time", "", None if time_ms is None else time_ms / 1000, "s")
        yield Row(f"Total {name} GC count", "", getattr(system, f"{field}_gc_count"), "")
    for name, field in SIZES:
        size = getattr(system, field)
        yield Row(name, "", None if size is None else size / 1024**3, "GB")
    for name, field in SEGMENT_MEMORY:
        size = getattr(system, field)
        yield Row(f"Heap used for {name}", "", None if size is None else size / 1024**2, "MB")
    yield Row("Segment count", "", system.segment_count, "")
    for name, field in TRANSFORM_FIGURES:
        for figure in getattr(system, field):
            yield Row(name, figure.id, figure.mean, figure.unit)
    time_ms = system.ingest_pipeline_cluster_time
    yield Row("Total Ingest Pipeline count", "", system.ingest_pipeline_cluster_count, "")
    yield Row("Total Ingest Pipeline time", "", None if time_ms is None else time_ms / 1000, "s")
    yield Row("Total Ingest Pipeline failed", "", system.ingest_pipeline_cluster_failed, "")
    yield from _disk_usage_rows(system)


def _disk_usage_rows(system: SystemMetrics) -> Iterator[Row]:
    """Yields the disk space of fields by index, the largest field first; Rally shows a readable unit."""
    largest = sorted(system.disk_usage_total, key=lambda each: (each.index, -each.value, each.field))
    order = {(each.index, each.field): place for place, each in enumerate(largest)}
    found = [
        (order.get((each.index, each.field), len(order)), name, each)
        for name, field in DISK_USAGE
        for each in getattr(system, field)
    ]
    # The sort is stable, so that the structures of a field keep Rally's order.
    for _, name, each in sorted(found, key=lambda row: row[0]):
        value, unit = _readable_size(each.value)
        yield Row(f"{each.index} {each.field} {name}", "", value, unit)


def _readable_size(size: float) -> tuple[float, str]:
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:
            return size, unit
        size /= 1024
    return size, "GB"


def _minutes(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / _MINUTE_MS


def _task_rows(task: TaskResult, *, with_processing: bool) -> Iterator[Row]:
    for which in ("min", "mean", "median", "max"):
        value = round(getattr(task.throughput, which), 2) if task.throughput else None
        seconds = task.window_s if task.reported_s is None else task.reported_s
        mark = SHORT_WINDOW_MARK if task.throughput and task.throughput.mean and seconds < 1 else ""
        metric = f"{which.capitalize()} Throughput"
        yield Row(metric, task.task, value, f"{task.unit}/s", mark=mark, decimals=2)
    if task.paced:
        rows = _percentile_rows(task.task, "latency", task.latency)
        yield from map(_with_backlog, rows) if task.warmup_backlog.marked else rows
    yield from _percentile_rows(task.task, "service-time", task.service_time)
    if with_processing:
        yield from _percentile_rows(task.task, "processing-time", task.processing_time)
    # Without measured operations, the error rate is None, because 0 would mean that all succeeded.
    # Older records have 0 instead of None.
    rate = _percent(task.error_rate) if task.accounting.normal else None
    yield Row("error rate", task.task, rate, "%", decimals=2)


def _with_backlog(row: Row) -> Row:
    """Returns a row of a latency that includes the backlog of the warm-up, with its mark."""
    return row if row.value is None else replace(row, mark=row.mark + BACKLOG_MARK)


def _percent(rate: float | None) -> float | None:
    """Returns a percentage with two decimals as in Rally, unless rounding would hide all failures or all
    successes. Returns None without a rate.
    """
    if rate is None:
        return None
    percent = rate * 100
    rounded = round(percent, 2)
    hides = rounded <= 0.0 < percent or percent < 100.0 <= rounded
    return percent if hides else rounded


def _percentile_rows(task: str, kind: PercentileKind, times: DurationSummary | None) -> Iterator[Row]:
    shown = percentiles_for(times.count) if times else ()
    for q in PERCENTILES:
        percentile = times.at(q) if times and q in shown else None
        yield _percentile_row(task, kind, q, percentile)


def _percentile_row(task: str, kind: PercentileKind, q: float, percentile: Percentile | None) -> Row:
    metric = f"{q:g}th percentile {kind.replace('-', ' ')}"
    if percentile is None:
        return Row(metric, task, None, "ms", kind)
    # The 100th percentile is the largest measured value, not an estimate that may be unsupported.
    if percentile.supported or percentile.q >= 100.0:
        return Row(metric, task, percentile.ms, "ms", kind)
    return Row(
        metric, task, percentile.ms, "ms", kind, UNSUPPORTED_MARK, percentile.low_ms, percentile.high_ms
    )


def _additional_task_rows(task: TaskResult) -> Iterator[Row]:
    if task.paced and task.lateness:
        for q in (50.0, 99.0):
            yield _percentile_row(task.task, "lateness", q, task.lateness.at(q))
    indexes = task.operation_type == "bulk" and task.unit == "docs"
    yield Row("documents indexed" if indexes else "work done", task.task, task.work.done, task.unit)
    if task.work.failed:
        yield Row("documents failed" if indexes else "work failed", task.task, task.work.failed, task.unit)
    for part in task.parts:
        label = f"{task.task}/{part.operation}"
        yield from _percentile_rows(label, "service-time", part.service_time)
        yield Row("error rate", label, _percent(part.error_rate), "%")
    for name, value in task.values.items():
        if not is_figure(name):
            continue
        yield Row(name if value.count == 1 else f"mean {name}", task.task, value.mean, "")


def _additional_race_rows(record: RaceRecord) -> Iterator[Row]:
    for task in record.tasks:
        if target := record.targets.get(task.task):
            unit = f"{target.unit}/s"
            yield Row("target rate", task.task, target.value, unit)
            yield Row("achieved rate", task.task, round(achieved_rate(task, target), 2), unit)
    for check in record.documents:
        yield Row("documents acknowledged", check.index, check.acknowledged, "docs")
        yield Row("documents counted", check.index, check.counted, "docs")
