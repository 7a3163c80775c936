"""All that a race stores about nodes with one name tells them apart by the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.evidence.telemetry_values import telemetry_cuts
from pacenote.store.race_store import RaceStore
from race.test_run_telemetry import race_task
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, json_response

NAMES = {"es", "es #2"}


class TwoNodes:
    """A cluster of two nodes with one name, of which the first one ingests nine times as much."""

    def __init__(self) -> None:
        self.requests = 0

    def respond(self, request: HttpRequest) -> HttpResponse:
        self.requests += 1
        if not request.path.startswith("/_nodes"):
            return json_response(engine_document(request.target))
        ids = ["a", "b"] if self.requests % 2 else ["b", "a"]
        return json_response({"nodes": {node_id: self.node(node_id) for node_id in ids}})

    def node(self, node_id: str) -> dict[str, Any]:
        done = self.requests * (9 if node_id == "a" else 1)
        cpu = {"total_in_millis": 10_000_000 * (node_id == "a") + done}
        return {
            "name": "es",
            "host": "10.9.9.9",
            "ip": "10.9.9.9",
            "version": "3.3.0",
            "os": {"name": "Linux", "allocated_processors": 2},
            "process": {"id": 2**22 + 1, "cpu": cpu},
            "jvm": {
                "version": "25",
                "start_time_in_millis": 1,
                "uptime_in_millis": 1_000 + self.requests * 60_000,
                "gc": {"collectors": {}},
            },
            "ingest": {"total": {"count": done, "time_in_millis": done, "failed": 0}},
        }


def test_nodes_with_one_name_have_the_same_names_in_all_that_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert race_task(TwoNodes().respond, tmp_path, monkeypatch) == 0
    store = RaceStore(tmp_path / "home")
    record = store.load("r")
    assert {node["name"] for node in record.cluster.nodes} == NAMES
    cuts = telemetry_cuts(store.races / "r" / "telemetry.parquet")
    cpu = {series.labels["node"]: series for series in cuts.series if series.name == "process.cpu.total"}
    assert cpu.keys() == NAMES
    sampler = record.telemetry["host-sampler"]
    assert isinstance(sampler, dict)
    assert sampler["missing_nodes"].keys() == NAMES
    snapshot = store.folder("r").read_snapshot()
    assert snapshot is not None
    versions = {key for key in snapshot.before.facts if key.endswith(".jvm.version")}
    assert versions == {f"node.{name}.jvm.version" for name in NAMES}
    first, second = (record.telemetry[f"node.{name}.ingest_pipeline_node_count"] for name in sorted(NAMES))
    assert isinstance(first, int)
    assert isinstance(second, int)
    assert first == 9 * second > 0
    assert record.system.ingest_pipeline_cluster_count == first + second
