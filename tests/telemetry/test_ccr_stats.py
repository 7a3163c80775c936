"""Rally's ccr-stats."""

import pytest

from pacenote.telemetry.ccr_stats import CcrStats
from telemetry.sampling import run_device

FOLLOWED = {"indices": [{"index": "follower", "shards": [{
    "shard_id": 0, "leader_index": "leader", "operations_read": 30, "total_read_time_millis": 12,
    "follower_global_checkpoint": 29, "read_exceptions": [],
}]}]}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "reply", "params"),
    [
        ("/_ccr/stats", {"auto_follow_stats": {}, "follow_stats": FOLLOWED}, {}),
        ("/follower/_ccr/stats", FOLLOWED, {"ccr-stats-indices": {"default": ["follower"]}}),
    ],
)
def test_following_shards_are_read(path, reply, params):
    run = run_device(CcrStats, {path: reply}, params)
    assert run.result.errors == ()
    assert run.values() == {
        ("shard.operations_read", "follower", "0"): 30,
        ("shard.total_read_time", "follower", "0"): 12,
        ("shard.follower_global_checkpoint", "follower", "0"): 29,
    }
