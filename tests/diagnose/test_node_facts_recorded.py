"""Every series that the devices of the nodes record is in a figure or a view, or listed here with a reason.

A series is in a figure if figures of a race change without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from diagnose.cuts import counter, gauge, telemetry
from pacenote.diagnose.cluster_facts import add_cluster_states
from pacenote.diagnose.engine_host_facts import add_engine_host_figures
from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.node_facts import NodeSettings, add_node_figures
from pacenote.diagnose.race_facts import race_builder
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.report.page.race.machine import WANTED
from pacenote.telemetry import node_counters, node_gauges
from pacenote.telemetry.flattening import split_unit
from pacenote.telemetry.node_statistics import ValueGroup
from support.records import bulk, record

NODES = ("n0", "n1")
KEYS: Mapping[str, tuple[str, ...]] = {
    "jvm.mem.pools.*": ("young", "survivor", "old"),
    "jvm.gc.collectors.*": ("young", "old"),
    "jvm.buffer_pools.*": ("direct", "mapped"),
    "breakers.*": ("parent",),
}
"""What engines have in place of `*`."""

_POOLS = (
    "flush force_merge generic get http_server_worker index_searcher management merge refresh "
    "search_coordination search_worker snapshot system_read system_write transport_worker write_coordination"
)
"""Pools of which no figure has any value."""

_OF_POOL = ("active", "completed", "largest", "queue", "rejected", "threads")

_LISTED: Mapping[str, str] = {
    "shows which other pool was busy if neither searches nor writes waited (I6, Q4)": " ".join(
        f"thread_pool.{pool}.{value}" for pool in _POOLS.split() for value in _OF_POOL
    ),
    "tells a pool that was busy throughout from one that was used in bursts (I6, Q4)": (
        "thread_pool.search.completed thread_pool.search.largest "
        "thread_pool.write.completed thread_pool.write.largest"
    ),
    "shows how near a breaker came to its limit (H14)": (
        "breakers.parent.estimated_size breakers.parent.limit_size"
    ),
    "is the health that the verdict takes from the longest state (V5)": (
        "cluster.initializing_shards cluster.nodes cluster.unassigned_shards"
    ),
    "shows whether changes of the state wait for one node or fail (O4, O6)": (
        "discovery.cluster_state_queue.pending discovery.cluster_state_queue.total "
        "discovery.cluster_state_stats.overall.failed_count discovery.cluster_state_stats.overall.total_time "
        "discovery.cluster_state_stats.overall.update_count"
    ),
    "stands for the counters of a disk that cannot be sampled (D1, D4)": (
        "fs.io_stats.devices.read_operations fs.io_stats.devices.write_operations fs.io_stats.total.io_time "
        "fs.io_stats.total.operations fs.io_stats.total.read_kilobytes fs.io_stats.total.read_operations "
        "fs.io_stats.total.write_kilobytes fs.io_stats.total.write_operations fs.total.free"
    ),
    "shows whether connections are opened again for each request": "http.current_open http.total_opened",
    "shows which part of writing had the memory of writes, and what was refused for it (I6)": (
        "indexing_pressure.memory.current.all indexing_pressure.memory.current.coordinating "
        "indexing_pressure.memory.current.primary indexing_pressure.memory.total.all "
        "indexing_pressure.memory.total.combined_coordinating_and_primary "
        "indexing_pressure.memory.total.coordinating "
        "indexing_pressure.memory.total.large_operation_rejections indexing_pressure.memory.total.primary "
        "indexing_pressure.memory.total.primary_document_rejections indexing_pressure.memory.total.replica"
    ),
    "counts operations of which tasks have the times, as the engine saw them": (
        "indices.get.current indices.get.missing_total indices.get.time indices.get.total "
        "indices.indexing.delete_time indices.indexing.delete_total indices.indexing.index_current "
        "indices.indexing.index_failed indices.indexing.noop_update_total "
        "indices.search.concurrent_query_time indices.search.concurrent_query_total "
        "indices.search.fetch_current indices.search.fetch_total indices.search.open_contexts "
        "indices.search.query_current indices.search.query_total indices.search.scroll_current "
        "indices.search.scroll_time indices.search.scroll_total indices.search.suggest_time "
        "indices.search.suggest_total ingest.total.count ingest.total.current ingest.total.failed "
        "ingest.total.time"
    ),
    "shows the size of merges beside their time, and what held them back (I3)": (
        "indices.indexing.is_throttled indices.merges.total_auto_throttle indices.merges.total_docs "
        "indices.merges.total_size indices.merges.total_stopped_time"
    ),
    "shows how much a cache has to hold (Q2)": (
        "indices.query_cache.cache_count indices.query_cache.cache_size indices.query_cache.memory_size "
        "indices.query_cache.total_count indices.request_cache.memory_size"
    ),
    "shows whether shards were copied to another node meanwhile (V5)": (
        "indices.recovery.current_as_source indices.recovery.current_as_target indices.recovery.throttle_time"
    ),
    "tells refreshes that searches need from those of the engine itself (I4)": (
        "indices.refresh.external_total indices.refresh.external_total_time indices.refresh.listeners"
    ),
    "shows what segments keep in the heap (H6)": (
        "indices.segments.fixed_bit_set_memory indices.segments.memory indices.segments.version_map_memory"
    ),
    "shows how much a node would have to write again (I2)": (
        "indices.translog.operations indices.translog.size indices.translog.uncommitted_operations"
    ),
    "shows where memory of the JVM is, in the heap and outside (H1, H3, H6)": (
        "jvm.buffer_pools.direct.count jvm.buffer_pools.direct.total_capacity jvm.buffer_pools.direct.used "
        "jvm.buffer_pools.mapped.count jvm.buffer_pools.mapped.total_capacity jvm.buffer_pools.mapped.used "
        "jvm.mem.heap_committed jvm.mem.heap_max jvm.mem.non_heap_used jvm.mem.pools.old.max "
        "jvm.mem.pools.old.peak_used jvm.mem.pools.survivor.max jvm.mem.pools.survivor.peak_used "
        "jvm.mem.pools.survivor.used jvm.mem.pools.young.max jvm.mem.pools.young.peak_used "
        "jvm.mem.pools.young.used"
    ),
    "stands for the values of a host that cannot be sampled (K2, P1)": (
        "os.cgroup.cpu.cfs_period os.cgroup.cpu.cfs_quota os.cgroup.cpuacct.usage os.cpu.load_average.1m "
        "os.mem.free os.mem.total os.mem.used process.cpu.percent"
    ),
    "shows whether a node ran out of threads or file descriptors": (
        "jvm.threads.count process.max_file_descriptors process.open_file_descriptors"
    ),
    "tells many messages between nodes from large ones (N3, O5)": (
        "transport.rx_count transport.server_open transport.tx_count"
    ),
}
"""What series are recorded for that no figure and no view has, with their names."""

KEPT = {name: reason for reason, names in _LISTED.items() for name in names.split()}


def recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the device and the series, as cut to a task, of all that both devices read."""
    for device, groups in (("node-counters", node_counters._GROUPS), ("node-gauges", node_gauges._GROUPS)):
        for group in groups:
            for node in NODES:
                yield from ((device, series) for series in _of_group(group, node))
    names = ("status", *(key.removeprefix("number_of_") for key in node_counters._SHARDS))
    yield from (("node-counters", gauge(f"cluster.{name}", 1.0, 2.0, 2.0)) for name in names)


def _of_group(group: ValueGroup, node: str) -> Iterator[dict[str, Any]]:
    labels = {"node": node} | ({group.label: "sda"} if group.label else {})
    scale = 1 + NODES.index(node)
    for key in KEYS.get(group.path, ("",)):
        at = group.path.replace("*", key)
        for name in group.counters.split():
            yield counter(split_unit(f"{at}.{name}")[0], 40.0 * scale, **labels)
        for name in group.gauges.split():
            yield gauge(split_unit(f"{at}.{name}")[0], 10.0 * scale, 20.0 * scale, 30.0 * scale, **labels)


def cuts_without(name: str) -> TelemetryCuts:
    """Returns the telemetry of a race, without the series with this name."""
    series = [{"source": source, **each} for source, each in recorded() if each["name"] != name]
    return telemetry("", *series)


def figures(cuts: TelemetryCuts) -> object:
    """Returns all that figures say about a race."""
    race = record("race-a", tasks=(bulk(),))
    builder: EvidenceBuilder = race_builder(race)
    for node in NODES:
        builder.set(Window(node=node), "engine.available_processors", 4)
    settings = NodeSettings(dict.fromkeys(NODES, 4.0), dict.fromkeys(NODES, 1e6))
    add_node_figures(builder, cuts, settings)
    add_engine_host_figures(builder, cuts, ())
    add_cluster_states(builder, cuts, {"setting.cluster.routing.allocation.disk.watermark.low": "85%"})
    return builder.build()


@pytest.fixture(scope="module")
def unused() -> set[str]:
    """The series without which no figure changes, and that no view shows."""
    names = {series["name"] for _, series in recorded()}
    assert len(names) > 200
    everything = figures(cuts_without(""))
    shown = tuple(name for _, name in WANTED)
    return {
        name for name in names if not name.startswith(shown) and figures(cuts_without(name)) == everything
    }


def test_every_series_is_in_a_figure_or_a_view_or_is_kept_for_a_reason(unused: set[str]) -> None:
    assert sorted(unused - KEPT.keys()) == [], "a figure or a view must have it, or it need not be recorded"
    assert sorted(KEPT.keys() - unused) == [], "it is used, or not recorded: take it off the list"
