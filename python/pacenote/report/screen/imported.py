"""The last screen of an imported race: what its file states, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.figures.percentiles import TABLE_PERCENTILES
from pacenote.model.headline import main_imported_indexing
from pacenote.model.imported import ImportedResults, ImportedTask, imported_tasks
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.user_tags import tag_texts
from pacenote.report.rows import UNKNOWN_SAMPLES_MARK
from pacenote.report.screen.screen import Answer, Cell, Column, Paragraph, TaskRow, TaskTable
from pacenote.units import format_count, format_range, format_rate, format_seconds

_RATE, _ERRORS, _SERVICE = "rate", "errors", "service p50"
_PERCENTILES = {**{f"p{q:g}": q for q in TABLE_PERCENTILES}, "max": 100.0}
COLUMNS = (
    Column(_RATE),
    Column("p50", heading="latency p50"),
    Column("p90", priority=1),
    Column("p99", is_essential=False),
    Column("p99.9", priority=3),
    Column("max", priority=2),
    Column(_ERRORS),
    Column(_SERVICE, priority=4),
)
"""The columns of the tables of an imported race."""

FOOTNOTE = f"{UNKNOWN_SAMPLES_MARK} not known whether there are enough samples for this percentile"
"""Explains the mark of a percentile."""


def imported_tables(record: RaceRecord, imported: ImportedResults) -> tuple[TaskTable, ...]:
    """Returns a table with the tasks that index documents, and one with the others."""
    tasks = imported_tasks(imported.values)
    doubtful = {name for finding in record.verdict.findings for name in finding.tasks}
    kinds = (
        ("Indexing", [task for task in tasks if task.indexes]),
        ("Others", [task for task in tasks if not task.indexes]),
    )
    return tuple(
        TaskTable(
            title,
            heads=tuple(_head(column, found) for column in COLUMNS),
            lines=tuple(
                _line(task, found, record.max_error_rate, is_doubtful=task.task in doubtful) for task in found
            ),
        )
        for title, found in kinds
        if found
    )


def imported_answers(imported: ImportedResults) -> tuple[Answer, ...]:
    """Returns the highest rate of a task that indexes, the slowest median latency, and the error rates."""
    tasks = imported_tasks(imported.values)
    answers = []
    if indexing := main_imported_indexing(tasks):
        rate = f"{format_rate(indexing.rate or 0.0)} docs/s"
        is_one_of_several = sum(task.indexes for task in tasks) > 1
        text = f"{rate} ({indexing.task})" if is_one_of_several else rate
        answers.append(Answer("Indexing", single_line(text)))
    others = [task for task in tasks if not task.indexes and 50.0 in task.times]
    if slowest := max(others, key=lambda task: task.times[50.0], default=None):
        answers.append(Answer("Slowest p50", f"{single_line(slowest.task)} {_ms(slowest.times[50.0])}"))
    if rates := [task.error_rate for task in tasks if task.error_rate is not None]:
        failing = [rate for rate in rates if rate > 0]
        text = format_range((rate * 100 for rate in failing), "{:.4g} %".format) if failing else "0"
        if unknown := len(tasks) - len(rates):
            text += f" (not known of {format_count(unknown, 'task')})"
        answers.append(Answer("Errors", text, is_wrong=bool(failing)))
    return tuple(answers)


def imported_paragraphs(record: RaceRecord, imported: ImportedResults) -> tuple[Paragraph, ...]:
    """Returns where the race comes from, what is not known of it, and its tags."""
    return tuple(
        Paragraph(label, (phrases,))
        for label, phrases in (
            ("Imported", (single_line(imported.source),)),
            ("Unknown", imported.unstated),
            ("Tags", tuple(_tags(record))),
        )
        if phrases
    )


def _tags(record: RaceRecord) -> Iterator[str]:
    for name, value in tag_texts(record.user_tags).items():
        yield single_line(f"{name}: {value}")


def _head(column: Column, tasks: Sequence[ImportedTask]) -> str:
    if column.name == _RATE:
        units = _units(tasks)
        return (units.pop() or _RATE) if len(units) == 1 else _RATE
    return column.heading or column.name


def _units(tasks: Sequence[ImportedTask]) -> set[str]:
    """Returns the units of the rates of tasks; empty text for those whose unit is not known."""
    return {f"{single_line(task.unit)}/s" if task.unit else "" for task in tasks if task.rate is not None}


def _rate(task: ImportedTask, *, with_unit: bool) -> str:
    if task.rate is None:
        return ""
    unit = f" {single_line(task.unit)}/s" if task.unit and with_unit else ""
    return f"{format_rate(task.rate)}{unit}"


def _line(task: ImportedTask, tasks: Sequence[ImportedTask], limit: float, *, is_doubtful: bool) -> TaskRow:
    """Returns the row of a task in the table of these tasks."""
    kind = "latency" if task.percentiles.get("latency") else "service time"
    service = task.percentiles.get("service time", {})
    rate = task.error_rate
    cells = {
        _RATE: Cell(_rate(task, with_unit=len(_units(tasks)) > 1)),
        **{name: Cell(_percentile(task, kind, q)) for name, q in _PERCENTILES.items()},
        _ERRORS: Cell("" if rate is None else f"{rate * 100:.4g} %", is_wrong=(rate or 0.0) > limit),
        _SERVICE: Cell(_ms(service[50.0]) if 50.0 in service else ""),
    }
    return TaskRow(single_line(task.task), tuple(cells[column.name] for column in COLUMNS), is_doubtful)


def _percentile(task: ImportedTask, kind: str, q: float) -> str:
    value = task.percentiles.get(kind, {}).get(q)
    if value is None:
        return ""
    return _ms(value) + ("" if q >= 100 or task.supports(kind, q) else UNKNOWN_SAMPLES_MARK)


def _ms(value: float) -> str:
    return format_seconds(value / 1000)
