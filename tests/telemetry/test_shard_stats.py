"""Rally's shard-stats and recovery-stats."""

from pacenote.telemetry.shard_stats import RecoveryStats, ShardStats
from telemetry.sampling import run_device


def test_each_shard_has_documents_size_and_segments():
    stats = {
        "routing": {"primary": True, "state": "STARTED"},
        "docs": {"count": 10, "deleted": 0},
        "store": {"size_in_bytes": 2048},
        "segments": {"count": 3},
    }
    replica = {"routing": {"primary": False}, "docs": {"count": 9}}
    node = {"name": "node-0", "indices": {"shards": {"logs": [{"0": stats}, {"1": replica}]}}}
    run = run_device(ShardStats, {"/_nodes/stats/indices/docs,store,segments": {"nodes": {"id": node}}})
    assert run.result.errors == ()
    assert run.values() == {
        ("docs", "node-0", "logs", "0", "true"): 10,
        ("store", "node-0", "logs", "0", "true"): 2048,
        ("segments-count", "node-0", "logs", "0", "true"): 3,
        ("docs", "node-0", "logs", "1", "false"): 9,
        # The engine does not report them: there is no value, rather than 0.
        ("store", "node-0", "logs", "1", "false"): None,
        ("segments-count", "node-0", "logs", "1", "false"): None,
    }


def test_active_recoveries_are_read_of_the_given_indices():
    shard = {
        "id": 1, "type": "PEER", "stage": "INDEX", "target": {"name": "node-1"},
        "index": {"size": {"total_in_bytes": 100, "percent": "25.0%"}, "total_time_in_millis": 8},
        "translog": {"recovered": 4},
    }  # fmt: skip
    run = run_device(
        RecoveryStats, {"/a,b%2Fc/_recovery": {"a": {"shards": [shard]}}}, {"recovery-stats-indices": "a,b/c"}
    )
    assert run.lines[0] == "GET /a,b%2Fc/_recovery?active_only=true"
    assert run.values() == {
        ("shard.index.size.total", "a", "1", "node-1", "PEER"): 100,
        ("shard.index.size.percent", "a", "1", "node-1", "PEER"): 25,
        ("shard.index.total_time", "a", "1", "node-1", "PEER"): 8,
        ("shard.translog.recovered", "a", "1", "node-1", "PEER"): 4,
    }
    assert {one.kind for one in run.samples} == {"gauge"}


def test_without_active_recoveries_there_are_no_rows():
    assert run_device(RecoveryStats, {"/_recovery": {}}).samples == []
