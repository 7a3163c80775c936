"""The counters of the nodes: names, units, kinds, and what is asked of the engine."""

from pacenote.telemetry.node_counters import EngineCounters
from support.http_server import json_response
from telemetry.sampling import run_device

NODE = {
    "name": "node-0",
    "indices": {
        "docs": {"count": 7, "deleted": 1},
        "indexing": {"index_total": 9, "index_time_in_millis": 80, "is_throttled": True, "types": {}},
        "merges": {"total_throttled_time_in_millis": 30, "total_auto_throttle_in_bytes": 20971520},
        "translog": {"operations": 3, "size_in_bytes": 55, "uncommitted_size_in_bytes": 55},
    },
    "os": {"cgroup": {"cpu": {"stat": {"number_of_times_throttled": 4, "time_throttled_nanos": 5}}}},
    "process": {"cpu": {"percent": 12, "total_in_millis": 4000}},
    "jvm": {
        "uptime_in_millis": 9000,
        "mem": {"heap_used_percent": 40, "pools": {"old": {"used_in_bytes": 10, "max_in_bytes": 100}}},
        "buffer_pools": {"mapped - 'non-volatile memory'": {"count": 1}},
        "gc": {"collectors": {"G1 Concurrent GC": {"collection_count": 2, "collection_time_in_millis": 6}}},
    },
    "thread_pool": {
        "write": {"threads": 2, "queue": 5, "active": 2, "rejected": 8, "completed": 90, "largest": 2},
        "analyze": {"threads": 0},
    },
    "fs": {
        "io_stats": {
            "devices": [{"device_name": "vda", "operations": 4, "io_time_in_millis": 77, "read_time": 6}],
            "total": {"operations": 4, "write_kilobytes": 16, "io_time_in_millis": 77},
        }
    },
    "discovery": {
        "cluster_state_update": {"success": {"count": 4, "publication_time_millis": 70}},
        "cluster_state_stats": {"overall": {"update_count": 5, "total_time_in_millis": 80}},
    },
    "breakers": {"parent": {"tripped": 1, "estimated_size_in_bytes": 3}},
    "indexing_pressure": {"memory": {"total": {"primary_rejections": 2}, "limit_in_bytes": 100}},
}
HEALTH = {"status": "yellow", "relocating_shards": 1, "number_of_pending_tasks": 3}


def reply(request):
    if request.path == "/_cluster/health":
        return json_response(HEALTH)
    return json_response({"nodes": {"id": NODE}})


def test_values_have_the_names_of_the_engine_with_the_unit_in_its_own_column():
    run = run_device(EngineCounters, reply)
    assert run.result.errors == ()
    units = {(one.name, one.labels.get("device", "")): (one.value, one.unit, one.kind) for one in run.samples}
    assert units == {
        ("indices.docs.count", ""): (7, "", "gauge"),
        ("indices.docs.deleted", ""): (1, "", "gauge"),
        ("indices.indexing.index_total", ""): (9, "", "counter"),
        ("indices.indexing.index_time", ""): (80, "ms", "counter"),
        ("indices.indexing.is_throttled", ""): (1, "", "gauge"),
        ("indices.merges.total_throttled_time", ""): (30, "ms", "counter"),
        ("indices.merges.total_auto_throttle", ""): (20971520, "B", "gauge"),
        ("indices.translog.operations", ""): (3, "", "gauge"),
        ("indices.translog.size", ""): (55, "B", "gauge"),
        ("indices.translog.uncommitted_size", ""): (55, "B", "gauge"),
        ("os.cgroup.cpu.stat.number_of_times_throttled", ""): (4, "", "counter"),
        ("os.cgroup.cpu.stat.time_throttled", ""): (5, "ns", "counter"),
        ("process.cpu.percent", ""): (12, "%", "gauge"),
        ("process.cpu.total", ""): (4000, "ms", "counter"),
        ("jvm.uptime", ""): (9000, "ms", "gauge"),
        ("jvm.mem.pools.old.max", ""): (100, "B", "gauge"),
        ("jvm.buffer_pools.mapped_non_volatile_memory.count", ""): (1, "", "gauge"),
        ("jvm.gc.collectors.g1_concurrent_gc.collection_count", ""): (2, "", "counter"),
        ("jvm.gc.collectors.g1_concurrent_gc.collection_time", ""): (6, "ms", "counter"),
        ("thread_pool.write.threads", ""): (2, "", "gauge"),
        ("thread_pool.write.largest", ""): (2, "", "gauge"),
        ("thread_pool.write.rejected", ""): (8, "", "counter"),
        ("thread_pool.write.completed", ""): (90, "", "counter"),
        ("fs.io_stats.total.operations", ""): (4, "", "counter"),
        ("fs.io_stats.total.write_kilobytes", ""): (16, "KiB", "counter"),
        ("fs.io_stats.total.io_time", ""): (77, "ms", "counter"),
        ("fs.io_stats.devices.operations", "vda"): (4, "", "counter"),
        ("fs.io_stats.devices.io_time", "vda"): (77, "ms", "counter"),
        ("fs.io_stats.devices.read_time", "vda"): (6, "ms", "counter"),
        ("discovery.cluster_state_update.success.count", ""): (4, "", "counter"),
        ("discovery.cluster_state_update.success.publication_time", ""): (70, "ms", "counter"),
        ("discovery.cluster_state_stats.overall.update_count", ""): (5, "", "counter"),
        ("discovery.cluster_state_stats.overall.total_time", ""): (80, "ms", "counter"),
        ("breakers.parent.tripped", ""): (1, "", "counter"),
        ("breakers.parent.estimated_size", ""): (3, "B", "gauge"),
        ("indexing_pressure.memory.total.primary_rejections", ""): (2, "", "counter"),
        ("indexing_pressure.memory.limit", ""): (100, "B", "gauge"),
        ("cluster.status", ""): (1, "", "gauge"),
        ("cluster.relocating_shards", ""): (1, "", "gauge"),
        ("cluster.pending_tasks", ""): (3, "", "gauge"),
    }
    of_node = {one.labels.get("node") for one in run.samples if not one.name.startswith("cluster.")}
    assert of_node == {"node-0"}


def test_one_request_reads_all_nodes_and_another_one_the_health():
    run = run_device(EngineCounters, reply)
    stats, health = run.lines[:2]
    assert stats.startswith("GET /_nodes/stats/indices,os,process,jvm,thread_pool,")
    assert health.startswith("GET /_cluster/health?filter_path=status,")
    # Before the first task and after the last one.
    assert run.lines == [stats, health] * 2


def test_an_old_engine_that_lacks_a_group_is_asked_for_all():
    def old(request):
        if request.path.startswith("/_nodes/stats/"):
            return json_response({"error": {"reason": "unrecognized metric: [indexing_pressure]"}}, 400)
        return reply(request)

    run = run_device(EngineCounters, old)
    assert run.result.errors == ()
    assert run.values()["indices.docs.count", "node-0"] == 7


def test_a_value_that_is_not_reported_has_no_row():
    run = run_device(EngineCounters, lambda _request: json_response({"nodes": {"id": {"name": "a"}}}))
    assert (run.samples, run.result.errors) == ([], ())
