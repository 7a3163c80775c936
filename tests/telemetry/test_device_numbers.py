"""Numbers of an engine that the record of a race cannot hold are refused where they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.model.race_record import RaceRecord
from pacenote.model.system_metrics import SystemMetrics
from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice, TelemetryDevices
from pacenote.telemetry.ingest_stats import IngestStats
from pacenote.telemetry.jvm_stats import JvmStats
from pacenote.telemetry.memory_pools import MemoryPools
from support.records import record

_HOSTILE = [2**63, -(2**70), 10**99, "9" * 4000, float("inf"), float("nan")]


def _node(number: object, uptime: int) -> dict[str, Any]:
    counts = {"count": number, "time_in_millis": number, "failed": number}
    processors = [{"set": {"type": "set", "stats": counts}}]
    collections = {"collection_count": number, "collection_time_in_millis": number}
    return {
        "name": "n1",
        "jvm": {
            "uptime_in_millis": uptime,
            "gc": {"collectors": {"young": collections, "old": collections}},
            "mem": {"pools": {"young": {"peak_used_in_bytes": number}}},
        },
        "ingest": {"total": counts, "pipelines": {"p": {**counts, "processors": processors}}},
    }


@pytest.mark.parametrize("number", _HOSTILE)
@pytest.mark.parametrize("device", [IngestStats, JvmStats, MemoryPools])
def test_a_device_refuses_a_number_of_more_than_64_bits(
    device: type[TelemetryDevice], number: object
) -> None:
    reply = {"nodes": {"a": _node(0, 1)}}
    devices = TelemetryDevices([device(ObservedCluster(lambda _: reply, None))])
    devices.start()
    reply = {"nodes": {"a": _node(number, 10_000)}}
    result = devices.stop()
    (error,) = result.errors
    assert "has an unexpected form: expected " in error
    assert (result.system, result.values) == (SystemMetrics(), {})


@pytest.mark.parametrize("value", [10**100, [{"a": -(10**300)}], [10**5000]])
def test_a_value_that_could_not_be_read_back_is_ignored(value: object) -> None:
    class Device(TelemetryDevice):
        name = "odd"
        description = "Odd."

        def start(self) -> None:
            pass

        def stop(self) -> DeviceReading:
            return DeviceReading({"store_size": 2**64}, {"odd": value, "kept": 1})

    result = TelemetryDevices([Device(ObservedCluster(lambda _: None, None))]).stop()
    assert (result.system, result.values) == (SystemMetrics(), {"kept": 1})
    assert len(result.errors) == 2


@pytest.mark.parametrize("number", [-(2**62), 2**62, "7"])
def test_a_number_of_64_bits_can_be_read_back(number: object) -> None:
    reply = {"nodes": {"a": _node(number, 1)}}
    devices = TelemetryDevices([MemoryPools(ObservedCluster(lambda _: reply, None))])
    devices.start()
    stored = replace(record(), telemetry=devices.stop().values)
    assert RaceRecord.from_document(json.loads(json.dumps(stored.to_document()))) == stored
