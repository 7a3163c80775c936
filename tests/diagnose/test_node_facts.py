from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.node_facts import SOURCES, UNEVEN, NodeSettings, add_node_figures
from pacenote.diagnose.rules_file import bundled_rules

NODE = {"node": "a"}
SERIES = (
    counter("process.cpu.total", 1600, **NODE),
    gauge("jvm.mem.heap_used_percent", 40, 60, **NODE),
    gauge("jvm.mem.pools.old.used", 100, 300, 200, **NODE),
    gauge("jvm.mem.pools.old.max", 1000, **NODE),
    gauge("jvm.uptime", 5000, 15000, **NODE),
    counter("jvm.gc.collectors.young.collection_time", 50, **NODE),
    counter("breakers.parent.tripped", 0.2, **NODE),
    counter("breakers.request.tripped", 0.1, **NODE),
    gauge("thread_pool.write.active", 1, 2, **NODE),
    gauge("thread_pool.write.threads", 1, 2, **NODE),
    gauge("thread_pool.write.queue", 0, 4, **NODE),
    counter("thread_pool.write.rejected", 0.7, **NODE),
    gauge("indexing_pressure.memory.current.combined_coordinating_and_primary", 10, 90, **NODE),
    gauge("indexing_pressure.memory.limit", 100, **NODE),
    counter("indexing_pressure.memory.total.primary_rejections", 0.4, **NODE),
    counter("indices.indexing.index_time", 900, **NODE),
    counter("indices.indexing.throttle_time", 30, **NODE),
    counter("indices.merges.total_time", 400, **NODE),
    counter("indices.merges.total_throttled_time", 100, **NODE),
    counter("indices.merges.total", 2, **NODE),
    counter("indices.refresh.total_time", 100, **NODE),
    counter("indices.refresh.total", 3, **NODE),
    counter("indices.flush.periodic", 0.5, **NODE),
    gauge("indices.segments.count", 10, 25, **NODE),
    gauge("indices.segments.index_writer_memory", 500, 1500, **NODE),
    gauge("indices.store.size", 1000, 8000, **NODE),
    counter("indices.request_cache.hit_count", 3, **NODE),
    counter("indices.request_cache.miss_count", 9, **NODE),
    gauge("indexing_pressure.memory.current.replica", 10, 60, **NODE),
    counter("indexing_pressure.memory.total.replica_rejections", 0.2, **NODE),
    counter("script.compilations", 0.5, **NODE),
    counter("script.cache_evictions", 0.4, **NODE),
    counter("script.compilation_limit_triggered", 0.1, **NODE),
    counter("discovery.cluster_state_stats.overall.update_count", 2, **NODE),
    counter("discovery.cluster_state_stats.overall.total_time", 300, **NODE),
    gauge("indices.fielddata.memory_size", 4096, 1024, **NODE),
    gauge("cluster.status", 0, 1),
)
EXPECTED = {
    "node.cpu_share": 0.8,
    "node.heap_share": 0.5,
    "node.old_pool_share": 0.3,
    "node.uptime_s": 15,
    "node.young_gc_share": 0.05,
    "node.breaker_trips": 3,
    "node.write_active": 1.5,
    "node.write_threads": 2,
    "node.write_queue": 2,
    "node.write_readings": 2,
    "node.write_rejections": 7,
    "node.pressure_share": 0.9,
    "node.pressure_rejections": 6,
    "node.replica_rejections": 2,
    "node.replica_pressure_share": 0.6,
    "node.script_compilations_per_min": 30,
    "node.scripts_compiled": 5,
    "node.script_cache_evictions": 4,
    "node.script_limit_triggers": 1,
    "cluster.updates_per_s": 2,
    "cluster.update_share": 0.3,
    "node.fielddata_bytes": 4096,
    "node.indexing_share": 0.9,
    "node.indexing_throttled_share": 0.03,
    "node.merge_share": 0.4,
    "node.merge_throttled_share": 0.25,
    "node.refresh_share": 0.1,
    "node.refresh_indexing_share": 0.1,
    "node.refreshes_per_s": 3,
    "node.periodic_flushes_per_min": 30,
    "node.segments_per_s": 3.5,
    "node.writer_memory_share": 0.5,
    "node.request_cache_hit_share": 0.25,
}


def evidence(*series: Mapping[str, Any]) -> Evidence:
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    limits = NodeSettings(cores={"a": 2, "b": 2}, index_buffer_bytes={"a": 2000})
    counters, gauges = SOURCES
    both = [{**each, "source": gauges if each["kind"] == "gauge" else counters} for each in series]
    add_node_figures(builder, telemetry(counters, *both), limits)
    return builder.build()


def test_counters_become_figures_of_the_task_and_the_node() -> None:
    observed = evidence(*SERIES)
    assert observed.nodes == ("a",)
    for name, value in EXPECTED.items():
        assert observed.value(Window(TASK, "a"), name) == pytest.approx(value), name


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.startswith("node.")))
def test_a_figure_without_its_counters_is_missing(name: str) -> None:
    observed = evidence(SERIES[0])
    only_cpu = observed.value(Window(TASK, "a"), name)
    assert only_cpu == 0.8 if name == "node.cpu_share" else not isinstance(only_cpu, float)


@pytest.mark.parametrize(("busy", "named"), [((130, 100, 70), False), ((140, 100, 60), True)])
def test_only_a_node_that_rule_o2_calls_uneven_is_named(busy: tuple[float, ...], named: bool) -> None:
    uneven = next(rule for rule in bundled_rules() if rule.id == "O2").parameters["uneven"]
    assert uneven.value == UNEVEN
    counters = [counter("process.cpu.total", busy[at], node=f"n{at}") for at in range(len(busy))]
    node = evidence(*counters).value(Window(TASK), "cluster.cpu_node")
    assert (node == "n0") == named


def test_nodes_are_compared_with_each_other() -> None:
    both = [counter("process.cpu.total", busy, node=node) for node, busy in (("a", 300), ("b", 100))]
    heap = [gauge("jvm.mem.heap_used", used, 9e9, node=node) for node, used in (("a", 5), ("b", 5))]
    observed = evidence(*both, *heap)
    assert observed.value(Window(TASK), "cluster.cpu_imbalance") == 1.5
    assert observed.value(Window(TASK), "cluster.cpu_node") == "a"
    assert observed.value(Window(TASK), "cluster.heap_imbalance") == 1.0
    assert not isinstance(observed.value(Window(TASK), "cluster.heap_node"), str)
    assert not isinstance(observed.value(Window(TASK), "cluster.write_node"), str)
    assert not isinstance(observed.value(Window(TASK), "cluster.write_imbalance"), float)


def test_the_node_with_the_fullest_heap_is_named() -> None:
    heap = [gauge("jvm.mem.heap_used", used, 9e9, node=node) for node, used in (("a", 5e9), ("b", 2e9))]
    busy = [counter("process.cpu.total", 100, node=node) for node in ("a", "b")]
    assert evidence(*busy, *heap).value(Window(TASK), "cluster.heap_node") == "a"


def test_the_node_that_has_all_writes_is_named_and_no_other() -> None:
    """Three nodes, of which the last one has the only shard."""
    nodes = ("rally-node-0", "rally-node-1", "rally-node-2")
    busy = [counter("process.cpu.total", 900 if node == nodes[2] else 300, node=node) for node in nodes]
    written = [
        counter("indices.indexing.index_total", 3500 if node == nodes[2] else 0, node=node) for node in nodes
    ]
    known = evidence(*busy, *written)
    engine = replace(known, values={**known.values, Window(): {"engine.nodes": 3.0}})
    rules = [rule for rule in bundled_rules() if rule.id == "O2"]
    (answer,) = diagnose(engine, rules).findings
    assert (answer.node, answer.text) == (
        "",
        "of 3 nodes, rally-node-2 used 1.8 times the mean processor time, rally-node-2 indexed 3 times the "
        "mean of the documents",
    )


@pytest.mark.parametrize(("beside", "expected"), [((), 0.5), (("other",), None)])
def test_what_was_indexed_and_not_sent_was_copied_to_replicas(
    beside: tuple[str, ...], expected: float | None
) -> None:
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing", beside)])
    builder.set(Window(TASK), "task.documents", 4_000)
    indexed = [counter("indices.indexing.index_total", 400, node=node) for node in ("a", "b")]
    nodes = [counter("process.cpu.total", 10, node=node) for node in ("a", "b")]
    add_node_figures(builder, telemetry(SOURCES[0], *indexed, *nodes), NodeSettings())
    assert builder.build().number(Window(TASK), "node.replica_share") == expected


def test_a_race_without_counters_says_so() -> None:
    (reason,) = evidence().missing.values()
    assert reason == {"node counters": "the counters of the nodes were not sampled"}


def test_changes_of_the_state_are_those_of_the_elected_node() -> None:
    """Elasticsearch reports the parts of the time, and nodes that were not elected count nothing."""
    success = "discovery.cluster_state_update.success"
    parts = {"computation": 20, "publication": 100, "notification": 30}
    series = [
        *(counter("process.cpu.total", 10, node=node) for node in ("a", "b")),
        *(counter(f"{success}.count", per_s, node=node) for node, per_s in (("a", 0), ("b", 4))),
        *(counter(f"{success}.{part}_time", ms, node="b") for part, ms in parts.items()),
    ]
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    add_node_figures(builder, telemetry(SOURCES[0], *series), NodeSettings())
    evidence = builder.build()
    assert evidence.number(Window(TASK), "cluster.updates_per_s") == pytest.approx(4)
    assert evidence.number(Window(TASK), "cluster.update_share") == pytest.approx(0.15)
