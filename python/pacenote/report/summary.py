"""The summary report of one race: Rally's rows in Rally's order, then rows that Rally does not have. The
catalogue of figures names them. A value that does not exist is None, not 0.

Intentional differences from Rally: latency is shown only for tasks with a target rate (for others it equals
the service time), a value of 0 is shown, and values of primary shards cover only the race. The rows of the
heap used for segments only have values with engines that measure it, such as Elasticsearch 7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from pacenote.figures.metric import MetricRow, RowGroup
from pacenote.figures.of_race import Figure, race_figures
from pacenote.model.printable import whole_line
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.model.result import REPORTED_PERCENTILES
from pacenote.model.task_kinds import reported_tasks
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.report.imported_rows import imported_footnotes, imported_rows
from pacenote.report.notes import footnotes, header, notes, printable_finding
from pacenote.report.rows import PERCENTILE_KINDS, SHORT_WINDOW_MARK, UNSUPPORTED_MARK, Report, Row, ShownRows


def build_report(
    record: RaceRecord, show: ShownRows = "available", *, show_processing_time: bool = False
) -> Report:
    """Returns the report of a race, which may have been interrupted or may still be running.

    `show_processing_time` adds the percentiles of processing time (Rally's `output.processingtime`).
    """
    rows = (
        _rows(record, with_processing=show_processing_time)
        if record.imported is None
        else imported_rows(record.imported)
    )
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


def _rows(record: RaceRecord, *, with_processing: bool) -> Iterator[Row]:
    """Yields Rally's rows, then the further ones of the tasks, and then those of the race."""
    reported = {"", *(task.task for task in reported_tasks(record))}
    engine, usages, groups = list[Row](), list[Figure](), defaultdict[RowGroup, list[Row]](list)
    for figure in race_figures(record):
        row = figure.metric.row
        if row is None or not _has_row(figure, row):
            continue
        if row.kind == "disk-usage":
            usages.append(figure)
        elif row.kind == "processing-time" and not with_processing:
            continue
        elif row.group == "race" or figure.task in reported:
            shown = _row(figure, row)
            group = "task" if row.group == "rally" and not shown.is_rallys else row.group
            (groups[group] if figure.task or group == "race" else engine).append(shown)
    yield from (*engine, *_disk_usage_rows(usages), *groups["rally"], *groups["task"], *groups["race"])


def _has_row(figure: Figure, row: MetricRow) -> bool:
    """Returns whether a report can show a figure; with too few samples it has no value."""
    if figure.q:
        is_fixed = bool(row.percentiles)
        return figure.q in (row.percentiles or REPORTED_PERCENTILES) and (
            figure.value is not None or not is_fixed
        )
    return figure.is_shown and not (row.hides_zero and not figure.value)


def _row(figure: Figure, row: MetricRow) -> Row:
    is_rallys = row.group == "rally" and not (figure.task and figure.part)
    value = figure.value_in(row) if figure.is_shown else None
    is_doubtful = value is not None and not figure.supported
    return Row(
        _label(figure, row),
        _subject(figure, row),
        value if row.decimals is None else _rounded(value, figure.unit_of(row), row.decimals),
        figure.unit_of(row),
        row.kind,
        _marks(figure) if value is not None else "",
        figure.low if is_doubtful else None,
        figure.high if is_doubtful else None,
        is_rallys=is_rallys,
        decimals=row.decimals if is_rallys else None,
    )


def _label(figure: Figure, row: MetricRow) -> str:
    task = figure.result
    if row.bulk_label and task and task.operation_type == "bulk" and task.unit == "docs":
        return row.bulk_label
    label = row.named(figure.which, figure.part)
    return label.removeprefix("mean ") if figure.metric.kind == "custom" and figure.operations == 1 else label


def _subject(figure: Figure, row: MetricRow) -> str:
    """Returns what a row is about: a task, a part of it, or a part of the engine."""
    part = "" if "{part}" in row.label else figure.part
    return f"{figure.task}/{part}" if figure.task and part else figure.task or part


def _marks(figure: Figure) -> str:
    task = figure.result
    if figure.metric.kind == "throughput" and task is not None:
        seconds = task.window_s if task.reported_s is None else task.reported_s
        mark = SHORT_WINDOW_MARK if task.throughput and task.throughput.mean and seconds < 1 else ""
        return mark + BACKLOG_MARK if figure.has_backlog else mark
    # The 100th percentile is the largest measured value, not an estimate that may be unsupported.
    mark = "" if figure.supported else UNSUPPORTED_MARK
    return mark + BACKLOG_MARK if figure.has_backlog else mark


def _rounded(value: float | None, unit: str, decimals: int) -> float | None:
    """Returns a value with the decimals that Rally has, or with as many as it needs for three significant
    digits: an operation of ten minutes has 0.00167 of a throughput, not 0. A percentage is not rounded if
    that would hide all failures or all successes.
    """
    if value is None:
        return None
    if unit != "%" and abs(value) < 1.0:
        return float(f"{value:.3g}")
    rounded = round(value, decimals)
    hides = unit == "%" and (rounded <= 0.0 < value or value < 100.0 <= rounded)
    return value if hides else rounded


def _disk_usage_rows(usages: Sequence[Figure]) -> Iterator[Row]:
    """Yields the disk space of fields by index, the largest field first; Rally shows a readable unit."""
    totals = {usage.part: usage.value or 0.0 for usage in usages if usage.metric.is_total}
    largest = sorted(totals, key=lambda part: (part.partition("/")[0], -totals[part], part.partition("/")[2]))
    order = {part: place for place, part in enumerate(largest)}
    # The sort is stable, so that the structures of a field keep Rally's order.
    for usage in sorted(usages, key=lambda usage: order.get(usage.part, len(order))):
        if usage.metric.row is not None and usage.value is not None:
            value, unit = _readable_size(usage.value)
            yield Row(f"{usage.part.replace('/', ' ', 1)} {usage.metric.row.label}", "", value, unit)


def _readable_size(size: float) -> tuple[float, str]:
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:
            return size, unit
        size /= 1024
    return size, "GB"
