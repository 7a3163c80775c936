"""The cases of the rules about indexing, processors, the network, the cluster, and searches."""

from __future__ import annotations

from .rule_cases import GB, MB, RuleCase

INDEXING_CASES = {
    "I1": RuleCase(
        {
            **{"node.writer_memory_share": 1.6, "node.segments_per_s": 12, "node.refreshes_per_s": 0.5},
            **{"gc.live_share": 0.3, "engine.index_buffer_bytes": MB},
            **{
                "node.merge_share": 0.5,
                "node.refresh_share": 0.1,
                "node.flush_share": 0.1,
                "node.indexing_share": 1.3,
            },
            **{"jvm.heap_max_bytes": GB, "node.cores": 2},
        },
        {"node.writer_memory_share": 0.3},
        {"node.writer_memory_share": None},
        0.5385,
        {"set": ["engine.indices.memory.index_buffer_size=10%"]},
    ),
    "I2": RuleCase(
        {
            **{"node.periodic_flushes_per_min": 40, "node.flush_share": 0.2, "engine.shards": 5},
            **{"node.translog_bytes": 510 * MB, "engine.translog_threshold_bytes": 512 * MB},
            **{"node.indexing_share": 0.5, "node.cores": 1},
        },
        {"node.periodic_flushes_per_min": 2},
        {"node.periodic_flushes_per_min": None},
        0.25,
        {"set": ["index.translog.flush_threshold_size=1gb"]},
    ),
    "I3": RuleCase(
        {
            **{
                "node.indexing_throttled_share": 0.2,
                "node.merge_throttled_share": 0.4,
                "node.merge_share": 0.9,
            },
            "engine.refresh_interval_s": 1,
        },
        {"node.indexing_throttled_share": 0, "node.merge_throttled_share": 0.1},
        {"node.indexing_throttled_share": None, "node.merge_throttled_share": None},
        0.25,
        {"set": ["index.refresh_interval=30s"]},
    ),
    "I4": RuleCase(
        {
            **{
                "node.refresh_indexing_share": 0.35,
                "engine.refresh_interval_s": 0.1,
                "node.refresh_share": 0.5,
            },
            **{"node.refreshes_per_s": 20, "node.merge_share": 0.1, "node.indexing_share": 1.4},
            "node.cores": 2,
        },
        {"engine.refresh_interval_s": 1, "node.refresh_indexing_share": 0.22},
        {"engine.refresh_interval_s": 0},
        0.4286,
        {"set": ["index.refresh_interval=30s"]},
    ),
    "I5": RuleCase(
        {
            **{"cpu.idle_share": 0.6, "task.clients": 1, "node.write_queue": 0, "node.write_active": 0.7},
            **{"node.write_threads": 8, "disk.wait_share": 0.01, "driver.cpu_share": 0.1},
        },
        {"cpu.idle_share": 0.05},
        {"task.paced": True},
        1.5,
        {"track-params": {"bulk_indexing_clients": "2"}},
    ),
    "I6": RuleCase(
        {
            **{"task.rejections": 2_000, "task.documents": 8_000, "node.pressure_share": 0.97},
            **{"task.clients": 64, "node.write_queue": 40},
        },
        {"task.rejections": 0, "node.pressure_share": 0.1},
        {"task.rejections": None, "node.pressure_share": None},
        0.25,
        {"track-params": {"bulk_indexing_clients": "32"}},
    ),
}

PROCESSOR_CASES = {
    "K1": RuleCase(
        {
            **{"host.migration_cost_s": 0.0005, "cpu.runnable": 24, "cpu.idle_share": 0.12, "host.cores": 16},
            **{"cpu.wait_share": 0.3, "cpu.migrations_per_s": 400},
        },
        {"cpu.idle_share": 0.01},
        {"host.migration_cost_s": None},
        0.1364,
    ),
    "K2": RuleCase(
        {
            **{"cpu.throttled_periods_share": 0.9, "cpu.throttled_share": 0.4, "host.quota_cores": 1},
            **{"cpu.engine_share": 0.4, "engine.started": True},
        },
        {"cpu.throttled_periods_share": 0},
        {"cpu.throttled_periods_share": None},
        1.0,
        {"node-cpu-limit": "2"},
    ),
    "K3": RuleCase(
        {"host.numa_nodes": 2, "cpu.remote_memory_share": 0.45},
        {"cpu.remote_memory_share": 0.02},
        {"host.numa_nodes": 1},
    ),
    "K4": RuleCase(
        {
            **{"cpu.frequency_first_hz": 3.6e9, "cpu.frequency_hz": 3.0e9, "cpu.frequency_fall_share": 0.2},
            "cpu.idle_share": 0.1,
        },
        {"cpu.frequency_fall_share": 0.08},
        # Idle processors may be slow.
        {"cpu.idle_share": 0.4},
        0.2,
    ),
}

NETWORK_CASES = {
    "N1": RuleCase(
        {
            **{"network.softirq_cpus": 1, "network.softirq_busiest_share": 0.8, "network.squeezes_per_s": 30},
            **{"network.rx_queues": 1, "host.cores": 8, "network.rps": False},
            "network.host": "the driver's host",
        },
        {"network.softirq_busiest_share": 0.1},
        {"network.rx_queues": 8},
    ),
    "N2": RuleCase(
        {
            **{"network.rps": True, "network.rfs": False, "network.softirq_busiest_share": 0.3},
            **{"network.migrations_per_s": 30_000, "network.host": "the engine's host"},
        },
        {"network.rfs": True},
        {"network.rps": False},
    ),
    "N3": RuleCase(
        {
            **{"network.bytes_per_s": 1e8, "network.retransmit_share": 0.01, "network.drops_per_s": 4},
            **{"network.link_share": 0.85, "network.host": "the driver's host"},
        },
        {"network.bytes_per_s": 2_000},
        {"network.retransmit_share": None, "network.drops_per_s": None},
    ),
}

CLUSTER_CASES = {
    "O1": RuleCase(
        {"cpu.other_share": 0.2, "cpu.idle_share": 0, "cpu.wait_share": 0.9},
        {"cpu.other_share": 0.01},
        {"cpu.other_share": None},
        0.25,
    ),
    "O2": RuleCase(
        {
            **{"engine.nodes": 3, "cluster.cpu_imbalance": 1.8, "cluster.heap_imbalance": 1.2},
            **{"cluster.write_imbalance": 2.1, "cluster.cpu_node": "a", "cluster.heap_node": "b"},
            "cluster.write_node": "a",
        },
        {"cluster.cpu_imbalance": 1.05, "cluster.write_imbalance": 1.0},
        {"engine.nodes": 1},
        0.8,
        {"track-params": {"number_of_shards": "3"}},
    ),
    "O3": RuleCase(
        {"engine.replicas": 1, "engine.nodes": 3, "node.replica_share": 0.5},
        {"node.replica_share": 0.01},
        {"engine.replicas": 0},
        1.0,
        {"set": ["index.number_of_replicas=0"]},
    ),
}

SEARCH_CASES = {
    "Q1": RuleCase(
        {
            **{"node.search_queue": 12, "node.search_active": 4, "node.search_threads": 4},
            **{"cpu.idle_share": 0.02, "cpu.engine_share": 0.9, "cpu.other_share": 0.05},
        },
        # Other programs have the processors.
        {"cpu.engine_share": 0.09, "cpu.other_share": 0.85},
        {"node.search_queue": None},
    ),
    "Q2": RuleCase(
        {
            **{"node.request_cache_hit_share": 0.2, "node.request_cache_evictions": 90},
            **{"node.query_cache_hit_share": 0.7, "node.query_cache_evictions": 0},
        },
        {"node.request_cache_evictions": 0},
        {"node.request_cache_evictions": None},
        0.8,
        {"set": ["engine.indices.requests.cache.size=2%"]},
    ),
}
