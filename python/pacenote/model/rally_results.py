"""Rally's results document: `op_metrics` (the results of the tasks) and the keys that Pacenote does not
measure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from pacenote.model.result import DurationSummary, TaskResult, percentiles_for
from pacenote.model.system_metrics import SystemMetrics

_LIST_KEYS = (
    "ml_processing_time",
    "total_transform_search_times",
    "total_transform_index_times",
    "total_transform_processing_times",
    "total_transform_throughput",
    "disk_usage_total",
    "disk_usage_inverted_index",
    "disk_usage_stored_fields",
    "disk_usage_doc_values",
    "disk_usage_points",
    "disk_usage_norms",
    "disk_usage_term_vectors",
)
_SCALAR_KEYS = ("index_size", "bytes_written")


def unmeasured_results() -> dict[str, Any]:
    """Returns the keys of Rally's results that Pacenote does not measure, with the values Rally writes for
    them when it has no measurements.
    """
    values: dict[str, Any] = {key: [] for key in _LIST_KEYS} | dict.fromkeys(_SCALAR_KEYS)
    measured = {each.name for each in fields(SystemMetrics)}
    return {key: value for key, value in values.items() if key not in measured}


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
    throughput = task.throughput
    return {
        "task": task.task,
        "operation": task.operation,
        "throughput": {
            "min": throughput.min if throughput else None,
            "mean": throughput.mean if throughput else None,
            "median": throughput.median if throughput else None,
            "max": throughput.max if throughput else None,
            "unit": f"{task.unit}/s",
        },
        "latency": _times(task.latency if task.paced else task.service_time),
        "service_time": _times(task.service_time),
        "processing_time": _times(task.processing_time),
        "error_rate": task.error_rate,
        "duration": task.duration_s * 1000.0,
    }


def _times(times: DurationSummary | None) -> dict[str, Any]:
    if times is None:
        return {}
    shown = {q: times.at(q) for q in percentiles_for(times.count)}
    values: dict[str, Any] = {percentile_key(q): found.ms for q, found in shown.items() if found}
    return values | {"mean": times.mean_ms, "unit": "ms"}
