"""For each rule: figures with which it fires, and what rules it out or makes it inapplicable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Figures = Mapping[str, float | str | bool | None]
"""Figures by name; None removes one."""

MB = 1 << 20
GB = 1 << 30


@dataclass(frozen=True, slots=True)
class RuleCase:
    """What a rule must say about some figures."""

    fires: Figures
    """Figures with which it fires, and which its texts need."""

    ruled_out: Figures
    """Changes of these figures that rule it out."""

    not_applicable: Figures
    """Changes that make it inapplicable: figures that are missing, or that violate a guard."""

    bound: float | None = None
    """The largest improvement, or None if the rule has no bound."""

    options: Mapping[str, object] = field(default_factory=dict)
    """The options of its first advice."""


HEAP_CASES = {
    "H1": RuleCase(
        {
            **{"gc.stop_share": 0.164, "gc.young_interval_s": 0.05, "gc.live_share": 0.45},
            **{"jvm.heap_max_bytes": 192 * MB, "host.memory_bytes": 23 * GB},
        },
        {"gc.stop_share": 0.03},
        {"gc.stop_share": None, "gc.young_interval_s": None},
        0.1962,
        {"car-params": {"heap_size": "384m"}},
    ),
    "H2": RuleCase(
        {"jvm.heap_initial_bytes": 128 * MB, "jvm.heap_max_bytes": GB, "gc.heap_resizes": 7},
        {"jvm.heap_initial_bytes": GB, "gc.heap_resizes": 0},
        {"jvm.heap_initial_bytes": None},
        None,
        {"jvm": ["-Xms1g"]},
    ),
    "H3": RuleCase(
        {
            **{"jvm.heap_max_bytes": 24 * GB, "host.memory_bytes": 32 * GB, "memory.available_share": 0.05},
            **{"memory.oom_kills": 0, "memory.swapped_in_per_s": 0, "memory.wait_share": 0.15},
            **{"gc.live_share": 0.3, "disk.some_wait_share": 0.05},
        },
        {"jvm.heap_max_bytes": 8 * GB, "memory.available_share": 0.4},
        {"host.memory_bytes": None},
        0.25,
        {"car-params": {"heap_size": "16g"}},
    ),
    "H4": RuleCase(
        {
            "jvm.compressed_oops": False,
            "jvm.heap_max_bytes": 34 * GB,
            "gc.collector": "G1",
            "gc.live_bytes": GB,
        },
        {"jvm.compressed_oops": True},
        {"gc.collector": "ZGC"},
        None,
        {"car-params": {"heap_size": "30g"}},
    ),
    "H5": RuleCase(
        {
            **{"jvm.heap_max_bytes": 31 * GB, "host.memory_bytes": 128 * GB, "node.old_pool_share": 0.85},
            **{
                "node.fielddata_evictions": 12,
                "node.request_cache_evictions": 3,
                "node.indexing_share": 0.01,
            },
            "node.store_bytes": 45 * GB,
        },
        {"node.fielddata_evictions": 0, "node.request_cache_evictions": 0},
        {"host.memory_bytes": 64 * GB},
        None,
        {"car-params": {"heap_size": "64g"}},
    ),
    "H6": RuleCase(
        {
            **{"gc.old_after_share": 0.91, "gc.stop_share": 0.25, "gc.full_collections": 4},
            **{"gc.allocation_stalls": 2},
            **{"jvm.heap_max_bytes": GB, "host.memory_bytes": 16 * GB},
        },
        {
            "gc.old_after_share": 0.5,
            "gc.stop_share": 0.1,
            "gc.full_collections": 0,
            "gc.allocation_stalls": 0,
        },
        {"gc.old_after_share": 0.75, "gc.stop_share": None, "gc.full_collections": None},
        0.3333,
        {"car-params": {"heap_size": "2g"}},
    ),
}

COLLECTOR_CASES = {
    "H7": RuleCase(
        {
            **{"gc.young_pause_mean_ms": 40.6, "gc.flipped_bytes": 223275e6, "gc.tenured_bytes": 14824e6},
            **{
                "gc.collector": "gencon",
                "jvm.name": "OpenJ9",
                "gc.young_s_per_s": 0.0629,
                "gc.tenure_age": 10,
                "gc.pause_p99_ms": 60,
                "task.service_p99_ms": 240,
            },
        },
        {"gc.young_pause_mean_ms": 22.7, "gc.flipped_bytes": 73742e6, "gc.tenured_bytes": 20596e6},
        {"gc.concurrent": True},
        0.25,
        {"jvm": ["-Xgc:scvNoAdaptiveTenure,scvTenureAge=2"]},
    ),
    "H8": RuleCase(
        {
            **{"gc.stop_share": 0.0323, "gc.pause_p99_ms": 30, "cpu.idle_share": 0.3, "gc.collector": "G1"},
            **{"task.service_p99_ms": 40, "jvm.name": "HotSpot"},
        },
        {"cpu.idle_share": 0.05},
        {"gc.collector": "ZGC"},
        0.75,
        {"jvm": ["-XX:+UseZGC"]},
    ),
    "H9": RuleCase(
        {
            **{"gc.promoted_bytes_per_s": 6e8, "gc.young_s_per_s": 0.1},
            **{"gc.collector": "G1", "gc.stop_share": 0.12},
        },
        {"gc.promoted_bytes_per_s": 1e7},
        {"gc.collector": "Shenandoah"},
        0.1364,
        {"jvm": ["-XX:+UnlockExperimentalVMOptions", "-XX:G1NewSizePercent=20"]},
    ),
    "H10": RuleCase(
        {
            **{"gc.stop_share": 0.08, "gc.pause_share": 0.03, "gc.time_to_safepoint_max_ms": 60},
            **{"gc.stop_max_ms": 80, "task.service_p99_ms": 400},
        },
        {"gc.stop_share": 0.033},
        {"gc.time_to_safepoint_max_ms": None},
        0.2,
    ),
    "H11": RuleCase(
        {
            **{"gc.cpu_ratio": 0.7, "gc.system_ratio": 0.2, "gc.pause_share": 0.05, "jvm.gc_threads": 8},
            "host.quota_cores": 2,
        },
        {"gc.cpu_ratio": 5.1},
        {"jvm.gc_threads": 1},
        0.0526,
        {"jvm": ["-XX:ParallelGCThreads=2"]},
    ),
    "H12": RuleCase(
        {
            **{
                "jvm.name": "OpenJ9",
                "jvm.shared_classes": True,
                "node.uptime_s": 1200,
                "cpu.idle_share": 0.03,
            },
        },
        {"node.uptime_s": 60},
        {"jvm.name": "HotSpot"},
        None,
        {"jvm": ["-Xshareclasses:none"]},
    ),
    "H13": RuleCase(
        {
            **{"gc.explicit_collections": 6, "gc.pause_max_ms": 500, "task.window_s": 60},
            "gc.stop_share": 0.2,
        },
        {"gc.explicit_collections": 0},
        {"gc.explicit_collections": None},
        0.0526,
        {"jvm": ["-XX:+ExplicitGCInvokesConcurrent"]},
    ),
}

ALLOCATION_CASES = {
    "A1": RuleCase(
        {
            **{"allocation.top_class": "byte[]", "allocation.top_class_share": 0.9511},
            **{"allocation.top_site": "PoolArena$HeapArena.newChunk", "allocation.top_site_share": 0.9609},
            **{"allocation.bytes_per_document": 13_000, "gc.stop_share": 0.1},
        },
        {"allocation.top_site_share": 0.2},
        {"allocation.top_class_share": None},
        0.1063,
    ),
    "A2": RuleCase(
        {"allocation.outside_share": 0.6, "allocation.outside_per_document": 0.22, "gc.stop_share": 0.1},
        {"allocation.outside_share": 0.05, "allocation.outside_per_document": 0.004},
        {"allocation.outside_share": None, "allocation.outside_per_document": None},
        0.0638,
        {"set": ["engine.http.netty.receive_predictor_size=64kb"]},
    ),
    "A3": RuleCase(
        {
            **{"gc.large_allocations_per_s": 25, "gc.stop_share": 0.04, "gc.largest_request_bytes": 3 * MB},
            "gc.region_bytes": MB,
        },
        {"gc.large_allocations_per_s": 0.1},
        {"gc.large_allocations_per_s": None},
        0.0417,
        {"jvm": ["-XX:G1HeapRegionSize=2m"]},
    ),
    "A4": RuleCase(
        {
            **{"gc.allocated_bytes_per_s": 2e9, "gc.live_bytes": 1e8, "gc.stop_share": 0.04},
            **{"jvm.heap_max_bytes": GB, "host.memory_bytes": 16 * GB},
        },
        {"gc.allocated_bytes_per_s": 2e8},
        {"gc.live_bytes": None},
        0.0417,
        {"car-params": {"heap_size": "2g"}},
    ),
}

DISK_CASES = {
    "D1": RuleCase(
        {
            **{"disk.device": "nvme0n1", "disk.util_30s_share": 0.99, "disk.queue": 8, "disk.await_ms": 9},
            **{"disk.await_quiet_ms": 1.5, "disk.others_util_share": 0.02, "disk.queue_growth": 1.1},
            "disk.some_wait_share": 0.4,
        },
        {"disk.util_30s_share": 0.8},
        {"disk.stripes": 4},
        0.6667,
    ),
    "D2": RuleCase(
        {
            **{"disk.is_dasd": True, "disk.stripe_imbalance": 2.1, "disk.util_30s_share": 0.97},
            **{"disk.stripes": 4, "disk.device": "dm-0", "disk.some_wait_share": 0.2},
        },
        {"disk.stripe_imbalance": 1.004},
        {"disk.is_dasd": False},
        0.25,
    ),
    "D3": RuleCase(
        {
            **{"disk.stripes": 4, "disk.util_30s_share": 0.99, "disk.queue": 40, "disk.await_ms": 9},
            **{"node.store_bytes": 900 * GB, "disk.device": "dm-0", "disk.some_wait_share": 0.2},
        },
        {"disk.queue": 3},
        {"disk.stripes": 1},
        0.25,
    ),
    "D4": RuleCase(
        {
            **{"disk.wait_share": 0.3, "cpu.idle_share": 0.6, "disk.device": "sda", "disk.await_ms": 25},
            **{"disk.force_max_ms": 800, "disk.some_wait_share": 0.3, "engine.async_translog": False},
        },
        {"disk.wait_share": 0.01, "disk.force_max_ms": 4},
        {"disk.wait_share": None},
        0.4286,
        {"set": ["index.translog.durability=async"]},
    ),
    "D5": RuleCase(
        {
            **{"disk.read_ahead_bytes": 4 * MB, "memory.refaults_per_s": 900, "disk.device": "md0"},
            **{"disk.engine_read_bytes_per_s": 3e8, "disk.some_wait_share": 0.25, "task.busy_clients": 0.5},
        },
        {"disk.read_ahead_bytes": 128 << 10},
        {"disk.read_ahead_bytes": None},
        0.5,
    ),
}

MEMORY_CASES = {
    "P1": RuleCase(
        {
            **{
                "memory.page_cache_bytes": 2 * GB,
                "node.store_bytes": 40 * GB,
                "disk.engine_read_bytes_per_s": 2e8,
            },
            **{"memory.refaults_per_s": 4000, "memory.major_faults_per_s": 300, "disk.device": "sda"},
            **{
                "disk.some_wait_share": 0.6,
                "task.busy_clients": 4,
                "jvm.heap_max_bytes": 4 * GB,
                "host.memory_bytes": 8 * GB,
            },
            "gc.live_share": 0.2,
        },
        {"memory.page_cache_bytes": 60 * GB},
        {"disk.engine_read_bytes_per_s": None},
        0.6,
        {"car-params": {"heap_size": "2g"}},
    ),
    "P2": RuleCase(
        {"memory.swapped_in_per_s": 50, "memory.swap_used_bytes": GB, "memory.wait_share": 0.1},
        {"memory.swapped_in_per_s": 0},
        {"memory.swapped_in_per_s": None},
        0.1111,
    ),
}

COMPRESSION_CASES = {
    "C1": RuleCase(
        {
            **{"host.deflate_hardware": True, "profile.compression_share": 0.12, "engine.codec": "default"},
            **{"engine.distribution": "elasticsearch", "engine.version": "7.10.1"},
        },
        {"engine.codec": "best_compression"},
        {"engine.version": "8.16.0"},
        0.1364,
        {"set": ["index.codec=best_compression"], "env": ["DFLTCC=1", "DFLTCC_LEVEL_MASK=0x01fe"]},
    ),
    "C2": RuleCase(
        {
            **{"engine.codec": "default", "disk.wait_share": 0.4, "disk.some_wait_share": 0.5},
            "cpu.idle_share": 0.5,
        },
        {"disk.wait_share": 0.02},
        {"host.deflate_hardware": True},
        0.1628,
        {"set": ["index.codec=best_compression"]},
    ),
    "C3": RuleCase(
        {
            **{"engine.http_compression": False, "task.compressed": False, "network.link_share": 0.8},
            **{"network.bytes_per_s": 1e8, "profile.tls_share": 0.02},
        },
        {"engine.http_compression": True, "task.compressed": True},
        {"network.link_share": None},
        None,
        {"set": ["engine.http.compression=true"], "client-options": {"http_compress": True}},
    ),
}
