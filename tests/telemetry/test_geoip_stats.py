"""Rally's geoip-stats."""

from pacenote.telemetry.geoip_stats import GeoIpStats
from telemetry.sampling import run_device


def test_the_caches_of_each_node_are_read_at_the_end():
    cache = {"count": 5, "hits": 40, "misses": 6, "evictions": 1, "hits_time_in_millis": 2}
    reply = {"stats": {}, "nodes": {"n1": {"cache_stats": cache}, "n2": {"databases": []}}}
    run = run_device(GeoIpStats, {"/_ingest/geoip/stats": reply})
    assert run.lines == ["GET /_ingest/geoip/stats"]
    assert run.result.values == {
        "node.n1.geoip_cache_count": 5,
        "node.n1.geoip_cache_hits": 40,
        "node.n1.geoip_cache_misses": 6,
        "node.n1.geoip_cache_evictions": 1,
        "node.n1.geoip_cache_hits_time_in_millis": 2,
    }
