"""A reply may have one long name, and many entries with which its values would repeat it."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from pacenote.telemetry.device import ObservedCluster, TelemetryDevice, TelemetryDevices, TelemetryResult
from pacenote.telemetry.environment_info import NodeEnvironmentInfo
from pacenote.telemetry.geoip_stats import GeoIpStats
from pacenote.telemetry.ingest_stats import IngestStats
from pacenote.telemetry.jvm_stats import JvmStats
from pacenote.telemetry.memory_pools import MemoryPools
from pacenote.telemetry.short_names import ShortNames, values_by_key

LONG = "n" * 200_000
ENTRIES = 2_000


def run(device: type[TelemetryDevice], *replies: Any) -> TelemetryResult:
    remaining = list(replies)
    devices = TelemetryDevices([device(ObservedCluster(lambda _path: remaining.pop(0), None))])
    devices.start()
    return devices.stop()


def ingest(uptime_ms: int, pipelines: object) -> object:
    total = {"count": uptime_ms, "time_in_millis": 0, "failed": 0}
    node = {"jvm": {"uptime_in_millis": uptime_ms}, "ingest": {"total": total, "pipelines": pipelines}}
    return {"nodes": {"id": node}}


def processors(count: int) -> object:
    details = {"type": "set", "stats": {"count": count}}
    return {LONG: {"count": count, "processors": [{"a": details}] * ENTRIES}}


def collectors(uptime_ms: int, number: int = ENTRIES, suffix: str = "") -> object:
    stats = {"collection_count": 0, "collection_time_in_millis": 0}
    gc = {"collectors": {f"c{entry}{suffix}": stats for entry in range(number)}}
    return {"nodes": {"id": {"name": LONG, "jvm": {"uptime_in_millis": uptime_ms, "gc": gc}}}}


def environment(number: int) -> object:
    return {"nodes": {"id": {"name": LONG, "attributes": {str(entry): "" for entry in range(number)}}}}


CACHE = dict.fromkeys(("count", "hits", "misses", "evictions"), 1)
POOLS = {"mem": {"pools": {LONG: {"peak_used_in_bytes": 1}}}}

REPLIES: dict[type[TelemetryDevice], tuple[object, ...]] = {
    IngestStats: (ingest(1, processors(1)), ingest(9000, processors(9000))),
    JvmStats: (collectors(1), collectors(9000)),
    NodeEnvironmentInfo: (environment(ENTRIES),),
    GeoIpStats: ({"nodes": {f"{entry}{LONG}": {"cache_stats": CACHE} for entry in range(9)}},),
    MemoryPools: ({"nodes": {f"{entry}{LONG}": {"jvm": POOLS} for entry in range(9)}},),
}


@pytest.mark.parametrize("device", REPLIES, ids=lambda device: device.name)
def test_values_do_not_repeat_a_long_name(device: type[TelemetryDevice]) -> None:
    tracemalloc.start()
    try:
        result = run(device, *REPLIES[device])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.errors == ()
    assert result.values
    assert peak < 20_000_000
    assert len(json.dumps(result.values)) < 4_000_000
    assert max(map(len, result.values)) < 1_000


def test_a_device_makes_no_more_keys_than_are_stored() -> None:
    result = run(NodeEnvironmentInfo, environment(30_000))
    assert result.values == {}
    assert len(result.errors) == 1
    assert "more values than are stored" in result.errors[0]


def test_collectors_of_any_number_of_kinds_are_not_read() -> None:
    result = run(JvmStats, collectors(1, 50_000, "c" * 200))
    assert result.errors == (
        "jvm-stats: could not be read before the race: the engine reports more kinds of garbage collectors "
        "than are read",
    )


def test_more_pipelines_than_are_read_leave_the_totals() -> None:
    names = [f"{number}{'p' * 200}" for number in range(50_000)]
    replies = (ingest(uptime, {name: {"count": uptime} for name in names}) for uptime in (1, 9000))
    result = run(IngestStats, *replies)
    assert result.system.ingest_pipeline_cluster_count == 8999
    assert "ingest_pipelines" not in result.values
    assert result.errors == (
        "ingest-pipeline-stats: more pipelines and processors are reported than are read: the figures of "
        "each are missing",
    )


@pytest.mark.parametrize("name", [["n"], {"n": 1}, None])
def test_a_node_whose_name_is_no_text_is_of_an_unexpected_form(name: object) -> None:
    node = {"name": name, "jvm": POOLS}
    for device in (MemoryPools, NodeEnvironmentInfo):
        (error,) = run(device, {"nodes": {"id": node}}).errors
        assert "the engine's response has an unexpected form" in error


def test_long_names_stay_different() -> None:
    names = ShortNames()
    short = [names.of(f"{LONG}{end}") for end in "aab"]
    assert short[0] == short[1] != short[2]
    assert values_by_key((name, 1) for name in short) == {short[0]: 1, short[2]: 1}
