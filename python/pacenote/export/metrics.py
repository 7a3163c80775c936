"""The metrics of exported races: their names, units and meanings. docs/reference/export.md has the same
table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pacenote.model.system_metrics import COLLECTORS, DISK_USAGE, SEGMENT_MEMORY, SHARD_TIMES

MetricForm = Literal["times", "gauge", "counter"]
"""What the figures of a metric are: a distribution of durations, values, or a number that grows during a
race.
"""

MetricUnit = Literal["ms", "s", "bytes", "ratio", "rate", "other", ""]
"""The unit of a metric; empty for a number of things, `rate` for work per second in the unit of the task, and
`other` if the unit differs from figure to figure.
"""

VALUE = "value"
"""The statistic of a metric that has one figure."""


@dataclass(frozen=True, slots=True)
class ExportedMetric:
    """One metric."""

    name: str
    """Its name: lower-case letters, digits and underscores."""

    unit: MetricUnit
    """Its unit."""

    form: MetricForm
    """What its figures are."""

    text: str
    """Its meaning in one phrase, which ends without a full stop."""

    part: str = ""
    """What the column `part` names; empty if it is empty."""


_SHARDS = "primary shards"

_TIMES = (
    (
        "service_time",
        "from the first byte of the request to the last byte of the response; successes only",
        "sub-operation",
    ),
    ("latency", "from the moment an operation was due to the last byte of its response; successes only", ""),
    ("processing_time", "service time and the driver's own work on the request; successes only", ""),
    ("lateness", "how late the driver itself sent operations that were due; all operations", ""),
    ("failed_service_time", "service time of the operations that failed", "sub-operation"),
)

_TASK = (
    ExportedMetric("throughput", "rate", "gauge", "work done per second of the measured window"),
    ExportedMetric("target_rate", "rate", "gauge", "work per second that the track asks for"),
    ExportedMetric(
        "achieved_rate", "rate", "gauge", "successful work per second, in the unit of the target rate"
    ),
    *(ExportedMetric(name, "ms", "times", text, part) for name, text, part in _TIMES),
    ExportedMetric(
        "latency_with_failures",
        "ms",
        "gauge",
        "latency if operations that failed or were not answered or sent are slower than all others",
    ),
    ExportedMetric(
        "error_rate", "ratio", "gauge", "failed operations among the measured ones", "sub-operation"
    ),
    ExportedMetric(
        "operations", "", "counter", "operations that were started, warm-up included", "sub-operation"
    ),
    ExportedMetric("operations_succeeded", "", "counter", "those that succeeded"),
    ExportedMetric("operations_failed", "", "counter", "those that failed", "sub-operation"),
    ExportedMetric("operations_unanswered", "", "counter", "those that had no reply when the race ended"),
    ExportedMetric("operations_warmup", "", "counter", "operations of the warm-up that ended"),
    ExportedMetric("operations_measured", "", "counter", "measured operations that ended"),
    ExportedMetric("operations_unsent", "", "counter", "operations that were due, but did not begin"),
    ExportedMetric("operations_waited", "", "counter", "operations that were due when no client was free"),
    ExportedMetric(
        "warmup_backlog",
        "",
        "gauge",
        "measured operations that waited for the warm-up, if so many did that `latency` decides nothing",
    ),
    ExportedMetric("retries", "", "counter", "attempts after the first of each operation", "sub-operation"),
    ExportedMetric("requests", "", "counter", "requests, including those of retries", "sub-operation"),
    ExportedMetric("reconnects", "", "counter", "connections that were reopened"),
    ExportedMetric(
        "failures", "other", "counter", "failed operations, or documents of bulks", "HTTP status or class"
    ),
    ExportedMetric("work_done", "other", "counter", "work done in the unit of the task, warm-up included"),
    ExportedMetric(
        "work_failed", "other", "counter", "work that failed, such as rejected documents of a bulk"
    ),
    ExportedMetric("network_sent", "bytes", "counter", "written to sockets, TLS included"),
    ExportedMetric("network_received", "bytes", "counter", "read from sockets, TLS included"),
    ExportedMetric("content_sent", "bytes", "counter", "request bodies before compression"),
    ExportedMetric("content_received", "bytes", "counter", "reply bodies after decompression"),
    ExportedMetric("clients", "", "gauge", "clients of the task"),
    ExportedMetric("task_start", "s", "gauge", "start of the task, since the first task of the race began"),
    ExportedMetric("task_duration", "s", "gauge", "from the start of the task to its last reply"),
    ExportedMetric("measured_window", "s", "gauge", "length of the measured window"),
    ExportedMetric("runner_value", "other", "gauge", "numbers that a runner in Python returned", "name"),
    ExportedMetric(
        "saturation_stable", "rate", "gauge", "highest rate at which all probes of `saturate` passed"
    ),
    ExportedMetric(
        "saturation_unstable", "rate", "gauge", "lowest rate at which no probe of `saturate` passed"
    ),
)


def _system() -> Iterator[ExportedMetric]:
    for what, _, counted in SHARD_TIMES:
        name = shard_metric(what)
        yield ExportedMetric(name, "ms", "counter", f"time of {_SHARDS} during the race: {what}")
        yield ExportedMetric(f"{name}_per_shard", "ms", "gauge", f"the same by shard, over the {_SHARDS}")
        if counted:
            yield ExportedMetric(counted, "", "counter", f"how often {_SHARDS} did this: {what}")
    for what, prefix in COLLECTORS:
        yield ExportedMetric(f"{prefix}_gc_time", "ms", "counter", f"garbage collection of all nodes: {what}")
        yield ExportedMetric(f"{prefix}_gc_count", "", "counter", f"number of these collections: {what}")
    yield ExportedMetric("dataset_size", "bytes", "gauge", "size of the indices")
    yield ExportedMetric("store_size", "bytes", "gauge", "size of the stores of the indices")
    yield ExportedMetric("translog_size", "bytes", "gauge", "size of the transaction logs")
    yield ExportedMetric(
        "index_size", "bytes", "gauge", "size of the data folders of nodes that the race started"
    )
    yield ExportedMetric(
        "disk_written", "bytes", "counter", "written to disks by nodes that the race started"
    )
    for what, field in SEGMENT_MEMORY:
        yield ExportedMetric(field, "bytes", "gauge", f"heap used for {what} at the end of the race")
    yield ExportedMetric("segment_count", "", "gauge", "segments at the end of the race")
    yield ExportedMetric("ingest_pipeline_count", "", "counter", "documents that ingest pipelines processed")
    yield ExportedMetric("ingest_pipeline_time", "ms", "counter", "time spent in ingest pipelines")
    yield ExportedMetric(
        "ingest_pipeline_failed", "", "counter", "documents for which ingest pipelines failed"
    )
    yield ExportedMetric(
        "ml_processing_time", "ms", "gauge", "processing time of buckets", "machine learning job"
    )
    for kind in ("processing", "index", "search"):
        yield ExportedMetric(
            f"transform_{kind}_time", "ms", "gauge", f"{kind} time of a transform", "transform"
        )
    yield ExportedMetric(
        "transform_throughput", "rate", "gauge", "documents of a transform per second", "transform"
    )
    for what, field in DISK_USAGE:
        yield ExportedMetric(field, "bytes", "gauge", f"disk space of a field: {what}", "index/field")
    yield ExportedMetric(
        "documents_acknowledged", "", "gauge", "new documents that the engine acknowledged", "index"
    )
    yield ExportedMetric(
        "documents_counted", "", "gauge", "documents that the engine counted after the race", "index"
    )
    yield ExportedMetric(
        "imported_value", "other", "gauge", "another figure of an imported race", "Rally's name"
    )


def shard_metric(what: str) -> str:
    """Returns the name of the metric for what shards spend time on, such as `merge throttle`."""
    return f"{what.replace(' ', '_')}_time"


METRICS: Mapping[str, ExportedMetric] = {metric.name: metric for metric in (*_TASK, *_system())}
"""All metrics by name, in the order in which they are documented."""
