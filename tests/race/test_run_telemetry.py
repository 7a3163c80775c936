"""A race runs every telemetry device before its first and after its last task, and stores the readings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from pacenote.errors import EngineError
from pacenote.model.race_record import RaceRecord
from pacenote.report.summary import build_report
from pacenote.store.race_store import RaceStore
from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice
from pacenote.telemetry.devices import ALWAYS_ON
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

TASK = "GET /task"


class GrowingEngine:
    """An engine that reports 1,000 ms more of indexing and two more collections once the task has run."""

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


def race_task(
    respond: Callable[[HttpRequest], HttpResponse],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
) -> int:
    """Races a track with one request; returns the exit code."""
    monkeypatch.setenv("PACENOTE_HOME", str(folder / "home"))
    schedule = [{"name": "task", "operation": {"operation-type": "raw-request", "path": "/task"}}]
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    with http_server(respond) as server:
        hosts = f"--target-hosts={server.address}"
        return main(["race", f"--track-path={folder}", "--race-id=r", "--quiet", hosts, *options])


@pytest.fixture
def record(engine: GrowingEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaceRecord:
    assert race_task(engine.respond, tmp_path, monkeypatch) == 0
    return RaceStore(tmp_path / "home").load("r")


def requests_of(device: type[TelemetryDevice]) -> tuple[list[str], list[str]]:
    """Returns the requests that a device sends when it is started and when it is stopped."""
    lines: list[str] = []

    class Connection:
        def get(self, path: str) -> Mapping[str, Any]:
            return self.request("GET", path)

        def request(self, method: str, path: str, _body: object = None) -> Mapping[str, Any]:
            lines.append(f"{method} {path}")
            return GrowingEngine().document(path.partition("?")[0], path)

        def close(self) -> None:
            """Holds nothing."""

    observed = device(ObservedCluster(Connection().get, 1.0, lambda _timeout_s=10.0, /: Connection()))
    try:
        observed.start()
        started = len(lines)
        observed.stop()
    finally:
        observed.close()
    return lines[:started], lines[started:]


def test_every_device_reads_the_cluster_before_and_after_the_tasks(
    engine: GrowingEngine, record: RaceRecord
) -> None:
    assert engine.lines.count(TASK) == 1
    at = engine.lines.index(TASK)
    before, after = engine.lines[:at], engine.lines[at:]
    expected = {device.name: requests_of(device) for device in ALWAYS_ON}
    assert sum(bool(first and last) for first, last in expected.values()) >= 2
    for name, (first, last) in expected.items():
        assert set(first) <= set(before), name
        assert set(last) <= set(after), name
    assert record.telemetry_errors == ()


@pytest.mark.parametrize(("status", "code"), [(200, 0), (404, 3)])
def test_devices_are_closed_even_if_the_race_is_aborted(
    status: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    class Watching(TelemetryDevice):
        name = "watching"
        description = "Records the calls it receives."

        def start(self) -> None:
            calls.append("start")

        def stop(self) -> DeviceReading:
            calls.append("stop")
            return DeviceReading()

        def close(self) -> None:
            calls.append("close")

    monkeypatch.setattr("pacenote.telemetry.devices.ALWAYS_ON", (Watching,))
    engine = GrowingEngine()

    def respond(request: HttpRequest) -> HttpResponse:
        return json_response({}, status) if request.path == "/task" else engine.respond(request)

    assert race_task(respond, tmp_path, monkeypatch, "--on-error=abort") == code
    assert calls == (["start", "stop", "close"] if status == 200 else ["start", "close"])


def test_ctrl_c_while_a_device_reads_loses_nothing_that_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waiting(TelemetryDevice):
        name = "waiting"
        description = "Is interrupted while it waits for the engine."

        def start(self) -> None:
            """Reads nothing."""

        def stop(self) -> DeviceReading:
            raise KeyboardInterrupt

    monkeypatch.setattr("pacenote.telemetry.devices.ALWAYS_ON", (Waiting,))
    assert race_task(GrowingEngine().respond, tmp_path, monkeypatch) == 130
    record = RaceStore(tmp_path / "home").load("r")
    assert (record.interrupted, record.complete) == (True, False)
    assert [task.task for task in record.tasks] == ["task"]
    assert record.driver["samples"] == 1


@pytest.mark.parametrize("at", ["start", "stop"])
def test_the_results_survive_a_device_that_fails(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []

    class Failing(TelemetryDevice):
        name = "failing"
        description = "Cannot read the engine."

        def start(self) -> None:
            if at == "start":
                raise EngineError("HTTP 500 for /_nodes/stats")

        def stop(self) -> DeviceReading:
            # The results of all tasks are stored before any device reads the engine at the end.
            seen.append(tuple(task.task for task in RaceStore(tmp_path / "home").load("r").tasks))
            raise EngineError("HTTP 500 for /_nodes/stats")

    monkeypatch.setattr("pacenote.telemetry.devices.ALWAYS_ON", (Failing, *ALWAYS_ON))
    assert race_task(GrowingEngine().respond, tmp_path, monkeypatch) == 0
    record = RaceStore(tmp_path / "home").load("r")
    assert ([task.task for task in record.tasks], record.complete) == (["task"], True)
    assert seen == ([("task",)] if at == "stop" else [])
    when = "before" if at == "start" else "after"
    assert record.telemetry_errors == (
        f"failing: could not be read {when} the race: HTTP 500 for /_nodes/stats",
    )
    # The other devices are read nevertheless.
    assert record.system.total_time == 1_000


def test_the_readings_are_stored_and_reported(record: RaceRecord) -> None:
    assert (record.system.total_time, record.system.young_gc_count, record.system.young_gc_time) == (
        1_000,
        2,
        20,
    )
    expected = {"node.node-0.young_gc_count": 2, "node.node-0.young_gc_time": 20}
    # Other devices may add values.
    assert {key: record.telemetry.get(key) for key in expected} == expected
    rows = {row.metric: row.value for row in build_report(record).rows}
    assert rows["Cumulative indexing time of primary shards"] == pytest.approx(1 / 60)
    assert rows["Total Young Gen GC count"] == 2
