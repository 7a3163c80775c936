"""The figures that say most about a race: how fast it indexed, and its slowest search."""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.task_kinds import indexes, reported_tasks, searches
from pacenote.units import format_rate, format_seconds


def main_indexing(tasks: Iterable[TaskResult]) -> TaskResult | None:
    """Returns the task that indexed most, or None if none did."""
    indexing = (task for task in tasks if indexes(task) and task.throughput)
    return max(indexing, key=lambda task: task.work.done, default=None)


def slowest_search(tasks: Iterable[TaskResult]) -> TaskResult | None:
    """Returns the search with the longest median latency, or None if there is no search."""
    found = (task for task in tasks if searches(task) and median_latency_ms(task) is not None)
    return max(found, key=lambda task: median_latency_ms(task) or 0.0, default=None)


def median_latency_ms(task: TaskResult) -> float | None:
    """Returns the median latency of a task in milliseconds, or None if no operation succeeded."""
    times = task.latency or task.service_time
    median = times.at(50.0) if times else None
    return median.ms if median else None


def headline(record: RaceRecord) -> str:
    """Returns the figure that a list of races shows, of `saturate` its answer; empty if there is none."""
    if found := record.saturation:
        return f"{found.task}: {found.answer}"
    tasks = reported_tasks(record)
    if (task := main_indexing(tasks)) and task.throughput:
        return f"{format_rate(task.throughput.mean)} {task.unit}/s"
    if (task := slowest_search(tasks)) and (ms := median_latency_ms(task)) is not None:
        return f"p50 {format_seconds(ms / 1000)}"
    return ""
