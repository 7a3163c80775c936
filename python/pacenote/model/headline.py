"""The figures that say most about a race: how fast it indexed, and its slowest task."""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.model.imported import ImportedTask, imported_tasks
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.task_kinds import indexes, reported_tasks, runs_once
from pacenote.model.unserved import is_endless
from pacenote.model.warmup_backlog import BACKLOG_MARK, has_sound_latency, throughput_includes_backlog
from pacenote.units import format_rate, format_seconds


def main_indexing(tasks: Iterable[TaskResult]) -> TaskResult | None:
    """Returns the task that indexed most, or None if none did."""
    indexing = (task for task in tasks if indexes(task) and task.throughput)
    return max(indexing, key=lambda task: task.work.done, default=None)


def slowest_task(tasks: Iterable[TaskResult]) -> TaskResult | None:
    """Returns the task with the longest median latency, or None if there is none: one that neither indexes
    nor runs only once. One whose latency includes the backlog of its warm-up does not stand for the race, nor
    one of which most operations have no latency.
    """
    candidates = (
        task
        for task in tasks
        if not (indexes(task) or runs_once(task))
        and has_sound_latency(task)
        and not is_endless(task, 50.0)
        and median_latency_ms(task) is not None
    )
    return max(candidates, key=lambda task: median_latency_ms(task) or 0.0, default=None)


def median_latency_ms(task: TaskResult) -> float | None:
    """Returns the median latency of a task in milliseconds, or None if no operation succeeded."""
    times = task.latency or task.service_time
    median = times.at(50.0) if times else None
    return median.ms if median else None


def indexing_rate(task: TaskResult) -> str:
    """Returns the mean throughput of a task that indexed, with its mark if it includes the backlog of the
    warm-up, and whether it was interrupted.
    """
    mean = task.throughput.mean if task.throughput else 0.0
    early = "" if (how := early_end(task)) is None else f", {how}"
    mark = BACKLOG_MARK if throughput_includes_backlog(task) else ""
    return f"{format_rate(mean)} {task.unit}/s{mark}{early}"


def early_end(task: TaskResult) -> str | None:
    """Returns how a task ended that was not to end yet, or None if it ended as planned."""
    return {"stopped": "interrupted", "aborted": "aborted"}.get(task.ended_by)


def headline(record: RaceRecord) -> str:
    """Returns the figure that a list of races shows, of `saturate` its answer; empty if there is none."""
    if saturation := record.saturation:
        return f"{saturation.task}: {saturation.answer}"
    if record.imported is not None:
        return _imported_headline(imported_tasks(record.imported.values))
    tasks = reported_tasks(record)
    if task := main_indexing(tasks):
        return indexing_rate(task)
    if (task := slowest_task(tasks)) and (ms := median_latency_ms(task)) is not None:
        return f"p50 {format_seconds(ms / 1000)}"
    return ""


def main_imported_indexing(tasks: Iterable[ImportedTask]) -> ImportedTask | None:
    """Returns the imported task that indexed at the highest rate, or None if none did: its file does not say
    which one indexed most.
    """
    indexing = (task for task in tasks if task.indexes and task.rate is not None)
    return max(indexing, key=lambda task: task.rate or 0.0, default=None)


def _imported_headline(tasks: Iterable[ImportedTask]) -> str:
    """Returns the highest rate at which an imported race indexed or, without one, its slowest median."""
    tasks = tuple(tasks)
    if indexing := main_imported_indexing(tasks):
        return f"{format_rate(indexing.rate or 0.0)} docs/s"
    medians = [task.times[50.0] for task in tasks if 50.0 in task.times]
    return f"p50 {format_seconds(max(medians) / 1000)}" if medians else ""
