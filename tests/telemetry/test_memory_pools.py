"""Peaks of memory pools."""

from pacenote.telemetry.memory_pools import MemoryPools
from telemetry.sampling import run_device


def test_the_peaks_of_each_node_are_read_at_the_end():
    pools = {"young": {"peak_used_in_bytes": 300}, "old": {"peak_used_in_bytes": 900, "used_in_bytes": 1}}
    nodes = {"a": {"name": "node-0", "jvm": {"mem": {"pools": pools}}}, "b": {"name": "node-1"}}
    run = run_device(MemoryPools, {"/_nodes/stats/jvm": {"nodes": nodes}})
    assert run.result.errors == ()
    assert run.result.values == {"node.node-0.jvm_memory_pool_stats": {"young": 300, "old": 900}}
