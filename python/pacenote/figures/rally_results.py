"""Rally's results document: `op_metrics`, the results of the tasks, and the document of a race with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any

from pacenote.figures.catalogue import TASK
from pacenote.figures.metric import VALUE
from pacenote.figures.of_race import Figure, task_figures
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult

_AS_SERVICE_TIME = ("latency", "processing_time")
"""Rally's results that a task may lack, and that its service time stands for."""


def stored_document(record: RaceRecord) -> dict[str, Any]:
    """Returns the document of a race, `race.json`, with Rally's results of the tasks."""
    document = record.to_document()
    if record.imported is None:
        results = {"op_metrics": op_metrics(record.tasks, record.task_meta), **document["results"]}
        document["results"] = results
    return document


def op_metrics(
    tasks: Iterable[TaskResult], metadata: Mapping[str, Mapping[str, object]]
) -> list[dict[str, Any]]:
    """Returns one entry per task, with Rally's keys. Without a target rate, `latency` is the service time.

    `metadata` are the metadata of tasks (Rally's `meta`) by name of the task.
    """
    return [_task_metrics(task) | {"meta": dict(metadata.get(task.task, {}))} for task in tasks]


def percentile_key(q: float) -> str:
    """Returns Rally's key for a percentile: `50_0`, `99_99`, `100_0`."""
    return str(float(q)).replace(".", "_")


def _task_metrics(task: TaskResult) -> dict[str, Any]:
    own = (figure for figure in task_figures(task) if figure.metric.result and not figure.part)
    results = {
        metric.result: _result(list(figures)) for metric, figures in groupby(own, attrgetter("metric"))
    }
    # As in Rally, a task without a target rate has its service time as its latency.
    unpaced = dict.fromkeys(_AS_SERVICE_TIME, results["service_time"])
    keys = [metric.result for metric in TASK if metric.result]
    known = {**unpaced, **results}
    return {
        "task": task.task,
        "operation": task.operation,
        **{key: known[key] for key in keys if key in known},
    }


def _result(figures: list[Figure]) -> object:
    """Returns Rally's result of a metric, from all its figures."""
    metric, values = figures[0].metric, {figure.statistic: figure.value for figure in figures}
    if metric.form == "times":
        shown = {
            percentile_key(figure.q): figure.value
            for figure in figures
            if figure.q and figure.is_shown and figure.value is not None
        }
        return {**shown, "mean": values["mean"], "unit": "ms"} if "mean" in values else {}
    if metric.statistics != (VALUE,):
        return {**values, "unit": figures[0].unit}
    value = values[VALUE]
    # Rally's durations are in milliseconds.
    return value * 1000 if value is not None and metric.unit == "s" else value
