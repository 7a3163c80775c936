"""Python's side of the lane, through the built module, against a real socket."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pacenote import _core
from pacenote.model.result import TaskResult
from pacenote.model.work import (
    CallSequence,
    PythonRunner,
    PythonSource,
    Request,
    SuppliedBulk,
    SuppliedOperation,
    TaskWork,
    document_data,
)
from pacenote.plan.document import (
    ClientAllocation,
    DriverSettings,
    OnError,
    Plan,
    PlannedTask,
    PythonScheduler,
    Step,
    Target,
    TargetHost,
    TaskAllocation,
    TaskPacing,
    TimePeriod,
    Unpaced,
)
from support.http_server import HttpRequest, HttpResponse, http_server

OFFSETS_S = (0.0, 0.0125, 0.02)


def echo(request: HttpRequest) -> HttpResponse:
    """Reports path and length of the request."""
    document = {"took": 1, "errors": False, "path": request.target, "length": len(request.body)}
    return HttpResponse(200, json.dumps(document).encode(), (("X-Elastic-Product", "Elasticsearch"),))


@pytest.fixture
def port() -> Iterator[int]:
    with http_server(echo) as server:
        yield server.port


def planned(name: str, work: TaskWork, pace: TaskPacing) -> PlannedTask:
    return PlannedTask(name, "op", "own-type", 1, pace, TimePeriod(0.0, None), 0.0, "ops", False, work)


def plan(port: int, *tasks: PlannedTask) -> str:
    """All tasks beside one another."""
    rows = tuple(ClientAllocation(number, (TaskAllocation(number, 0),)) for number in range(len(tasks)))
    target = Target((TargetHost("http", "127.0.0.1", port),), (), 5_000)
    settings = DriverSettings(1, OnError.CONTINUE)
    return Plan("r", 1, target, settings, tasks, (Step("all", rows, None),)).to_json()


def text(supply: SuppliedOperation) -> str:
    return json.dumps(document_data(supply))


class Player:
    """Plays the asyncio loop: hears events as they come and answers them."""

    def __init__(self, lane: _core.Lane) -> None:
        self.lane = lane
        self.heard: list[tuple[Any, ...]] = []
        self._running = 0
        self._offsets = [*OFFSETS_S, None]

    def play(self) -> None:
        while not self.heard or self.heard[-1] != ("quit",):
            ready, _, _ = select.select([self.lane.fileno()], [], [], 10.0)
            assert ready, self.heard
            for event in self.lane.events():
                self.heard.append(event)
                getattr(self, event[0])(*event[1:])

    def prepare(self, step: int) -> None:
        bulk = SuppliedBulk("/_bulk", (("content-type", "application/x-ndjson"),), 3, None)
        assert self.lane.room(0, 0) == 4
        assert self.lane.supply(0, 0, text(bulk), b"{}\n" * 6)
        assert self.lane.supply(0, 0, text(CallSequence((Request("POST", "/supplied"),))), None)
        with pytest.raises(_core.CoreError, match="task fed: unknown variant `tea`"):
            self.lane.supply(0, 0, '{"kind": "tea"}', None)
        self.lane.end(0, 0, "track.py:4 ValueError: no more")
        self.lane.prepared(step, None)

    def next(self, token: int, task: int, client: int) -> None:
        assert (task, client) == (1, 0)
        self.lane.due(token, self._offsets.pop(0))

    def run(self, token: int, task: int, client: int, measured: bool) -> None:
        assert (task, client, measured) == (1, 0, True)
        self._running = token
        headers = [("content-type", "application/json"), ("connection", "keep-alive")]
        with pytest.raises(_core.CoreError, match="there is no cluster"):
            self.lane.request((1, 0), "elsewhere", "POST", "/", headers, None, None)
        self.lane.request((1, 0), "default", "POST", "/own?q=1", headers, b"{}", 2.5)

    def reply(self, _ticket: int, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        assert status == 200
        assert ("X-Elastic-Product", "Elasticsearch") in headers
        assert json.loads(body)["path"] == "/own?q=1"
        self.lane.execute(
            (1, 0), "default", text(CallSequence((Request("POST", "/native", weight=5),))), None
        )

    def outcome(self, _ticket: int, document: str) -> None:
        outcome = json.loads(document)
        assert (outcome["success"], outcome["weight"], outcome["error"]) == (True, 5, None)
        assert json.loads(outcome["body"])["path"] == "/native"
        result = {"weight": 5, "unit": "hits", "success": True, "last": False, "error": None}
        self.lane.done(self._running, json.dumps(result))

    def ended(self, task: int, client: int) -> None:
        assert not self.lane.room(task, client)

    def finish(self, step: int) -> None:
        assert step == 0

    def quit(self) -> None:
        with pytest.raises(_core.CoreError, match="the race is over"):
            self.lane.request(None, "default", "GET", "/", [], None, None)


def results(driver: _core.Driver) -> dict[str, TaskResult]:
    found: dict[str, TaskResult] = {}
    while True:
        for message in map(json.loads, driver.wait(1.0)):
            if "finished" in message:
                assert message["finished"]["error"] is None
                return found
            result = TaskResult.from_document(message["task_finished"])
            found[result.task] = result


def test_python_supplies_schedules_and_runs(port: int, tmp_path: Path) -> None:
    tasks = (planned("fed", PythonSource(4), Unpaced()), planned("own", PythonRunner(), PythonScheduler()))
    driver = _core.Driver(plan(port, *tasks), tmp_path)
    lane = driver.lane()
    assert lane is not None
    player = Player(lane)
    thread = threading.Thread(target=player.play)
    thread.start()
    done = results(driver)
    thread.join()

    fed, own = done["fed"], done["own"]
    assert (fed.accounting.succeeded, fed.accounting.failed, fed.work.done) == (2, 1, 4)
    assert [(error.error_class, error.reason) for error in fed.errors] == [
        ("plugin", "track.py:4 ValueError: no more")
    ]
    assert (fed.underruns, fed.underrun_s, fed.ended_by) == (0, 0.0, "source")
    assert (own.accounting.succeeded, own.accounting.requests, own.unit, own.work.done) == (3, 6, "hits", 15)
    samples = pq.read_table(tmp_path / "samples.parquet").to_pylist()
    scheduled = [sample for sample in samples if sample["task"] == "own"]
    # The first offset is 0, which means at once: it was due when that was heard.
    assert 0 < scheduled[0]["due_ns"] <= scheduled[0]["sent_ns"]
    assert [sample["due_ns"] for sample in scheduled[1:]] == [round(offset * 1e9) for offset in OFFSETS_S[1:]]
    units = {sample["unit"] for sample in samples if sample["task"] == "own"}
    assert units == {"hits"}
    assert [event[0] for event in player.heard].count("ended") == 2


def test_a_plan_without_python_has_no_lane(port: int, tmp_path: Path) -> None:
    driver = _core.Driver(
        plan(port, planned("native", CallSequence((Request("POST", "/"),)), Unpaced())), tmp_path
    )
    assert driver.lane() is None
    driver.stop(True)
    results(driver)
