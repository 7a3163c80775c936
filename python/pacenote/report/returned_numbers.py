"""The numbers that runners returned with the operations of a race, as lines of its last screen and page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.custom_metrics import CustomMetrics, declared_metrics, is_figure
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult, ValueSummary
from pacenote.units import format_number

_NAMED = 6
"""Number of metrics of a task that a line has."""


def returned_numbers(record: RaceRecord, tasks: Sequence[TaskResult]) -> Iterator[str]:
    """Yields a line for each task with custom metrics: quality metrics first, each with the 95 % interval of
    its mean.
    """
    customs = declared_metrics([record.task_meta])
    for task in tasks:
        names = sorted(filter(is_figure, task.values), key=lambda name: not _is_quality(customs, task, name))
        texts = [_text(customs, task, name, task.values[name]) for name in names]
        if texts:
            yield f"{single_line(task.task)}: {list_with_rest(texts, _NAMED)}"


def _is_quality(customs: CustomMetrics, task: TaskResult, name: str) -> bool:
    return customs.of(task.task, name).direction is not None


def _text(customs: CustomMetrics, task: TaskResult, name: str, value: ValueSummary) -> str:
    custom = customs.of(task.task, name)
    unit = f" {custom.unit}" if custom.unit else ""
    notes = []
    if value.low is not None and value.high is not None:
        notes.append(f"95 % interval {format_number(value.low)} … {format_number(value.high)}")
    if value.count < task.accounting.normal:
        notes.append(f"of {value.count:,} operations")
    shown = f" ({', '.join(notes)})" if notes else ""
    return single_line(f"{custom.name} {format_number(value.mean)}{unit}{shown}")
