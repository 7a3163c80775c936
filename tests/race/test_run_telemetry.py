"""A race runs every telemetry device before its first and after its last task, and stores the readings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from pacenote.model.race_record import RaceRecord
from pacenote.report.summary import build_report
from pacenote.store.race_store import RaceStore
from pacenote.telemetry.device import ObservedCluster, TelemetryDevice
from pacenote.telemetry.devices import DEVICES
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

TASK = "GET /task"


class GrowingEngine:
    """An engine whose counters have grown by 1,000 ms and two collections once the task has run."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def respond(self, request: HttpRequest) -> HttpResponse:
        self.lines.append(request.line)
        return json_response(self.document(request.path, request.target))

    def document(self, path: str, target: str) -> Mapping[str, Any]:
        done = TASK in self.lines
        if path.startswith("/_all/_stats"):
            copy = {"routing": {"primary": True}, "indexing": {"index_time_in_millis": 5_000 + 1_000 * done}}
            return {"indices": {"logs": {"uuid": "u", "shards": {"0": [copy]}}}}
        if path == "/_nodes/stats/jvm":
            young = {"collection_count": 3 + 2 * done, "collection_time_in_millis": 30 + 20 * done}
            jvm = {"uptime_in_millis": 1_000 + done, "gc": {"collectors": {"young": young}}}
            return {"nodes": {"id": {"name": "node-0", "jvm": jvm}}}
        return engine_document(target)


@pytest.fixture
def engine() -> GrowingEngine:
    return GrowingEngine()


@pytest.fixture
def record(engine: GrowingEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaceRecord:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    schedule = [{"name": "task", "operation": {"operation-type": "raw-request", "path": "/task"}}]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    with http_server(engine.respond) as server:
        hosts = f"--target-hosts={server.address}"
        assert main(["race", f"--track-path={tmp_path}", "--race-id=r", "--quiet", hosts]) == 0
    return RaceStore(tmp_path / "home").load("r")


def requests_of(device: type[TelemetryDevice]) -> tuple[list[str], list[str]]:
    """The requests that a device sends when it is started and when it is stopped."""
    lines: list[str] = []

    def get(target: str) -> Mapping[str, Any]:
        lines.append(f"GET {target}")
        return GrowingEngine().document(target.partition("?")[0], target)

    observed = device(ObservedCluster(get, 1.0))
    observed.start()
    started = len(lines)
    observed.stop()
    return lines[:started], lines[started:]


def test_every_device_reads_the_cluster_before_and_after_the_tasks(
    engine: GrowingEngine, record: RaceRecord
) -> None:
    assert engine.lines.count(TASK) == 1
    at = engine.lines.index(TASK)
    before, after = engine.lines[:at], engine.lines[at:]
    expected = {device.name: requests_of(device) for device in DEVICES}
    assert sum(bool(first and last) for first, last in expected.values()) >= 2
    for name, (first, last) in expected.items():
        assert set(first) <= set(before), name
        assert set(last) <= set(after), name
    assert record.telemetry_errors == ()


def test_the_readings_are_stored_and_reported(record: RaceRecord) -> None:
    assert (record.system.total_time, record.system.young_gc_count, record.system.young_gc_time) == (
        1_000,
        2,
        20,
    )
    assert record.telemetry == {"node.node-0.young_gc_count": 2, "node.node-0.young_gc_time": 20}
    rows = {row.metric: row.value for row in build_report(record).rows}
    assert rows["Cumulative indexing time of primary shards"] == pytest.approx(1 / 60)
    assert rows["Total Young Gen GC count"] == 2
