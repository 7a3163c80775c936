"""The tasks of a race: their table, the errors, the slowest of them, and the curves of their percentiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from pacenote.figures.percentiles import TABLE_PERCENTILES
from pacenote.model.headline import indexing_rate, main_indexing
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import DurationSummary, TaskResult
from pacenote.model.task_kinds import runs_once
from pacenote.model.unserved import is_endless
from pacenote.model.warmup_backlog import (
    BACKLOG_MARK,
    backlog_advice,
    backlog_text,
    drain_text,
    has_sound_latency,
    includes_backlog,
    surplus_text,
    unmarked_backlog_text,
)
from pacenote.report.page.numbers import plain
from pacenote.report.page.page import KeyFigure, PageCell, PageColumn, PageTable, RowGroup
from pacenote.report.page.race.operations import TimedTask
from pacenote.report.page.time_charts import Curve, CurveChart
from pacenote.report.screen.imported import COLUMNS, FOOTNOTE, imported_tables
from pacenote.report.screen.screen import TaskTable
from pacenote.report.task_line import TaskLine, percentile_text, task_line
from pacenote.units import format_count, format_rate, format_seconds
from pacenote.verdict.determine import missed_targets, targets_not_kept

TASKS = "data-tasks"
"""Id of the table of tasks."""

_CURVES = "data-percentiles"
_COMPARED = 99.0
_NAMED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
_HEADINGS = (
    *("Task", "Throughput", "Target", "p50", "p90", "p99", "p99.9", "Longest", "Errors"),
    *("Operations", "Clients", "Late p99", "Ran for", "Steady"),
)
_TEXTS = frozenset({"Task", "Steady"})

NOTE = (
    "Latency of operations that succeeded; service time in tasks without a target rate. "
    "≥: too few operations for this percentile, so only a lower bound is known with 95 % confidence."
)
"""Explains the table of tasks."""


def task_table(record: RaceRecord, tasks: Sequence[TaskResult]) -> PageTable:
    """Returns one row per task."""
    doubtful = {name for finding in record.verdict.findings for name in finding.tasks}
    missed = {task.task for task in targets_not_kept(record)}
    rows = tuple(_row(record, task, doubtful, missed) for task in tasks)
    columns = [PageColumn(heading, heading not in _TEXTS) for heading in _HEADINGS]
    kept = [
        number
        for number in range(len(columns))
        if any(cell.text for row in rows if isinstance(cell := row[number], PageCell))
    ]
    shown = tuple(tuple(row[number] for number in kept) for row in rows)
    caption = "Tasks in the order in which they ran"
    return PageTable(
        TASKS, caption, tuple(columns[number] for number in kept), (RowGroup("", shown),), is_sortable=True
    )


def _row(
    record: RaceRecord, task: TaskResult, doubtful: set[str], missed: set[str]
) -> tuple[PageCell | str, ...]:
    line = task_line(task, record.targets.get(task.task))
    # Also of tasks that run once, whose times are of interest here.
    times = task.latency or task.service_time
    ended = f" ({line.ended})" if line.ended else ""
    late = line.late_p99
    return (
        PageCell(line.name + ended, tone="doubtful" if task.task in doubtful else ""),
        _throughput(line),
        _target(line, is_missed=task.task in missed),
        *(_marked(_percentile(times, q), task, q) for q in TABLE_PERCENTILES),
        _marked(_time(times.max_ms if times else None), task, 100.0),
        PageCell(f"{line.failed:,}", line.failed, "wrong" if line.failed else "quiet"),
        PageCell(f"{task.accounting.normal:,}", task.accounting.normal),
        PageCell(f"{task.clients:,}", task.clients),
        _time(late.ms if late else None),
        PageCell(format_seconds(float(f"{task.duration_s:.3g}")), task.duration_s),
        PageCell("" if task.steady.state == "unknown" else task.steady.state.replace("-", " ")),
    )


def _throughput(line: TaskLine) -> PageCell:
    if line.rate is None:
        return PageCell("")
    text = f"{format_rate(line.rate)} {line.unit}/s"
    return (
        PageCell(f"{text} {BACKLOG_MARK}", line.rate, "doubtful")
        if line.rate_has_backlog
        else PageCell(text, line.rate)
    )


def _target(line: TaskLine, *, is_missed: bool) -> PageCell:
    if line.target is None or line.achieved is None:
        return PageCell("")
    text = f"{format_rate(line.target.value)} {single_line(line.target.unit)}/s"
    if is_missed:
        text += f", reached {format_rate(line.achieved)}"
    return PageCell(text, line.target.value, "wrong" if is_missed else "")


def _percentile(times: DurationSummary | None, q: float) -> PageCell:
    percentile = times.at(q) if times else None
    if percentile is None:
        return PageCell("")
    return PageCell(percentile_text(percentile), percentile.ms, "" if percentile.supported else "quiet")


def _marked(latency: PageCell, task: TaskResult, q: float) -> PageCell:
    """Returns a percentile of latency with its mark if it includes the backlog of the warm-up."""
    if not latency.text or not includes_backlog(task, q):
        return latency
    return replace(latency, text=f"{latency.text} {BACKLOG_MARK}", tone="doubtful")


def backlog_notes(record: RaceRecord, tasks: Sequence[TaskResult]) -> Iterator[str]:
    """Yields explanations of latencies and throughputs that include the backlog of the warm-up, of backlogs
    that mark none, and of windows that waited for it.
    """
    missed = missed_targets(record)
    for task in tasks:
        if text := backlog_text(task):
            advice = backlog_advice(task, misses_target=task in missed)
            yield f"{BACKLOG_MARK} {single_line(task.task)}: {text}; {advice}."
        if text := surplus_text(task):
            yield f"{BACKLOG_MARK} {single_line(task.task)}: {text}."
        for text in (unmarked_backlog_text(task), drain_text(task)):
            if text:
                yield f"{single_line(task.task)}: {text}."


def _time(ms: float | None) -> PageCell:
    return PageCell("") if ms is None else PageCell(format_seconds(ms / 1000), ms)


def imported_task_tables(record: RaceRecord) -> Iterator[PageTable]:
    """Yields the tables of the tasks of an imported race."""
    if record.imported is None:
        return
    for number, table in enumerate(imported_tables(record, record.imported)):
        yield _imported_table(f"{TASKS}-{number}", table)


def _imported_table(table_id: str, table: TaskTable) -> PageTable:
    kept = [index for index in range(len(COLUMNS)) if any(line.cells[index].text for line in table.lines)]
    rows = tuple(
        (PageCell(line.name), *(PageCell(line.cells[index].text) for index in kept)) for line in table.lines
    )
    columns = (PageColumn("Task", is_number=False), *(PageColumn(table.heads[index]) for index in kept))
    return PageTable(table_id, f"{table.title} ({FOOTNOTE})", columns, (RowGroup("", rows),))


def error_table(tasks: Sequence[TaskResult]) -> PageTable | None:
    """Returns the failures of all tasks by kind, the most frequent first, or None if there were none."""
    groups = [(task, group) for task in tasks for group in task.errors]
    if not groups:
        return None
    rows = tuple(
        (
            PageCell(single_line(task.task)),
            PageCell(single_line(group.label)),
            PageCell(format_count(group.count, group.counted), group.count),
            PageCell(f"{format_seconds(group.first_s)} to {format_seconds(group.last_s)}", group.first_s),
            PageCell(single_line(group.reason)),
        )
        for task, group in sorted(groups, key=lambda each: -each[1].count)
    )
    columns = (
        PageColumn("Task", is_number=False),
        PageColumn("Kind", is_number=False),
        PageColumn("Failed"),
        PageColumn("First to last, since the task began"),
        PageColumn("Example", is_number=False),
    )
    caption = "Failures by kind, warm-up included"
    return PageTable("data-errors", caption, columns, (RowGroup("", rows),), is_sortable=True)


def speed_figure(tasks: Sequence[TaskResult]) -> KeyFigure | None:
    """Returns the throughput of the task that indexed most, or else of the one with most operations."""
    task = main_indexing(tasks)
    if task:
        return KeyFigure("Indexing", indexing_rate(task), single_line(task.task))
    measured = [each for each in tasks if each.throughput and not runs_once(each)]
    if not measured:
        return None
    most = max(measured, key=lambda each: each.accounting.normal)
    rate = most.throughput.mean if most.throughput else 0.0
    return KeyFigure("Throughput", f"{format_rate(rate)} {single_line(most.unit)}/s", single_line(most.task))


def slowest_figure(tasks: Sequence[TaskResult], *, is_supported: bool = False) -> KeyFigure | None:
    """Returns p99 of the slowest task, or its lower bound if the task has too few operations; with
    `is_supported`, only of tasks that have enough. Tasks whose latency includes the backlog of their warm-up
    do not count, nor do those of which more than 1 % of the operations have no latency. None if it is not
    known of any task.
    """
    known = [
        (percentile.ms if percentile.supported else percentile.low_ms or 0.0, percentile, task)
        for task in tasks
        if not runs_once(task)
        and has_sound_latency(task)
        and not is_endless(task, _COMPARED)
        and (times := task.latency or task.service_time)
        and (percentile := times.at(_COMPARED))
        and percentile_text(percentile)
        and (percentile.supported or not is_supported)
    ]
    if not known:
        return None
    _, percentile, task = max(known, key=lambda each: each[0])
    detail = f"{'latency' if task.latency else 'service time'} of {single_line(task.task)}"
    if not percentile.supported:
        detail += "; too few operations for p99"
    return KeyFigure("Slowest p99", percentile_text(percentile), detail)


def curve_chart(tasks: Sequence[TimedTask]) -> tuple[PageTable, CurveChart] | None:
    """Returns the percentiles of all tasks that have at least a median, or None if there are none."""
    charted = [task for task in tasks if task.line.curve and not runs_once(task.result)]
    if not charted:
        return None
    charted.sort(key=lambda task: max(each.ms for each in task.line.curve), reverse=True)
    curves = tuple(Curve(task.name, tuple((each.q, each.ms) for each in task.line.curve)) for task in charted)
    qs = sorted({q for curve in curves for q, _ in curve.points})
    rows = tuple(
        (curve.name, *(plain(values.get(q)) for q in qs))
        for curve in curves
        for values in [dict(curve.points)]
    )
    columns = (PageColumn("Task", is_number=False), *(PageColumn(f"p{float(f'{q:.6g}'):g}") for q in qs))
    caption = "Percentiles in milliseconds; empty if there are too few operations"
    sound = [curve for task, curve in zip(charted, curves, strict=True) if has_sound_latency(task.result)]
    summary = _slowest_curve(sound[0]) if sound else "All include the backlog of their warm-up."
    table = PageTable(_CURVES, caption, columns, (RowGroup("", rows),), is_folded=True)
    return table, CurveChart("percentiles", "Percentiles", summary, _CURVES, curves)


def _slowest_curve(curve: Curve) -> str:
    named = (point for point in reversed(curve.points) if round(point[0], 6) in _NAMED)
    q, ms = next(named, curve.points[-1])
    return f"The slowest is {curve.name}, with {format_seconds(ms / 1000)} at p{q:.4g}."
