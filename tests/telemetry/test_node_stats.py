"""Rally's node-stats: names of its records, and the parameters that select groups."""

import pytest

from pacenote.telemetry.node_stats import NodeStats
from telemetry.sampling import run_device

NODE = {
    "name": "node-0",
    "roles": ["data", "ingest"],
    "indices": {"docs": {"count": 7}, "merges": {"total": 1, "total_time_in_millis": 5}, "get": {"total": 2}},
    "thread_pool": {"write": {"queue": 5, "completed": 90}},
    "breakers": {"parent": {"tripped": 1, "limit_size": "1gb"}},
    "jvm": {
        "buffer_pools": {"direct": {"count": 3}},
        "mem": {"heap_used_in_bytes": 40},
        "gc": {"collectors": {"young": {"collection_count": 2}}},
    },
    "os": {"mem": {"free_in_bytes": 6}, "cgroup": {"cpu": {"cfs_quota_micros": -1}}},
    "transport": {"rx_count": 8},
    "process": {"cpu": {"total_in_millis": 11}},
    "indexing_pressure": {"memory": {"limit_in_bytes": 100}},
    "fs": {"total": {"free_in_bytes": 10}, "data": [{"path": "/"}]},
}
ALL = {
    *("thread_pool_write_queue", "thread_pool_write_completed", "breakers_parent_tripped"),
    *("jvm_buffer_pools_direct_count", "jvm_mem_heap_used_in_bytes"),
    *("jvm_gc_collectors_young_collection_count", "os_mem_free_in_bytes"),
    *("os_cgroup_cpu_cfs_quota_micros", "transport_rx_count", "process_cpu_total_in_millis"),
    *("indexing_pressure_memory_limit_in_bytes", "fs_total_free_in_bytes"),
}
INDICES = {"indices_docs_count", "indices_merges_total", "indices_merges_total_time_in_millis"}


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ALL),
        ({"node-stats-include-indices": True}, ALL | INDICES),
        (
            {"node-stats-include-indices-metrics": "docs,get"},
            {*ALL, "indices_docs_count", "indices_get_total"},
        ),
        (
            {
                "node-stats-include-mem": "false",
                "node-stats-include-gc": False,
                "node-stats-include-fs": False,
            },
            {name for name in ALL if not name.startswith(("jvm_mem", "os_mem", "jvm_gc", "fs_"))},
        ),
    ],
)
def test_parameters_select_groups_and_names_are_those_of_rally(params, names):
    run = run_device(NodeStats, {"/_nodes/stats": {"nodes": {"id": NODE}}}, params)
    assert run.result.errors == ()
    assert {one.name for one in run.samples} == names
    assert {(one.labels["node"], one.labels["roles"]) for one in run.samples} == {("node-0", "data,ingest")}


def test_units_and_kinds_follow_from_the_names():
    run = run_device(NodeStats, {"/_nodes/stats": {"nodes": {"id": NODE}}})
    values = {one.name: (one.value, one.unit, one.kind) for one in run.samples}
    assert values["process_cpu_total_in_millis"] == (11, "ms", "counter")
    assert values["jvm_mem_heap_used_in_bytes"] == (40, "B", "gauge")
    assert values["jvm_gc_collectors_young_collection_count"] == (2, "", "counter")
    assert values["thread_pool_write_queue"] == (5, "", "gauge")
    assert values["os_cgroup_cpu_cfs_quota_micros"] == (-1, "us", "gauge")
