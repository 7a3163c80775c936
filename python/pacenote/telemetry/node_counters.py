"""The counters of the engine's nodes, every ten seconds and at the ends of tasks, for the diagnosis.

One request reads all nodes, another one the health of the cluster. What changes from one moment to the next
is read more often, by `node_gauges`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pacenote.telemetry.device import ControlConnection, ObservedCluster, expected_form
from pacenote.telemetry.flattening import number
from pacenote.telemetry.node_statistics import POOLS, NodeStatistics, ValueGroup
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter

_INDEX_METRICS = (
    "docs,store,indexing,get,search,merge,refresh,flush,translog,segments,query_cache,fielddata,"
    "request_cache,recovery"
)
_METRICS = (
    "indices,os,process,jvm,thread_pool,fs,breaker,indexing_pressure,http,transport,ingest,script,discovery"
)
_CACHE = "evictions hit_count miss_count"
_MEMORY = "memory_size_in_bytes"
_OPERATIONS = "operations read_operations write_operations read_kilobytes write_kilobytes io_time_in_millis"
_PRESSURE = (
    "combined_coordinating_and_primary_in_bytes coordinating_in_bytes primary_in_bytes replica_in_bytes "
    "all_in_bytes"
)
_REJECTIONS = (
    "coordinating_rejections primary_rejections replica_rejections primary_document_rejections "
    "large_operation_rejections"
)

_GROUPS = (
    ValueGroup("indices.docs", gauges="count deleted"),
    ValueGroup("indices.store", gauges="size_in_bytes"),
    ValueGroup(
        "indices.indexing",
        "index_total index_time_in_millis index_failed delete_total delete_time_in_millis noop_update_total "
        "throttle_time_in_millis",
        "index_current is_throttled",
    ),
    ValueGroup("indices.get", "total time_in_millis missing_total", "current"),
    ValueGroup(
        "indices.search",
        "query_total query_time_in_millis fetch_total fetch_time_in_millis scroll_total "
        "scroll_time_in_millis suggest_total suggest_time_in_millis concurrent_query_total "
        "concurrent_query_time_in_millis",
        "open_contexts query_current fetch_current scroll_current",
    ),
    ValueGroup(
        "indices.merges",
        "total total_time_in_millis total_docs total_size_in_bytes total_stopped_time_in_millis "
        "total_throttled_time_in_millis",
        "current current_docs current_size_in_bytes total_auto_throttle_in_bytes",
    ),
    ValueGroup(
        "indices.refresh",
        "total total_time_in_millis external_total external_total_time_in_millis",
        "listeners",
    ),
    ValueGroup("indices.flush", "total periodic total_time_in_millis"),
    ValueGroup(
        "indices.translog",
        gauges="operations size_in_bytes uncommitted_operations uncommitted_size_in_bytes",
    ),
    ValueGroup(
        "indices.segments",
        gauges="count memory_in_bytes index_writer_memory_in_bytes version_map_memory_in_bytes "
        "fixed_bit_set_memory_in_bytes",
    ),
    ValueGroup("indices.query_cache", f"{_CACHE} total_count cache_count", f"{_MEMORY} cache_size"),
    ValueGroup("indices.request_cache", _CACHE, _MEMORY),
    ValueGroup("indices.fielddata", "evictions", _MEMORY),
    ValueGroup("indices.recovery", "throttle_time_in_millis", "current_as_source current_as_target"),
    ValueGroup("os.cpu", gauges="percent"),
    ValueGroup("os.cpu.load_average", gauges="1m"),
    ValueGroup("os.mem", gauges="total_in_bytes free_in_bytes used_in_bytes"),
    ValueGroup("os.swap", gauges="used_in_bytes"),
    ValueGroup("os.cgroup.cpuacct", "usage_nanos"),
    ValueGroup("os.cgroup.cpu", gauges="cfs_period_micros cfs_quota_micros"),
    ValueGroup(
        "os.cgroup.cpu.stat", "number_of_elapsed_periods number_of_times_throttled time_throttled_nanos"
    ),
    ValueGroup("process", gauges="open_file_descriptors max_file_descriptors"),
    ValueGroup("process.cpu", "total_in_millis", "percent"),
    ValueGroup("jvm", gauges="uptime_in_millis"),
    ValueGroup("jvm.mem", gauges="heap_committed_in_bytes heap_max_in_bytes non_heap_used_in_bytes"),
    ValueGroup("jvm.mem.pools.*", gauges="max_in_bytes peak_used_in_bytes"),
    ValueGroup("jvm.gc.collectors.*", "collection_count collection_time_in_millis"),
    ValueGroup("jvm.buffer_pools.*", gauges="count used_in_bytes total_capacity_in_bytes"),
    ValueGroup("jvm.threads", gauges="count"),
    *(ValueGroup(f"thread_pool.{pool}", "completed rejected", "threads largest") for pool in POOLS),
    ValueGroup("fs.total", gauges="total_in_bytes free_in_bytes available_in_bytes"),
    ValueGroup("fs.io_stats.total", _OPERATIONS),
    ValueGroup(
        "fs.io_stats.devices",
        f"{_OPERATIONS} read_time write_time",
        label="device",
        units={"read_time": "ms", "write_time": "ms"},
    ),
    ValueGroup("breakers.*", "tripped", "limit_size_in_bytes estimated_size_in_bytes"),
    ValueGroup("indexing_pressure.memory", gauges="limit_in_bytes"),
    ValueGroup("indexing_pressure.memory.total", f"{_PRESSURE} {_REJECTIONS}"),
    ValueGroup("http", "total_opened", "current_open"),
    ValueGroup("transport", "rx_count rx_size_in_bytes tx_count tx_size_in_bytes", "server_open"),
    ValueGroup("ingest.total", "count time_in_millis failed", "current"),
    ValueGroup("script", "compilations cache_evictions compilation_limit_triggered"),
    ValueGroup("discovery.cluster_state_queue", gauges="total pending"),
    # What the elected node did: Elasticsearch from 7.16 on, and OpenSearch from 2.12 on.
    ValueGroup(
        "discovery.cluster_state_update.success",
        "count computation_time_millis publication_time_millis notification_time_millis",
    ),
    ValueGroup("discovery.cluster_state_stats.overall", "update_count total_time_in_millis failed_count"),
)

_FILTER = "-nodes.*.http.clients,-nodes.*.ingest.pipelines,-nodes.*.script.contexts"
"""What can be long and is not read."""

_HEALTH = {"green": 0.0, "yellow": 1.0, "red": 2.0}
"""`cluster.status` as a number, so that the largest value of a task is its worst state."""

_SHARDS = (
    "relocating_shards",
    "initializing_shards",
    "unassigned_shards",
    "number_of_pending_tasks",
    "number_of_nodes",
)
_HEALTH_PATH = f"/_cluster/health?filter_path=status,{','.join(_SHARDS)}"


class EngineCounters(SampledDevice):
    """The counters of all nodes, and the health of the cluster, every ten seconds and when a task ends."""

    name = "node-counters"
    description = (
        "Counters of nodes: thread pools, GC, indexing, searching, merging, refreshing, disk, CPU; health."
    )
    interval = interval_parameter("node-counters", 10.0)
    parameters = (interval,)
    samples_task_ends = True

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._statistics = NodeStatistics(f"{_METRICS}/{_INDEX_METRICS}", _FILTER, _GROUPS)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the counters of all nodes, and the health. Raises EngineError."""
        yield from self._statistics.read(connection, self._cluster.node_names)
        health = connection.get(_HEALTH_PATH)
        with expected_form("an object with the health of the cluster"):
            yield from _health(health)


def _health(reply: Mapping[str, Any]) -> Iterator[SampledValue]:
    reported = reply.get("status")
    status = _HEALTH.get(reported) if isinstance(reported, str) else None
    if status is not None:
        yield SampledValue("cluster.status", status)
    for key in _SHARDS:
        value = number(reply.get(key))
        if value is not None:
            yield SampledValue(f"cluster.{key.removeprefix('number_of_')}", value)
