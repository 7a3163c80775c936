"""The cases of the rules about everyday causes: bulks, shards, mappings, breakers, caches and scripts."""

from __future__ import annotations

from .rule_cases import GB, MB, RuleCase

EVERYDAY_CASES = {
    "H14": RuleCase(
        {
            **{"node.breaker_trips": 30, "jvm.heap_max_bytes": GB, "host.memory_bytes": 16 * GB},
            **{"task.operations_per_s": 1.0, "task.window_s": 60.0, "cpu.idle_share": 0.5},
        },
        {"node.breaker_trips": 0},
        {"node.breaker_trips": None},
        0.5,
        {"car-params": {"heap_size": "2g"}},
    ),
    "I7": RuleCase(
        {
            **{"task.documents_per_operation": 1, "task.operations_per_s": 25, "task.bytes_out_per_s": 9_000},
            **{"node.indexing_share": 0.05, "task.busy_clients": 0.9, "node.cores": 1, "engine.nodes": 1},
        },
        {"task.documents_per_operation": 100},
        {"task.paced": True, "task.target_share": 1.0},
        17.0,
        {"track-params": {"bulk_size": "100"}},
    ),
    "I8": RuleCase(
        {
            **{"engine.async_translog": False, "task.operations_per_s": 25, "task.busy_clients": 1},
            **{"disk.await_ms": 5, "disk.some_wait_share": 0.4, "cpu.idle_share": 0.5},
        },
        {"disk.await_ms": 4},
        {"engine.async_translog": True},
        0.6667,
        {"set": ["index.translog.durability=async"]},
    ),
    "O4": RuleCase(
        {"cluster.pending_tasks": 3.8, "task.busy_clients": 7.6},
        {"cluster.pending_tasks": 1.0},
        {"cluster.pending_tasks": None},
        1.0,
    ),
    "O5": RuleCase(
        {
            **{"engine.replicas": 1, "node.replica_pressure_share": 0.81, "node.replica_rejections": 0},
            "node.replica_share": 0.5,
        },
        {"node.replica_pressure_share": 0.8},
        {"engine.replicas": 0},
        1.0,
        {"set": ["index.number_of_replicas=0"]},
    ),
    "Q3": RuleCase(
        {
            **{"engine.shards": 300, "engine.nodes": 1, "node.store_bytes": 30 * MB, "engine.replicas": 0},
            "task.took_share": 0.9,
        },
        {"engine.shards": 100},
        {"node.store_bytes": None},
        0.897,
        {"track-params": {"number_of_shards": "1"}},
    ),
    "Q4": RuleCase(
        {
            **{"node.search_rejections": 30, "node.search_active": 2, "node.search_threads": 2},
            **{"node.search_queue": 900, "task.clients": 64, "task.rejections": 30},
            **{"task.operations_per_s": 1.0, "task.window_s": 60.0, "cpu.idle_share": 0.5},
        },
        {"node.search_rejections": 0},
        {"node.search_rejections": None},
        0.5,
        {"track-params": {"search_clients": "32"}},
    ),
    "Q5": RuleCase(
        {
            **{"node.fielddata_bytes": 20 * MB, "node.refreshes_per_s": 1, "node.indexing_share": 0.3},
            **{"node.fielddata_evictions": 0, "node.search_share": 0.6, "task.busy_clients": 1},
        },
        {"node.refreshes_per_s": 0.1},
        {"node.fielddata_bytes": None},
        0.6,
        {"set": ["index.refresh_interval=30s"]},
    ),
    "Q6": RuleCase(
        {
            **{"node.segments": 160, "engine.shards": 5, "engine.replicas": 0, "engine.nodes": 1},
            **{"node.indexing_share": 0.0, "node.search_share": 0.8, "task.busy_clients": 1},
        },
        {"node.segments": 150},
        {"node.indexing_share": 0.3},
        0.775,
    ),
    "Q7": RuleCase(
        {
            **{"node.deleted_documents": 400, "node.documents": 600},
            **{"node.search_share": 0.5, "task.busy_clients": 1},
        },
        {"node.deleted_documents": 323},
        {"node.deleted_documents": None},
        0.2,
    ),
    "Q8": RuleCase(
        {
            **{"node.script_compilations_per_min": 600, "task.operations_per_s": 20, "task.took_share": 0.9},
        },
        {"node.script_compilations_per_min": 15},
        {"node.script_compilations_per_min": None},
        0.45,
    ),
    "Q9": RuleCase(
        {
            **{"profile.script_share": 0.6, "profile.samples": 900, "task.took_share": 0.9},
            **{"node.search_active": 4, "node.search_threads": 4, "node.search_queue": 4},
        },
        {"profile.script_share": 0.3},
        {"profile.script_share": None},
        0.54,
    ),
    "O6": RuleCase(
        {
            **{"engine.fields_added": 990, "engine.indices": 1, "engine.mapping_bytes": 90_000},
            **{"cluster.update_share": 0.5, "cluster.updates_per_s": 8},
        },
        # The fields were mapped before the task.
        {"cluster.update_share": 0.01},
        {"engine.fields_added": None},
        1.0,
    ),
}
