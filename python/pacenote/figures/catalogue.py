"""All metrics, once: what each is called, and in which unit, wherever it is shown.

A new figure is one line here; `origin` is where races have its value. Reports, pages, comparisons, exports,
the metrics store and the rules of the diagnosis take from the line what it says about them. The order is that
of Rally's report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pacenote.figures.metric import (
    EnginePhrase,
    Metric,
    MetricRow,
    MetricUnit,
    PercentileKind,
    RuleName,
    ShownUnit,
    StoredName,
)
from pacenote.model.result import TaskResult
from pacenote.model.warmup_backlog import includes_backlog, throughput_includes_backlog

_SPREAD = ("min", "mean", "median", "max")
_SHARD_SPREAD = ("min", "median", "max")

_MS = ShownUnit("ms")
_S = ShownUnit("s", 1000)
_MINUTES = ShownUnit("min", 60_000)
_MB = ShownUnit("MB", 1024**2)
_GB = ShownUnit("GB", 1024**3)
_PERCENT = ShownUnit("%", factor=100)


def _percentiles(time: PercentileKind) -> MetricRow:
    return MetricRow(f"{{which}}th percentile {time.replace('-', ' ')}", _MS, time)


def _measured_error_rate(task: TaskResult) -> float | None:
    """Returns the error rate; None without measured operations, because 0 would mean that all succeeded.
    Older records have 0 instead.
    """
    return task.error_rate if task.accounting.normal else None


TASK = (
    Metric(
        *("throughput", "rate", "gauge", "work done per second of the measured window"),
        origin="throughput",
        statistics=_SPREAD,
        row=MetricRow("{which} Throughput", None, decimals=2),
        compared=MetricRow("{which} Throughput", None),
        kind="throughput",
        higher_is_better=True,
        result="throughput",
        rules=(RuleName("task.throughput", "mean work per second, in the unit of the task", "1/s", "mean"),),
    ),
    Metric(
        *("latency", "ms", "times"),
        "from the moment an operation was due to the last byte of its response; successes only",
        origin="latency",
        is_scheduled=True,
        is_latency=True,
        row=_percentiles("latency"),
        compared=_percentiles("latency"),
        kind="percentile",
        result="latency",
        rules=(
            RuleName(
                "task.latency_p99_ms",
                "p99 of latency, if there are enough samples; only with a target rate",
                *("ms", "p99"),
            ),
        ),
    ),
    Metric(
        *("service_time", "ms", "times"),
        "from the first byte of the request to the last byte of the response; successes only",
        part="sub-operation",
        origin="service_time",
        origin_of_part="service_time",
        row=_percentiles("service-time"),
        compared=_percentiles("service-time"),
        kind="percentile",
        result="service_time",
        rules=(
            RuleName("task.service_p50_ms", "median service time", "ms", "p50"),
            RuleName("task.service_p99_ms", "p99 of service time, if there are enough samples", "ms", "p99"),
            RuleName("task.service_mean_ms", "mean service time", "ms", "mean"),
        ),
    ),
    Metric(
        *("processing_time", "ms", "times"),
        "service time and the driver's own work on the request; successes only",
        origin="processing_time",
        row=_percentiles("processing-time"),
        result="processing_time",
    ),
    Metric(
        *("error_rate", "ratio", "gauge", "failed operations among the measured ones", "sub-operation"),
        origin=_measured_error_rate,
        origin_of_part="error_rate",
        row=MetricRow("error rate", _PERCENT, decimals=2),
        compared=MetricRow("error rate", _PERCENT),
        kind="error rate",
        result="error_rate",
        rules=(RuleName("task.error_rate", "failed operations / operations, measured", "share"),),
    ),
    Metric(
        *("lateness", "ms", "times"),
        "how late the driver itself sent operations that were due; all operations",
        origin="lateness",
        is_scheduled=True,
        row=MetricRow(
            *("{which}th percentile lateness", _MS, "lateness"), group="task", percentiles=(50.0, 99.0)
        ),
        rules=(RuleName("driver.lateness_p99_ms", "p99 of lateness; only with a target rate", "ms", "p99"),),
    ),
    Metric(
        *("failed_service_time", "ms", "times", "service time of the operations that failed"),
        part="sub-operation",
        origin="failed_service_time",
        origin_of_part="failed_service_time",
    ),
    Metric(
        *("latency_with_failures", "ms", "gauge"),
        "latency if operations that failed or were not answered or sent are slower than all others",
    ),
    Metric(
        *("operations", "", "counter", "operations that were started, warm-up included", "sub-operation"),
        origin="accounting.operations",
        origin_of_part="operations",
    ),
    Metric(*("operations_succeeded", "", "counter", "those that succeeded"), origin="accounting.succeeded"),
    Metric(
        *("operations_failed", "", "counter", "those that failed", "sub-operation"),
        origin="accounting.failed",
        origin_of_part="failed",
    ),
    Metric(
        *("operations_unanswered", "", "counter", "those that had no reply when the race ended"),
        origin="accounting.unanswered",
    ),
    Metric(
        *("operations_warmup", "", "counter", "operations of the warm-up that ended"),
        origin="accounting.warmup",
    ),
    Metric(
        *("operations_measured", "", "counter", "measured operations that ended"), origin="accounting.normal"
    ),
    Metric(
        *("operations_unsent", "", "counter", "operations that were due, but did not begin"),
        origin="accounting.unsent",
    ),
    Metric(
        *("operations_waited", "", "counter", "operations that were due when no client was free"),
        origin="accounting.waited",
    ),
    Metric(
        *("warmup_backlog", "", "gauge"),
        "measured operations that waited for the warm-up, if they decide `latency` or a part of it",
        origin=lambda task: task.warmup_backlog.operations if includes_backlog(task, 100.0) else None,
    ),
    Metric(
        *("warmup_surplus", "", "gauge"),
        "operations in the window beyond its schedule, which the warm-up left, if they mark `throughput`",
        origin=lambda task: task.warmup_backlog.surplus if throughput_includes_backlog(task) else None,
    ),
    Metric(
        *("retries", "", "counter", "attempts after the first of each operation", "sub-operation"),
        origin="accounting.retried",
        origin_of_part="retried",
    ),
    Metric(
        *("requests", "", "counter", "requests, including those of retries", "sub-operation"),
        origin="accounting.requests",
        origin_of_part="requests",
    ),
    Metric(*("reconnects", "", "counter", "connections that were reopened"), origin="accounting.reconnects"),
    Metric(
        "failures", "other", "counter", "failed operations, or documents of bulks", "HTTP status or class"
    ),
    Metric(
        *("work_done", "other", "counter", "work done in the unit of the task, warm-up included"),
        origin="work.done",
        row=MetricRow("work done", None, group="task", bulk_label="documents indexed"),
    ),
    Metric(
        *("work_failed", "other", "counter", "work that failed, such as rejected documents of a bulk"),
        origin="work.failed",
        row=MetricRow("work failed", None, group="task", bulk_label="documents failed", hides_zero=True),
    ),
    Metric("network_sent", "bytes", "counter", "written to sockets, TLS included", origin="bytes_out"),
    Metric("network_received", "bytes", "counter", "read from sockets, TLS included", origin="bytes_in"),
    Metric("content_sent", "bytes", "counter", "request bodies before compression", origin="content_out"),
    Metric("content_received", "bytes", "counter", "reply bodies after decompression", origin="content_in"),
    Metric(
        *("clients", "", "gauge", "clients of the task"),
        origin="clients",
        rules=(RuleName("task.clients", "clients of the task", "count"),),
    ),
    Metric(
        *("task_start", "s", "gauge", "start of the task, since the first task of the race began"),
        origin="started_s",
    ),
    Metric(
        *("task_duration", "s", "gauge", "from the start of the task to its last reply"),
        origin="duration_s",
        result="duration",
    ),
    Metric(
        *("measured_window", "s", "gauge", "length of the measured window"),
        origin="window_s",
        rules=(RuleName("task.window_s", "length of the measured window", "s"),),
    ),
    Metric(
        *("runner_value", "other", "gauge", "numbers that a runner in Python returned", "name"),
        statistics=("min", "mean", "max"),
        row=MetricRow("mean {part}", group="task"),
        kind="custom",
    ),
    Metric(
        *("target_rate", "rate", "gauge", "work per second that the track asks for"),
        row=MetricRow("target rate", None, group="race"),
    ),
    Metric(
        *("achieved_rate", "rate", "gauge", "successful work per second, in the unit of the target rate"),
        row=MetricRow("achieved rate", None, group="race", decimals=2),
    ),
    Metric(
        *("saturation_stable", "rate", "gauge", "highest ops/s at which all probes of `saturate` passed"),
    ),
    Metric("saturation_unstable", "rate", "gauge", "lowest ops/s at which no probe of `saturate` passed"),
)
"""The metrics of tasks."""


def _shards(
    what: str, field: str, stored: str, phrase: EnginePhrase, rules: tuple[RuleName, ...] = ()
) -> Iterator[Metric]:
    """Yields what primary shards spend time on, as Rally names it: in all, how often, and by shard."""
    counted = phrase.counted_by
    key = f"{what.replace(' ', '_')}_time"
    time = MetricRow(f"Cumulative {what} time of primary shards", _MINUTES, "shards")
    spread = f"{{which}} cumulative {what} time across primary"
    yield Metric(
        *(key, "ms", "counter", f"time of primary shards during the race: {what}"),
        origin=field,
        row=time,
        compared=time,
        result=field,
        stored=StoredName(stored, "ms", is_sampled=False),
        rules=rules,
        phrase=phrase,
    )
    if counted:
        count = MetricRow(f"Cumulative {what} count of primary shards", kind="shards")
        yield Metric(
            *(counted, "", "counter", f"how often primary shards did this: {what}"),
            origin=counted,
            row=count,
            compared=count,
            result=counted,
            stored=StoredName(stored.replace("_time", "_count"), is_sampled=False),
        )
    yield Metric(
        *(f"{key}_per_shard", "ms", "gauge", "the same by shard, over the primary shards"),
        origin=f"{field}_per_shard",
        statistics=_SHARD_SPREAD,
        row=MetricRow(f"{spread} shards", _MINUTES, "shards"),
        # Rally's comparisons have the singular.
        compared=MetricRow(f"{spread} shard", _MINUTES, "shards"),
        result=f"{field}_per_shard",
    )


def _collector(what: str, prefix: str, name: str, place: int) -> Iterator[Metric]:
    time, count = MetricRow(f"Total {what} GC time", _S), MetricRow(f"Total {what} GC count")
    stored = f"node_total_{prefix}_gen_gc" if what.endswith("Gen") else f"node_total_{prefix}_gc"
    yield Metric(
        *(f"{prefix}_gc_time", "ms", "counter", f"garbage collection of all nodes: {what}"),
        origin=f"{prefix}_gc_time",
        row=time,
        compared=time,
        result=f"{prefix}_gc_time",
        stored=StoredName(f"{stored}_time", "ms"),
        phrase=EnginePhrase(name, "state", place, f"{prefix}_gc_count"),
    )
    yield Metric(
        *(f"{prefix}_gc_count", "", "counter", f"number of these collections: {what}"),
        origin=f"{prefix}_gc_count",
        row=count,
        compared=count,
        result=f"{prefix}_gc_count",
        stored=StoredName(f"{stored}_count"),
    )


def _size(what: str, text: str, phrase: EnginePhrase | None = None) -> Metric:
    key, row = f"{what.lower()}_size", MetricRow(f"{what} size", _GB)
    return Metric(
        *(key, "bytes", "gauge", text),
        origin=key,
        row=row,
        compared=row,
        result=key,
        stored=StoredName(f"{key}_in_bytes", "byte"),
        phrase=phrase,
    )


def _heap(what: str) -> Metric:
    field = what.replace(" ", "_")
    key = f"memory_{field}"
    stored = "segments_memory" if what == "segments" else f"segments_{field}_memory"
    return Metric(
        *(key, "bytes", "gauge", f"heap used for {what} at the end of the race"),
        origin=key,
        row=MetricRow(f"Heap used for {what}", _MB),
        result=key,
        stored=StoredName(f"{stored}_in_bytes", "byte"),
    )


def _transforms(what: str, label: str, origin: str, unit: MetricUnit = "ms") -> Metric:
    text = f"{what} time of a transform" if unit == "ms" else "documents of a transform per second"
    return Metric(
        *(
            f"transform_{what}_time" if unit == "ms" else f"transform_{what}",
            unit,
            "gauge",
            text,
            "transform",
        ),
        origin=origin,
        row=MetricRow(label, None),
        result=origin,
        stored=StoredName(origin.removesuffix("s"), None),
    )


def _disk_usage(what: str, *, is_rallys: bool = True, is_total: bool = False) -> Metric:
    key = f"disk_usage_{what.replace(' ', '_')}"
    return Metric(
        *(key, "bytes", "gauge", f"disk space of a field: {what}", "index/field"),
        origin=key,
        row=MetricRow(what, kind="disk-usage"),
        result=key if is_rallys else "",
        stored=StoredName(key, "byte"),
        is_total=is_total,
    )


def _in_seconds(name: str, text: str) -> tuple[RuleName, ...]:
    return (RuleName(name, text, "s", divisor=1000),)


_INGEST_COUNT = MetricRow("Total Ingest Pipeline count")
_INGEST_FAILED = MetricRow("Total Ingest Pipeline failed")
_SEGMENTS = MetricRow("Segment count")

ENGINE = (
    *_shards("indexing", "total_time", "indexing_total_time", phrase=EnginePhrase("indexing", "work", 0)),
    *_shards(
        "indexing throttle",
        "indexing_throttle_time",
        "indexing_throttle_time",
        phrase=EnginePhrase("indexing throttled", "work", 4),
        rules=_in_seconds(
            "total.indexing_throttled_s", "time for which indexing was throttled, primary shards"
        ),
    ),
    *_shards(
        "merge",
        "merge_time",
        "merges_total_time",
        phrase=EnginePhrase("merge", "work", 2, counted_by="merge_count"),
        rules=_in_seconds("total.merge_s", "time that threads spent merging, primary shards"),
    ),
    *_shards(
        "merge throttle",
        "merge_throttle_time",
        "merges_total_throttled_time",
        phrase=EnginePhrase("merge throttled", "work", 5),
        rules=_in_seconds("total.merge_throttled_s", "time for which merges were throttled, primary shards"),
    ),
    *_shards(
        "refresh",
        "refresh_time",
        "refresh_total_time",
        phrase=EnginePhrase("refresh", "work", 1, counted_by="refresh_count"),
    ),
    *_shards(
        "flush",
        "flush_time",
        "flush_total_time",
        phrase=EnginePhrase("flush", "work", 3, counted_by="flush_count"),
    ),
    Metric(
        *("ml_processing_time", "ms", "gauge", "processing time of buckets", "machine learning job"),
        origin="ml_processing_time",
        statistics=_SPREAD,
        row=MetricRow("{which} ML processing time", None),
        result="ml_processing_time",
    ),
    *_collector("Young Gen", "young", "young GC", 0),
    *_collector("Old Gen", "old", "old GC", 1),
    *_collector("ZGC Cycles", "zgc_cycles", "ZGC cycles", 2),
    *_collector("ZGC Pauses", "zgc_pauses", "ZGC pauses", 3),
    _size("Dataset", "size of the indices", EnginePhrase("dataset", "state", 5)),
    _size("Store", "size of the stores of the indices", EnginePhrase("store", "state", 4)),
    _size("Translog", "size of the transaction logs"),
    Metric(
        *("index_size", "bytes", "gauge", "size of the data folders of nodes that the race started"),
        origin="index_size",
        is_of_node=True,
        result="index_size",
        stored=StoredName("final_index_size_bytes", "byte"),
    ),
    Metric(
        *("disk_written", "bytes", "counter", "written to disks by nodes that the race started"),
        origin="bytes_written",
        is_of_node=True,
        result="bytes_written",
        stored=StoredName("disk_io_write_bytes", "byte"),
    ),
    _heap("segments"),
    _heap("doc values"),
    _heap("terms"),
    _heap("norms"),
    _heap("points"),
    _heap("stored fields"),
    Metric(
        *("segment_count", "", "gauge", "segments at the end of the race"),
        origin="segment_count",
        row=_SEGMENTS,
        compared=_SEGMENTS,
        result="segment_count",
        stored=StoredName("segments_count"),
        phrase=EnginePhrase("segment", "state", 6),
    ),
    _transforms("processing", "Transform processing time", "total_transform_processing_times"),
    _transforms("index", "Transform indexing time", "total_transform_index_times"),
    _transforms("search", "Transform search time", "total_transform_search_times"),
    _transforms("throughput", "Transform throughput", "total_transform_throughput", "rate"),
    Metric(
        *("ingest_pipeline_count", "", "counter", "documents that ingest pipelines processed"),
        origin="ingest_pipeline_cluster_count",
        row=_INGEST_COUNT,
        compared=_INGEST_COUNT,
        result="ingest_pipeline_cluster_count",
        stored=StoredName("ingest_pipeline_cluster_count"),
    ),
    Metric(
        *("ingest_pipeline_time", "ms", "counter", "time spent in ingest pipelines"),
        origin="ingest_pipeline_cluster_time",
        row=MetricRow("Total Ingest Pipeline time", _S),
        # Rally's comparisons have milliseconds.
        compared=MetricRow("Total Ingest Pipeline time", _MS),
        result="ingest_pipeline_cluster_time",
        stored=StoredName("ingest_pipeline_cluster_time", "ms"),
    ),
    Metric(
        *("ingest_pipeline_failed", "", "counter", "documents for which ingest pipelines failed"),
        origin="ingest_pipeline_cluster_failed",
        row=_INGEST_FAILED,
        compared=_INGEST_FAILED,
        result="ingest_pipeline_cluster_failed",
        stored=StoredName("ingest_pipeline_cluster_failed"),
    ),
    _disk_usage("inverted index"),
    _disk_usage("stored fields"),
    _disk_usage("doc values"),
    _disk_usage("points"),
    _disk_usage("norms"),
    _disk_usage("term vectors"),
    _disk_usage("knn vectors", is_rallys=False),
    _disk_usage("total", is_total=True),
)
"""The metrics of the engine. Each has its value in `SystemMetrics`."""

DOCUMENTS = (
    Metric(
        *("documents_acknowledged", "", "gauge", "new documents that the engine acknowledged", "index"),
        origin="acknowledged",
        row=MetricRow("documents acknowledged", ShownUnit("docs"), group="race"),
    ),
    Metric(
        *("documents_counted", "", "gauge", "documents that the engine counted after the race", "index"),
        origin="counted",
        row=MetricRow("documents counted", ShownUnit("docs"), group="race"),
    ),
)
"""The metrics of the documents of an index, with their values in `DocumentCheck`."""

IMPORTED = Metric("imported_value", "other", "gauge", "another figure of an imported race", "Rally's name")
"""What files of other tools have beside it."""

METRICS: Mapping[str, Metric] = {metric.key: metric for metric in (*TASK, *ENGINE, *DOCUMENTS, IMPORTED)}
"""All metrics by key, in the order in which they are documented."""
