"""A race stores the configuration of engine and machine before its first task and after its last one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pacenote.cli.output.plain_progress import PlainListener
from pacenote.model.snapshot import Snapshot
from pacenote.race import snapshots
from pacenote.store.race_store import RaceStore
from race.test_run_telemetry import GrowingEngine, race_task
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

SETTINGS = "/_cluster/settings"


class ConfiguredEngine(GrowingEngine):
    """An engine whose setting changes when the task runs."""

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.path == SETTINGS:
            self.lines.append(request.line)
            value = "new" if "GET /task" in self.lines else "old hunter22"
            return json_response({"defaults": {"a": value}})
        return super().respond(request)


def stored(home: Path) -> dict[str, Any]:
    return json.loads((home / "home/races/r/snapshot.json").read_text())


@pytest.mark.process
def test_the_configuration_is_read_before_and_after_but_not_during_the_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ConfiguredEngine()
    assert race_task(engine.respond, tmp_path, monkeypatch) == 0
    tasks = [number for number, line in enumerate(engine.lines) if line == "GET /task"]
    reads = [number for number, line in enumerate(engine.lines) if SETTINGS in line]
    assert min(reads) < min(tasks)
    assert max(tasks) < max(reads)
    assert not [number for number in reads if min(tasks) < number < max(tasks)]
    record = RaceStore(tmp_path / "home").load("r")
    assert record.snapshot is not None
    assert record.snapshot.changed == ("setting.a: old hunter22 → new",)
    document = stored(tmp_path)
    assert document["before"]["facts"]["setting.a"] == "old hunter22"
    assert document["after"]["facts"]["setting.a"] == "new"
    # Pacenote did not start this engine.
    assert "not known" in document["before"]["facts"]["machine.runs"]
    assert "node.*.jvm.flag.*" in document["before"]["unread"]


@pytest.mark.process
def test_settings_that_differ_between_nodes_are_not_called_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def node(name: str) -> Callable[[HttpRequest], HttpResponse]:
        settings = json_response({"defaults": {"node.name": name}})
        other = GrowingEngine().respond
        return lambda request: settings if request.path == SETTINGS else other(request)

    with http_server(node("n-1")) as first, http_server(node("n-2")) as second:
        hosts = f"--target-hosts={first.address},{second.address}"
        assert race_task(node(""), tmp_path, monkeypatch, hosts) == 0
    record = RaceStore(tmp_path / "home").load("r")
    assert record.snapshot is not None
    assert record.snapshot.changed == ()
    assert stored(tmp_path)["after"]["facts"]["setting.node.name"] == "n-1"


@pytest.mark.process
def test_only_what_the_engine_reports_is_called_a_change_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(PlainListener, "info", lambda _, text: lines.append(text))
    sides = [{"driver.process.nice": "0"}, {"driver.process.nice": "5"}]
    monkeypatch.setattr(snapshots, "read_machine", lambda _: Snapshot(sides.pop(0)))
    assert race_task(ConfiguredEngine().respond, tmp_path, monkeypatch) == 0
    (line,) = (line for line in lines if "was reconfigured" in line)
    assert line == "the engine was reconfigured while the race ran: setting.a: old hunter22 → new"


@pytest.mark.process
def test_secrets_of_the_race_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = "--client-options=basic_auth_user:'u',basic_auth_password:'hunter22'"
    assert race_task(ConfiguredEngine().respond, tmp_path, monkeypatch, options) == 0
    assert "hunter22" not in (tmp_path / "home/races/r/snapshot.json").read_text()
    assert "hunter22" not in (tmp_path / "home/races/r/race.json").read_text()


@pytest.mark.process
def test_what_hurts_an_engine_on_this_machine_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"memory.total_kb": "1000000", "reading.memory.available_kb": "9000"}
    facts |= {"cpu.scaling_governor": "powersave"}
    monkeypatch.setattr(snapshots, "read_machine", lambda _: Snapshot(facts))
    assert race_task(ConfiguredEngine().respond, tmp_path, monkeypatch) == 0
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "slows the engine" in line)
    assert line == (
        "warning: this machine slows the engine down: free memory: 1 % of 976.6 MiB available; "
        "CPU governor: powersave, driver unknown (see `pacenote host`)"
    )
    record = RaceStore(tmp_path / "home").load("r")
    assert record.snapshot is not None
    assert len(record.snapshot.hurts) == 2


@pytest.mark.process
def test_a_defect_in_reading_does_not_end_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(request: object) -> None:
        raise ZeroDivisionError(request)

    monkeypatch.setattr(snapshots, "read_machine", fail)
    assert race_task(ConfiguredEngine().respond, tmp_path, monkeypatch) == 0
    assert "the configuration of engine and machine is not recorded" in capsys.readouterr().err
    assert RaceStore(tmp_path / "home").load("r").snapshot is None


def test_the_process_that_has_the_id_of_an_ended_node_is_not_read(tmp_path: Path) -> None:
    def node(name: str, *, runs: bool) -> Any:
        return SimpleNamespace(
            spec=SimpleNamespace(name=name), pid=os.getpid(), data_paths=(), is_running=lambda: runs
        )

    nodes = [node("a", runs=True), node("b", runs=False)]
    request = snapshots._machine_request(nodes, {"race": tmp_path})
    assert request.processes == {"node.a": os.getpid()}
    assert snapshots._jvm(node("b", runs=False)).unread == {"node.b.*": "the node has ended"}
