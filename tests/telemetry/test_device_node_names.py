"""Devices tell nodes with one name apart: that of a node is by default that of its host."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from pacenote.telemetry.device import TelemetryDevice
from pacenote.telemetry.environment_info import NodeEnvironmentInfo
from pacenote.telemetry.ingest_stats import IngestStats
from pacenote.telemetry.jvm_stats import JvmStats
from pacenote.telemetry.master_node import MasterNodeStats
from pacenote.telemetry.memory_pools import MemoryPools
from pacenote.telemetry.node_counters import EngineCounters
from pacenote.telemetry.node_gauges import NodeGauges
from pacenote.telemetry.node_stats import NodeStats
from pacenote.telemetry.shard_stats import RecoveryStats, ShardStats
from support.http_server import HttpRequest, HttpResponse, json_response
from telemetry.replies import reply_to
from telemetry.sampling import run_device

DEVICES = (
    *(EngineCounters, NodeGauges, MasterNodeStats, JvmStats, MemoryPools, IngestStats, NodeEnvironmentInfo),
    *(NodeStats, RecoveryStats, ShardStats),
)


def more(part: Any, by: int) -> Any:
    """Returns a part of a reply whose numbers are larger."""
    if isinstance(part, dict):
        return {key: more(value, by) for key, value in part.items()}
    if isinstance(part, list):
        return [more(value, by) for value in part]
    return part + by if isinstance(part, int) and not isinstance(part, bool) else part


class Cluster:
    """A cluster of nodes whose statistics differ and grow; the order in which it has them changes."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.requests = 0

    def respond(self, request: HttpRequest) -> HttpResponse:
        self.requests += 1
        reply: Any = copy.deepcopy(reply_to(request.target))
        for index in reply.values() if "_recovery" in request.path else ():
            index["shards"] = list(self.of_nodes(index["shards"][0]["target"], index["shards"][0]))
        if "nodes" in reply:
            [node] = reply["nodes"].values()
            reply["nodes"] = dict(zip(self.ids(), self.of_nodes(node, node), strict=True))
        return json_response(reply)

    def ids(self) -> list[str]:
        ids = sorted(self.names)
        return ids if self.requests % 2 else ids[::-1]

    def of_nodes(self, named: dict[str, Any], part: dict[str, Any]) -> Iterable[dict[str, Any]]:
        for node_id in self.ids():
            named["name"] = self.names[node_id]
            if "id" in named:
                named["id"] = node_id
            by = 1_000 if node_id == "b" else 0
            yield more(copy.deepcopy(part), by + self.requests * (by + 3_000))


def figures_of(device: type[TelemetryDevice], names: Mapping[str, str]) -> Any:
    """Returns what a device has read of the nodes with these names by id."""
    run = run_device(device, Cluster(names).respond)
    assert run.result.errors == ()
    samples = [(each.name, sorted(each.labels.items()), each.value) for each in run.samples]
    return sorted(samples, key=str), run.result.values, run.result.system


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_nodes_with_one_name_have_figures_of_their_own(device: type[TelemetryDevice]) -> None:
    apart = figures_of(device, {"a": "es", "b": "es #2"})
    assert "es #2" in str(apart)
    assert figures_of(device, {"a": "es", "b": "es"}) == apart
