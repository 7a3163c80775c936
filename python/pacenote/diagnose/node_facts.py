"""The figures that the sampled counters of the engine's nodes have, by task and node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_series import TaskSeries, ratio, total

SOURCES = ("node-counters", "node-gauges")
"""The telemetry devices that read them."""

_NAME = "process.cpu.total"
_POOLS = ("write", "search")
_MOST_BREAKERS = 100
"""Largest number of circuit breakers that are looked at; engines have about ten."""

_REJECTIONS = ("coordinating_rejections", "primary_rejections", "replica_rejections")

_SCRIPT_COUNTERS = (
    ("scripts_compiled", "compilations"),
    ("script_cache_evictions", "cache_evictions"),
    ("script_limit_triggers", "compilation_limit_triggered"),
)
"""Figures of counters of scripts."""

_SUCCESS = "discovery.cluster_state_update.success"
_OVERALL = "discovery.cluster_state_stats.overall"
_UPDATES = (
    (
        f"{_SUCCESS}.count",
        tuple(f"{_SUCCESS}.{part}_time" for part in ("computation", "publication", "notification")),
    ),
    (f"{_OVERALL}.update_count", (f"{_OVERALL}.total_time",)),
)
"""Counters of changes of the cluster's state, with those of their time: of Elasticsearch and OpenSearch."""

UNEVEN = 1.3
"""Largest value of a node / mean of the nodes from which that node is named, as in rule O2: below, it has the
most by chance.
"""

_Figures = Iterator[tuple[str, float | str | None]]


class NodeSettings(Struct, frozen=True):
    """What the configuration says about nodes, without which some counters have no meaning."""

    cores: Mapping[str, float] = field(default_factory=dict)
    """Cores of the host by node, or processors of the node if the host is not known."""

    index_buffer_bytes: Mapping[str, float] = field(default_factory=dict)
    """Limit of the indexing buffer by node."""

    without_data: frozenset[str] = frozenset()
    """Nodes whose roles exclude data, so that they are idler than the others by design."""


def add_node_figures(builder: EvidenceBuilder, cuts: TelemetryCuts, limits: NodeSettings) -> None:
    """Adds the figures of all tasks and nodes, and those of the cluster."""
    seen = False
    before = builder.build()
    alone = {measured.name for measured in before.tasks if not measured.beside}
    tasks = [TaskSeries(cuts.of_sources(SOURCES, task.task), task.duration_s) for task in cuts.tasks]
    for task, series in zip(cuts.tasks, tasks, strict=True):
        nodes = series.values_of(_NAME, "node")
        seen = seen or bool(nodes)
        for node in nodes:
            for name, value in _node_figures(series, node, limits):
                builder.set(Window(task.task, node), name, value)
        of_data = [node for node in nodes if node not in limits.without_data]
        for name, value in (*_cluster_figures(series, of_data), *_update_figures(series, nodes)):
            builder.set(Window(task.task), name, value)
        if task.task in alone and (sent := before.number(Window(task.task), "task.documents")):
            builder.set(Window(task.task), "node.replica_share", _replica_share(series, of_data, sent))
    if not seen:
        builder.miss("node counters", "the counters of the nodes were not sampled")


def _replica_share(series: TaskSeries, nodes: Sequence[str], sent: float) -> float | None:
    """Returns which part of what the nodes indexed was not sent by the driver, but copied to replicas."""
    indexed = [series.per_s("indices.indexing.index_total", node=node) for node in nodes]
    if len(nodes) < 2 or None in indexed or not (whole := total(indexed)):
        return None
    return max(0.0, 1 - sent / (whole * series.duration_s))


def _node_figures(series: TaskSeries, node: str, limits: NodeSettings) -> _Figures:
    yield from _jvm_figures(series, node, limits)
    yield from _pool_figures(series, node)
    yield from _index_figures(series, node)
    yield from _segment_figures(series, node, limits)
    yield from _search_figures(series, node)
    sizes = [series.per_s(f"transport.{way}_size", node=node) for way in ("rx", "tx")]
    yield "node.transport_bytes_per_s", total(sizes)


def _jvm_figures(series: TaskSeries, node: str, limits: NodeSettings) -> _Figures:
    busy = series.share(_NAME, node=node)
    yield "node.cores", limits.cores.get(node)
    yield "node.cpu_share", ratio(busy, limits.cores.get(node))
    heap = series.mean("jvm.mem.heap_used_percent", node=node)
    yield "node.heap_share", None if heap is None else heap / 100
    pool = "jvm.mem.pools.old"
    size = series.largest(f"{pool}.max", node=node)
    if size is None or size <= 0:
        size = series.largest("jvm.mem.heap_max", node=node)
    yield "node.old_pool_share", ratio(series.largest(f"{pool}.used", node=node), size)
    for which in ("young", "old"):
        time = series.share(f"jvm.gc.collectors.{which}.collection_time", node=node)
        yield f"node.{which}_gc_share", time
    uptime = series.last("jvm.uptime", node=node)
    yield "node.uptime_s", None if uptime is None else uptime / 1000
    breakers = series.names("breakers.", ".tripped")[:_MOST_BREAKERS]
    trips = (series.increase(name, node=node) for name in breakers)
    yield "node.breaker_trips", _whole(total(trips))


def _pool_figures(series: TaskSeries, node: str) -> _Figures:
    for pool in _POOLS:
        at = f"thread_pool.{pool}"
        yield f"node.{pool}_active", series.mean(f"{at}.active", node=node)
        yield f"node.{pool}_threads", series.largest(f"{at}.threads", node=node)
        queue = series.gauge(f"{at}.queue", node=node)
        yield f"node.{pool}_queue", None if queue is None else queue.mean
        yield f"node.{pool}_readings", None if queue is None else queue.samples
        yield f"node.{pool}_rejections", _whole(series.increase(f"{at}.rejected", node=node))
    at = "indexing_pressure.memory"
    used = series.largest(f"{at}.current.combined_coordinating_and_primary", node=node)
    yield "node.pressure_share", ratio(used, series.largest(f"{at}.limit", node=node))
    rejected = (series.increase(f"{at}.total.{name}", node=node) for name in _REJECTIONS)
    yield "node.pressure_rejections", _whole(total(rejected))
    yield "node.replica_rejections", _whole(series.increase(f"{at}.total.replica_rejections", node=node))
    replicas = series.largest(f"{at}.current.replica", node=node)
    yield "node.replica_pressure_share", ratio(replicas, series.largest(f"{at}.limit", node=node))


def _index_figures(series: TaskSeries, node: str) -> _Figures:
    indexing = series.share("indices.indexing.index_time", node=node)
    merging = series.share("indices.merges.total_time", node=node)
    refreshing = series.share("indices.refresh.total_time", node=node)
    yield "node.indexing_share", indexing
    yield "node.indexing_throttled_share", series.share("indices.indexing.throttle_time", node=node)
    yield "node.merge_share", merging
    throttled = series.share("indices.merges.total_throttled_time", node=node)
    yield "node.merge_throttled_share", ratio(throttled, merging)
    yield "node.refresh_share", refreshing
    yield "node.refreshes_per_s", series.per_s("indices.refresh.total", node=node)
    if indexing is not None:
        yield "node.refresh_indexing_share", ratio(refreshing, total((indexing, refreshing)))
    yield "node.flush_share", series.share("indices.flush.total_time", node=node)
    for name, counter in (("flushes", "total"), ("periodic_flushes", "periodic")):
        per_s = series.per_s(f"indices.flush.{counter}", node=node)
        yield f"node.{name}_per_min", None if per_s is None else per_s * 60
    yield "node.translog_bytes", series.largest("indices.translog.uncommitted_size", node=node)


def _segment_figures(series: TaskSeries, node: str, limits: NodeSettings) -> _Figures:
    yield "node.documents", series.last("indices.docs.count", node=node)
    yield "node.deleted_documents", series.last("indices.docs.deleted", node=node)
    yield "node.store_bytes", series.last("indices.store.size", node=node)
    yield "node.segments", series.last("indices.segments.count", node=node)
    yield "node.segments_per_s", _created_segments(series, node)
    memory = series.mean("indices.segments.index_writer_memory", node=node)
    yield "node.writer_memory_share", ratio(memory, limits.index_buffer_bytes.get(node))


def _created_segments(series: TaskSeries, node: str) -> float | None:
    """Returns the least number of segments that were created per second: a merge replaces at least two."""
    growth = series.growth("indices.segments.count", node=node)
    merges = series.increase("indices.merges.total", node=node)
    if growth is None or merges is None or series.duration_s <= 0:
        return None
    return max(0.0, growth + merges) / series.duration_s


def _search_figures(series: TaskSeries, node: str) -> _Figures:
    yield "node.search_share", series.share("indices.search.query_time", node=node)
    yield "node.fetch_share", series.share("indices.search.fetch_time", node=node)
    for cache in ("query_cache", "request_cache"):
        at = f"indices.{cache}"
        hits, misses = (series.increase(f"{at}.{outcome}_count", node=node) for outcome in ("hit", "miss"))
        yield f"node.{cache}_hit_share", ratio(hits, total((hits, misses)))
        yield f"node.{cache}_evictions", _whole(series.increase(f"{at}.evictions", node=node))
    compiled = series.per_s("script.compilations", node=node)
    yield "node.script_compilations_per_min", None if compiled is None else compiled * 60
    for name, counter in _SCRIPT_COUNTERS:
        yield f"node.{name}", _whole(series.increase(f"script.{counter}", node=node))
    yield "node.fielddata_bytes", series.largest("indices.fielddata.memory_size", node=node)
    yield "node.fielddata_evictions", _whole(series.increase("indices.fielddata.evictions", node=node))


def _update_figures(series: TaskSeries, nodes: Sequence[str]) -> _Figures:
    """Yields how often the state of the cluster changed, and the part of the time that this took."""

    def sum_of(names: Sequence[str]) -> float | None:
        return total(series.per_s(name, node=node) for name in names for node in nodes)

    for count, times in _UPDATES:
        if (per_s := sum_of((count,))) is not None:
            yield "cluster.updates_per_s", per_s
            ms_per_s = sum_of(times)
            yield "cluster.update_share", None if ms_per_s is None else min(ms_per_s / 1000, 1.0)
            return


def _cluster_figures(series: TaskSeries, nodes: Sequence[str]) -> _Figures:
    """Yields how unevenly the nodes are used, if there are several, and which has so much that it matters."""
    if len(nodes) < 2:
        return
    heap = {node: series.gauge("jvm.mem.heap_used", node=node) for node in nodes}
    unevenness = {
        "cpu": {node: series.per_s(_NAME, node=node) for node in nodes},
        "heap": {node: None if cut is None else cut.min for node, cut in heap.items()},
        "write": {node: series.per_s("indices.indexing.index_total", node=node) for node in nodes},
    }
    for name, by_node in unevenness.items():
        known = {node: value for node, value in by_node.items() if value is not None}
        if len(known) == len(by_node):
            yield f"cluster.{name}_imbalance", ratio(max(known.values()) * len(known), sum(known.values()))
            if max(known.values()) * len(known) > UNEVEN * sum(known.values()):
                yield f"cluster.{name}_node", max(known, key=lambda node: known[node])


def _whole(count: float | None) -> float | None:
    """Returns a count of events: between two samples, it is known only as a fraction."""
    return None if count is None else float(round(count))
