"""The counters of the engine's nodes every two seconds: what a diagnosis of a race needs.

One request per interval reads all nodes, another one the health of the cluster. Names are those of the
engine's node statistics, without the unit: `indices.merges.total_throttled_time` in ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pacenote.model.telemetry_sample import SampleKind
from pacenote.net.reply import FailedStatus
from pacenote.telemetry.device import ControlConnection, ObservedCluster, expected_form
from pacenote.telemetry.flattening import number, split_unit
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter

_BAD_REQUEST = 400

_INDEX_METRICS = (
    "docs,store,indexing,get,search,merge,refresh,flush,translog,segments,query_cache,fielddata,"
    "request_cache,recovery"
)
_METRICS = (
    "indices,os,process,jvm,thread_pool,fs,breaker,indexing_pressure,http,transport,ingest,script,discovery"
)
_POOLS = (
    *("write", "search", "get", "refresh", "flush", "merge", "force_merge", "management", "generic"),
    *("system_write", "system_read", "write_coordination", "search_coordination", "search_worker"),
    *("index_searcher", "snapshot", "transport_worker", "http_server_worker"),
)
"""Thread pools that the load of a race may keep busy."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Values in one object of a node's statistics."""

    path: str
    """The keys on the way to it, joined by dots; `*` stands for any key."""

    counters: str = ""
    """Keys of values that only grow while the node runs, separated by blanks."""

    gauges: str = ""
    """Keys of values at one instant."""

    @property
    def kinds(self) -> Mapping[str, SampleKind]:
        """The kind of each value by its key."""
        counters: dict[str, SampleKind] = dict.fromkeys(self.counters.split(), "counter")
        return {**counters, **dict.fromkeys(self.gauges.split(), "gauge")}


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
    _Group("indices.docs", gauges="count deleted"),
    _Group("indices.store", gauges="size_in_bytes"),
    _Group(
        "indices.indexing",
        "index_total index_time_in_millis index_failed delete_total delete_time_in_millis noop_update_total "
        "throttle_time_in_millis",
        "index_current is_throttled",
    ),
    _Group("indices.get", "total time_in_millis missing_total", "current"),
    _Group(
        "indices.search",
        "query_total query_time_in_millis fetch_total fetch_time_in_millis scroll_total "
        "scroll_time_in_millis suggest_total suggest_time_in_millis concurrent_query_total "
        "concurrent_query_time_in_millis",
        "open_contexts query_current fetch_current scroll_current",
    ),
    _Group(
        "indices.merges",
        "total total_time_in_millis total_docs total_size_in_bytes total_stopped_time_in_millis "
        "total_throttled_time_in_millis",
        "current current_docs current_size_in_bytes total_auto_throttle_in_bytes",
    ),
    _Group(
        "indices.refresh",
        "total total_time_in_millis external_total external_total_time_in_millis",
        "listeners",
    ),
    _Group("indices.flush", "total periodic total_time_in_millis"),
    _Group(
        "indices.translog",
        gauges="operations size_in_bytes uncommitted_operations uncommitted_size_in_bytes",
    ),
    _Group(
        "indices.segments",
        gauges="count memory_in_bytes index_writer_memory_in_bytes version_map_memory_in_bytes "
        "fixed_bit_set_memory_in_bytes",
    ),
    _Group("indices.query_cache", f"{_CACHE} total_count cache_count", f"{_MEMORY} cache_size"),
    _Group("indices.request_cache", _CACHE, _MEMORY),
    _Group("indices.fielddata", "evictions", _MEMORY),
    _Group("indices.recovery", "throttle_time_in_millis", "current_as_source current_as_target"),
    _Group("os.cpu", gauges="percent"),
    _Group("os.cpu.load_average", gauges="1m"),
    _Group("os.mem", gauges="total_in_bytes free_in_bytes used_in_bytes"),
    _Group("os.swap", gauges="used_in_bytes"),
    _Group("os.cgroup.cpuacct", "usage_nanos"),
    _Group("os.cgroup.cpu", gauges="cfs_period_micros cfs_quota_micros"),
    _Group("os.cgroup.cpu.stat", "number_of_elapsed_periods number_of_times_throttled time_throttled_nanos"),
    _Group("process", gauges="open_file_descriptors max_file_descriptors"),
    _Group("process.cpu", "total_in_millis", "percent"),
    _Group("jvm", gauges="uptime_in_millis"),
    _Group(
        "jvm.mem",
        gauges="heap_used_in_bytes heap_committed_in_bytes heap_max_in_bytes heap_used_percent "
        "non_heap_used_in_bytes",
    ),
    _Group("jvm.mem.pools.*", gauges="used_in_bytes max_in_bytes peak_used_in_bytes"),
    _Group("jvm.gc.collectors.*", "collection_count collection_time_in_millis"),
    _Group("jvm.buffer_pools.*", gauges="count used_in_bytes total_capacity_in_bytes"),
    _Group("jvm.threads", gauges="count"),
    *(_Group(f"thread_pool.{pool}", "completed rejected", "threads queue active largest") for pool in _POOLS),
    _Group("fs.total", gauges="total_in_bytes free_in_bytes available_in_bytes"),
    _Group("fs.io_stats.total", _OPERATIONS),
    _Group("breakers.*", "tripped", "limit_size_in_bytes estimated_size_in_bytes"),
    _Group("indexing_pressure.memory", gauges="limit_in_bytes"),
    _Group("indexing_pressure.memory.current", gauges=_PRESSURE),
    _Group("indexing_pressure.memory.total", f"{_PRESSURE} {_REJECTIONS}"),
    _Group("http", "total_opened", "current_open"),
    _Group("transport", "rx_count rx_size_in_bytes tx_count tx_size_in_bytes", "server_open"),
    _Group("ingest.total", "count time_in_millis failed", "current"),
    _Group("script", "compilations cache_evictions compilation_limit_triggered"),
    _Group("discovery.cluster_state_queue", gauges="total pending"),
)

_KINDS = tuple((tuple(group.path.split(".")), group.kinds) for group in _GROUPS)
"""The keys on the way to each group, and the kinds of its values."""

_DEVICES = "fs.io_stats.devices"
"""A list of the disks below the data folders, each with the values of `fs.io_stats.total`."""

_DEVICE_KINDS = _Group(_DEVICES, f"{_OPERATIONS} read_time write_time").kinds

_UNNAMED_UNITS = {f"{_DEVICES}.read_time": "ms", f"{_DEVICES}.write_time": "ms"}
"""Units of values whose names do not state them."""

_NOT_IN_NAMES = re.compile("[^a-z0-9]+")
"""What is not in the names of values, unlike in those of collectors and pools."""


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


def _filter() -> str:
    # Two groups below the same object are one part of the reply.
    paths = {group.path for group in _GROUPS} | {_DEVICES}
    whole = sorted(each for each in paths if not any(each.startswith(f"{other}.") for other in paths))
    return "filter_path=" + ",".join(("nodes.*.name", *(f"nodes.*.{path}" for path in whole)))


_FILTER = _filter()
_EVERYTHING = f"/_nodes/stats?{_FILTER}"
"""Reads all statistics, of which the reply has those that are asked for."""


class EngineCounters(SampledDevice):
    """The counters of all nodes, and the health of the cluster, every two seconds."""

    name = "node-counters"
    description = (
        "Counters of the nodes: thread pools, GC, heap, indexing, searching, merging, refreshing, disk, CPU."
    )
    interval = interval_parameter("node-counters", 2.0)
    parameters = (interval,)

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._path = f"/_nodes/stats/{_METRICS}/{_INDEX_METRICS}?{_FILTER}"

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the counters of all nodes, and the health. Raises EngineError."""
        reply = self._statistics(connection)
        with expected_form('"nodes" with the statistics of each'):
            figures = [
                figure
                for node_id, node in reply["nodes"].items()
                for figure in _figures(node, {"node": str(node.get("name", node_id))})
            ]
        health = connection.get(_HEALTH_PATH)
        with expected_form("an object with the health of the cluster"):
            return [*figures, *_health(health)]

    def _statistics(self, connection: ControlConnection) -> Any:
        try:
            return connection.get(self._path)
        except FailedStatus as error:
            if error.status != _BAD_REQUEST or self._path == _EVERYTHING:
                raise
            # An old version that does not know all groups by name.
            self._path = _EVERYTHING
            return connection.get(self._path)


def _health(reply: Mapping[str, Any]) -> Iterator[SampledValue]:
    status = _HEALTH.get(str(reply.get("status")))
    if status is not None:
        yield SampledValue("cluster.status", status)
    for key in _SHARDS:
        value = number(reply.get(key))
        if value is not None:
            yield SampledValue(f"cluster.{key.removeprefix('number_of_')}", value)


def _figures(node: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[SampledValue]:
    for keys, kinds in _KINDS:
        for path, values in _objects(node, keys, ()):
            yield from _values(".".join(path), values, kinds, labels)
    for device in node.get("fs", {}).get("io_stats", {}).get("devices", ()):
        yield from _values(_DEVICES, device, _DEVICE_KINDS, {**labels, "device": str(device["device_name"])})


def _objects(
    value: Any, path: tuple[str, ...], before: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yields the objects at a path, with their keys as they are in the names of values."""
    if not isinstance(value, Mapping):
        return
    if not path:
        yield before, value
        return
    for key in value if path[0] == "*" else (path[0],):
        if key in value:
            yield from _objects(
                value[key], path[1:], (*before, _NOT_IN_NAMES.sub("_", key.lower()).strip("_"))
            )


def _values(
    path: str, values: Mapping[str, Any], kinds: Mapping[str, SampleKind], labels: Mapping[str, str]
) -> Iterator[SampledValue]:
    for key, kind in kinds.items():
        value = number(values.get(key))
        if value is not None:
            name, unit = _name_and_unit(path, key)
            yield SampledValue(name, value, unit, kind, labels)


@cache
def _name_and_unit(path: str, key: str) -> tuple[str, str]:
    name, unit = split_unit(f"{path}.{key}")
    return name, unit or _UNNAMED_UNITS.get(name, "")
