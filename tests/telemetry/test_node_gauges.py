"""What nodes do at an instant: queues, busy threads, the heap, memory of writes."""

from pacenote.telemetry.node_counters import EngineCounters
from pacenote.telemetry.node_gauges import NodeGauges
from support.http_server import json_response
from telemetry.sampling import run_device

NODE = {
    "name": "node-0",
    "jvm": {
        "uptime_in_millis": 9000,
        "mem": {
            "heap_used_percent": 40,
            "heap_used_in_bytes": 400,
            "heap_max_in_bytes": 1000,
            "pools": {"old": {"used_in_bytes": 10, "max_in_bytes": 100}},
        },
    },
    "thread_pool": {
        "write": {"threads": 2, "queue": 5, "active": 2, "rejected": 8},
        "search": {"threads": 4, "queue": 0, "active": 1, "rejected": 0},
        "analyze": {"queue": 1},
    },
    "indexing_pressure": {"memory": {"current": {"all_in_bytes": 7}, "limit_in_bytes": 100}},
}


def reply(request):
    return json_response({"nodes": {"id": NODE}})


def test_values_are_those_that_change_from_one_moment_to_the_next():
    run = run_device(NodeGauges, reply)
    assert run.result.errors == ()
    assert {(one.name, one.value, one.unit, one.kind, one.labels["node"]) for one in run.samples} == {
        ("thread_pool.write.queue", 5, "", "gauge", "node-0"),
        ("thread_pool.write.active", 2, "", "gauge", "node-0"),
        ("thread_pool.search.queue", 0, "", "gauge", "node-0"),
        ("thread_pool.search.active", 1, "", "gauge", "node-0"),
        ("jvm.mem.heap_used_percent", 40, "%", "gauge", "node-0"),
        ("jvm.mem.heap_used", 400, "B", "gauge", "node-0"),
        ("jvm.mem.pools.old.used", 10, "B", "gauge", "node-0"),
        ("indexing_pressure.memory.current.all", 7, "B", "gauge", "node-0"),
    }
    assert run.lines == ["GET /_nodes/stats/thread_pool,jvm,indexing_pressure"] * 2


def test_no_value_is_read_by_both_devices_of_the_nodes():
    both = [
        {(one.name, str(one.labels)) for one in run_device(device, reply).samples}
        for device in (NodeGauges, EngineCounters)
    ]
    assert both[0] & both[1] == set()
    assert all(both)
