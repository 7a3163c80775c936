"""How the connections of an open loop share the iterations of a task."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from pacenote.model.result import TaskResult
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

OPERATIONS = 40

PLUGINS = """
class Source:
    infinite = True

    def __init__(self, track, params, **kwargs):
        pass

    def partition(self, index, count):
        return self

    def params(self):
        return {"path": "/search", "method": "GET"}


async def runner(es, params):
    await es.transport.perform_request("GET", "/search")


def register(registry):
    registry.register_param_source("source", Source)
    registry.register_runner("runner", runner, async_runner=True)
"""

REQUEST = {"operation-type": "raw-request", "path": "/search"}


class HeldServer:
    """Answers the first search when all others have been answered: its connection is busy until then."""

    def __init__(self) -> None:
        self.searches = 0
        self.held_for_all = False
        self._lock = threading.Lock()
        self._others_answered = threading.Event()

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.target == "/search":
            with self._lock:
                self.searches += 1
                number = self.searches
            if number == 1:
                self.held_for_all = self._others_answered.wait(20)
            if number == OPERATIONS:
                self._others_answered.set()
        return json_response(engine_document(request.target))


def race(folder: Path, server: HeldServer, task: dict[str, Any], *options: str) -> TaskResult:
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    with http_server(server.respond) as address:
        hosts = ("--pipeline=benchmark-only", f"--target-hosts={address.address}")
        assert main(["race", f"--track-path={folder}", "--race-id=r", "--open-loop", *hosts, *options]) == 0
    (result,) = RaceStore(folder / "home").load("r").tasks
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize(
    "operation", [REQUEST, {**REQUEST, "param-source": "source"}, {"operation-type": "runner"}]
)
def test_one_connection_sends_what_another_one_is_too_busy_for(
    folder: Path, operation: dict[str, str]
) -> None:
    (folder / "track.py").write_text(PLUGINS)
    server, rate = HeldServer(), {"target-throughput": 200}
    task = {"name": "search", "operation": {"name": "search", **operation}, "clients": 2, **rate}
    result = race(folder, server, {**task, "warmup-iterations": 5, "iterations": 15}, "--quiet")
    assert server.held_for_all
    counts = result.accounting
    assert (counts.warmup, counts.normal, counts.unsent, result.ended_by) == (10, 30, 0, "iterations")


@pytest.mark.parametrize(
    ("bounds", "connections", "counts"),
    [({"iterations": 5}, 4, (40, 40)), ({"iterations": 5}, 3, (40, 42)), ({}, 64, (8, 64))],
)
def test_a_race_says_which_tasks_have_other_numbers_of_operations_than_in_the_track(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    bounds: dict[str, int],
    connections: int,
    counts: tuple[int, int],
) -> None:
    server, (in_track, sent) = HeldServer(), counts
    task = {"name": "search", "operation": REQUEST, "clients": 8, "target-throughput": 1000, **bounds}
    result = race(folder, server, task, f"--max-connections={connections}")
    assert (server.searches, result.accounting.operations) == (sent, sent)
    note = f'the number of operations: "search" ({in_track} in the track, at most {sent} in this race)'
    assert (note in " ".join(capsys.readouterr().err.split())) is (sent != in_track)
