"""The tables with one line per task, and the footnotes that explain their marks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from pacenote.figures.percentiles import TABLE_PERCENTILES
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import RaceTimeline
from pacenote.model.result import Percentile, TaskResult, percentiles_for
from pacenote.model.target_rate import TargetRate
from pacenote.model.task_kinds import indexes, runs_once, searches
from pacenote.model.warmup_backlog import (
    BACKLOG_MARK,
    backlog_advice,
    backlog_text,
    drain_text,
    includes_backlog,
    surplus_text,
    unmarked_backlog_text,
    unused_drain_text,
)
from pacenote.report.notes import mostly_waits
from pacenote.report.rows import SHORT_WINDOW_MARK, UNSUPPORTED_MARK
from pacenote.report.screen.screen import Cell, Column, TaskRow, TaskTable
from pacenote.report.screen.sparkline import sparkline
from pacenote.report.screen.task_trend import TREND_BARS, trend
from pacenote.report.task_line import TaskLine, task_line
from pacenote.units import format_range, format_rate, format_seconds
from pacenote.verdict.determine import missed_targets, targets_not_kept

UNSTEADY_MARK = "~"
"""Marks a task that became faster or slower while it was measured."""

WAITING_MARK = "^"
"""Marks a task of which most of the latency is waiting for previous responses."""

_RATE, _MAX, _COUNT, _CLIENTS, _LATE, _ERRORS = "rate", "max", "operations", "clients", "late p99", "errors"
_SERVICE, _TREND = "service p50", "trend"
*_SHOWN, _HIGHEST = TABLE_PERCENTILES
_PERCENTILES = {f"p{q:g}": q for q in _SHOWN}
_HIGH = f"p{_HIGHEST:g}"

COLUMNS = (
    Column(_RATE),
    Column("p50", heading="latency p50"),
    Column("p90", priority=2),
    Column("p99", is_essential=False),
    Column(_HIGH, priority=4),
    Column(_MAX, priority=3),
    Column(_ERRORS),
    Column(_TREND, priority=1),
    Column(_SERVICE, priority=5),
    Column(_COUNT, priority=6),
    Column(_CLIENTS, priority=7),
    Column(_LATE, priority=8),
)
"""The columns of every table."""

_ENOUGH = {50.0: 6, 90.0: 36, 99.0: 368}
"""Number of values that a percentile needs; see docs/measuring.md."""


def task_tables(
    record: RaceRecord, reported: Sequence[TaskResult], timeline: RaceTimeline | None = None
) -> tuple[TaskTable, ...]:
    """Returns the tables of the tasks for which a rate and percentiles say something."""
    kinds: tuple[tuple[str, Callable[[TaskResult], bool]], ...] = (
        ("Indexing", indexes),
        ("Searches", searches),
        ("Requests", lambda task: not (indexes(task) or searches(task) or runs_once(task))),
    )
    marks = _Marks(record, timeline)
    groups = ((title, [task for task in reported if matches(task)]) for title, matches in kinds)
    return tuple(_table(title, tasks, marks) for title, tasks in groups if tasks)


def footnotes(
    record: RaceRecord, reported: Sequence[TaskResult], timeline: RaceTimeline | None = None
) -> tuple[str, ...]:
    """Returns explanations of the marks that occur in the tables."""
    tasks = [task for task in reported if not runs_once(task)]
    return (
        *_trend_note(tasks, timeline),
        *_unsupported_note(tasks),
        *_short_note(tasks),
        *_backlog_notes(tasks, missed_targets(record)),
        *_unsteady_note(tasks),
        *_waiting_note(tasks),
    )


def race_notes(record: RaceRecord) -> Iterator[str]:
    """Yields that an option had no effect, and which tasks did not send all of their documents."""
    if text := unused_drain_text(record):
        yield text
    yield from (f"{single_line(unsent.task)} {unsent.text}" for unsent in record.unsent_documents)


class _Marks:
    """What the verdict says about the tasks of a race, and what they did over time."""

    def __init__(self, record: RaceRecord, timeline: RaceTimeline | None) -> None:
        self.timeline = timeline
        self.targets = record.targets
        self.doubtful = {name for finding in record.verdict.findings for name in finding.tasks}
        self.missed = {task.task for task in targets_not_kept(record)}


def _table(title: str, tasks: Sequence[TaskResult], marks: _Marks) -> TaskTable:
    units = [_shown_unit(task, marks.targets.get(task.task)) for task in tasks]
    rate = f"{single_line(units[0])}/s"
    has_target = any(task.task in marks.targets for task in tasks)
    rate = f"{rate} / target" if has_target else rate
    headings = {_RATE: rate}
    if not any(task.latency for task in tasks):
        # The service time, which the other column repeats for tasks with a schedule.
        headings |= {"p50": _SERVICE, _SERVICE: ""}
    return TaskTable(
        title,
        heads=tuple(headings.get(column.name, column.heading or column.name) for column in COLUMNS),
        lines=tuple(_line(task, units[0], marks) for task in tasks),
    )


def _shown_unit(task: TaskResult, target: TargetRate | None) -> str:
    return target.unit if target else task.unit


def _line(task: TaskResult, unit: str, marks: _Marks) -> TaskRow:
    line = task_line(task, marks.targets.get(task.task))
    high = line.times.at(_HIGHEST) if line.times else None
    service = task.service_time.at(50.0) if task.service_time and task.latency else None
    cells = {
        _RATE: Cell(_rate(line, unit), task.task in marks.missed),
        **{name: Cell(_marked(_percentile(line.percentile(q)), task, q)) for name, q in _PERCENTILES.items()},
        _HIGH: Cell(_marked(_if_supported(high), task, _HIGHEST)),
        _MAX: Cell(_marked(_milliseconds(line.times.max_ms) if line.times else "", task, 100.0)),
        _ERRORS: Cell(f"{line.failed:,}", is_wrong=line.failed > 0),
        _TREND: Cell(sparkline(trend(task, marks.timeline))),
        _SERVICE: Cell(_if_supported(service)),
        _COUNT: Cell(f"{task.accounting.normal:,}"),
        _CLIENTS: Cell(f"{task.clients:,}"),
        _LATE: Cell(_if_supported(line.late_p99)),
    }
    name = line.name + (f" {UNSTEADY_MARK}" if task.steady.changes else "")
    name += f" {WAITING_MARK}" if mostly_waits(task) else ""
    name += f" ({line.ended})" if line.ended else ""
    return TaskRow(name, tuple(cells[column.name] for column in COLUMNS), task.task in marks.doubtful)


def _rate(line: TaskLine, unit: str) -> str:
    """Returns the achieved rate, beside the target rate if there is one."""
    if line.target is not None and line.achieved is not None:
        rates, own = f"{format_rate(line.achieved)} / {format_rate(line.target.value)}", line.target.unit
    elif line.rate is not None:
        rates, own = format_rate(line.rate), line.unit
    else:
        return ""
    with_unit = rates if own == unit else f"{rates} {single_line(own)}/s"
    mark = SHORT_WINDOW_MARK if line.is_extrapolated else ""
    return with_unit + mark + (BACKLOG_MARK if line.rate_has_backlog else "")


def _percentile(percentile: Percentile | None) -> str:
    """Returns a percentile or, if there are too few samples for it, what is known of it, with a mark."""
    if percentile is None:
        return ""
    if percentile.supported:
        return _milliseconds(percentile.ms)
    if percentile.low_ms is not None:
        return f">={_milliseconds(percentile.low_ms)}{UNSUPPORTED_MARK}"
    return UNSUPPORTED_MARK


def _marked(latency: str, task: TaskResult, q: float) -> str:
    """Returns a percentile of latency with its mark if it includes the backlog of the warm-up."""
    return f"{latency}{BACKLOG_MARK}" if latency and includes_backlog(task, q) else latency


def _if_supported(percentile: Percentile | None) -> str:
    return _milliseconds(percentile.ms) if percentile and percentile.supported else ""


def _trend_note(tasks: Sequence[TaskResult], timeline: RaceTimeline | None) -> Iterator[str]:
    """Yields what the bars of the trends are."""
    shown = [task for task in tasks if trend(task, timeline)]
    whats = {
        "throughput" if indexes(task) else f"p90 of {'latency' if task.latency else 'service time'}": None
        for task in shown
    }
    if whats:
        what = ", ".join(whats)
        yield f"{_TREND} {what} in up to {TREND_BARS} parts of the measured time, from 0 to the highest"


def _unsupported_note(tasks: Sequence[TaskResult]) -> Iterator[str]:
    """Yields the number of samples that marked percentiles need, and that the tasks have."""
    needed: dict[str, int] = {}
    counts: list[int] = []
    for task in tasks:
        times = task.latency or task.service_time
        shown = percentiles_for(times.count) if times else ()
        for name, q in _PERCENTILES.items():
            if times and q in shown and (percentile := times.at(q)) and not percentile.supported:
                needed[name] = _ENOUGH[q]
                counts.append(times.count)
    if needed:
        needs = ", ".join(
            f"{name} needs at least {count:,}"
            for name, count in sorted(needed.items(), key=lambda one: one[1])
        )
        have = format_range(counts, "{:,.0f}".format)
        more = "raise iterations or time-period in the track"
        yield f"{UNSUPPORTED_MARK} too few samples ({have}): {needs}; {more}"


def _short_note(tasks: Sequence[TaskResult]) -> Iterator[str]:
    if any(task_line(task).is_extrapolated for task in tasks):
        yield f"{SHORT_WINDOW_MARK} measured for less than a second: the rate is extrapolated"


def _backlog_notes(tasks: Sequence[TaskResult], missed: Collection[TaskResult]) -> Iterator[str]:
    for task in tasks:
        if text := backlog_text(task):
            advice = backlog_advice(task, misses_target=task in missed)
            yield f"{BACKLOG_MARK} {single_line(task.task)}: {text}: {advice}"
        if text := surplus_text(task):
            yield f"{BACKLOG_MARK} {single_line(task.task)}: {text}"
        for text in (unmarked_backlog_text(task), drain_text(task)):
            if text:
                yield f"{single_line(task.task)}: {text}"


def _unsteady_note(tasks: Sequence[TaskResult]) -> Iterator[str]:
    unsteady = [
        f"{single_line(task.task)} ({task.steady.state.replace('-', ' ')})"
        for task in tasks
        if task.steady.changes
    ]
    if unsteady:
        yield f"{UNSTEADY_MARK} not in a steady state while measured: {', '.join(unsteady)}"


def _waiting_note(tasks: Sequence[TaskResult]) -> Iterator[str]:
    waiting = [
        f"{single_line(task.task)} ({task.accounting.waited:,} of {task.accounting.operations:,} operations)"
        for task in tasks
        if mostly_waits(task)
    ]
    if waiting:
        yield (
            f"{WAITING_MARK} latency is mostly waiting for the previous response of the same client: "
            f"{', '.join(waiting)}"
        )


def _milliseconds(value: float) -> str:
    return format_seconds(value / 1000.0)
