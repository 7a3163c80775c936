"""The bridge between the driver and Python, tested through the built module and real sockets."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_never

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from pacenote import _core
from pacenote.model.result import TaskResult
from pacenote.model.work import (
    CallSequence,
    CheckCondition,
    Composite,
    PythonRunner,
    PythonSource,
    Request,
    SubOperation,
    SuppliedBulk,
    TaskWork,
    document_data,
)
from pacenote.plan.document import (
    ClientAllocation,
    DriverSettings,
    Iterations,
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
from pacenote.python_tasks.messages import BridgeEvent
from support.engine import SUCCESS
from support.http_server import HttpRequest, HttpResponse, http_server

SOURCE = _core.ClientId(0, 0)
RUNNER = _core.ClientId(1, 0)
OFFSETS_S = (0.0, 0.0125, 0.02)


def echo(request: HttpRequest) -> HttpResponse:
    """Responds with the path and the length of the request."""
    document = {**SUCCESS, "path": request.target, "length": len(request.body)}
    return HttpResponse(200, json.dumps(document).encode(), (("X-Elastic-Product", "Elasticsearch"),))


@pytest.fixture
def port() -> Iterator[int]:
    with http_server(echo) as server:
        yield server.port


def planned(name: str, work: TaskWork, pacing: TaskPacing) -> PlannedTask:
    return PlannedTask(name, "op", "own-type", 1, pacing, TimePeriod(0.0, None), 0.0, "ops", False, work)


def plan(port: int, *tasks: PlannedTask) -> str:
    """Returns a plan that runs all tasks in parallel."""
    rows = tuple(ClientAllocation(number, (TaskAllocation(number, 0),)) for number in range(len(tasks)))
    target = Target((TargetHost("http", "127.0.0.1", port),), (), 5_000)
    settings = DriverSettings(1, OnError.CONTINUE)
    return Plan("r", 1, target, settings, tasks, (Step("all", rows, None),)).to_json()


def text(operation: CallSequence | SuppliedBulk) -> str:
    return json.dumps(document_data(operation))


class FakeEventLoop:
    """Reads and answers events, in place of the asyncio loop."""

    def __init__(self, bridge: _core.PythonBridge) -> None:
        self.bridge = bridge
        self.received: list[BridgeEvent] = []
        self._query_id = 0
        self._offsets = [*OFFSETS_S, None]

    def play(self) -> None:
        # `select` would fail in a process with many open files.
        poll = select.poll()
        poll.register(self.bridge.fileno(), select.POLLIN)
        while not self.received or not isinstance(self.received[-1], _core.RaceEnded):
            assert poll.poll(10_000), self.received
            for event in self.bridge.events():
                self.received.append(event)
                self.on_event(event)

    def on_event(self, event: BridgeEvent) -> None:
        match event:
            case _core.PrepareStep():
                self.prepare(event.step)
            case _core.ScheduleNext():
                assert event.client == RUNNER
                self.bridge.schedule(event.query_id, self._offsets.pop(0))
            case _core.RunOperation():
                self.run(event)
            case _core.ResponseReceived():
                self.execute(event)
            case _core.OperationExecuted():
                assert (event.success, event.weight, event.status) == (True, 5, 200)
                assert (event.took_ms, event.failure) == (None, None)
                self.bridge.complete(self._query_id, _core.RunnerResult(5, 0, "hits", False, None))
            case _core.ClientEnded():
                assert self.bridge.free_slots(event.client) == 0
            case _core.StepEnded():
                assert event.step == 0
            case _core.RaceEnded():
                request = _core.RunnerRequest("GET", "/", [], None, None)
                with pytest.raises(_core.CoreError, match="the race is over"):
                    self.bridge.request(None, "default", request)
            case _core.RequestFailed() | _core.OperationEnded() | _core.CountUnsent():
                raise AssertionError(event)
            case _:
                assert_never(event)

    def prepare(self, step: int) -> None:
        bulk = SuppliedBulk("/_bulk", (("content-type", "application/x-ndjson"),), 3, None)
        assert self.bridge.free_slots(SOURCE) == 4
        assert self.bridge.enqueue(SOURCE, text(bulk), b"{}\n" * 6)
        assert self.bridge.enqueue(SOURCE, text(CallSequence((Request("POST", "/queued"),))), None)
        with pytest.raises(_core.CoreError, match="task queued: unknown variant `tea`"):
            self.bridge.enqueue(SOURCE, '{"kind": "tea"}', None)
        self.bridge.finish(SOURCE, "track.py:4 ValueError: no more")
        self.bridge.prepared(step, None)

    def run(self, event: _core.RunOperation) -> None:
        assert (event.client, event.measured) == (RUNNER, True)
        self._query_id = event.query_id
        headers = [("content-type", "application/json"), ("connection", "keep-alive")]
        request = _core.RunnerRequest("POST", "/own?q=1", headers, b"{}", 2.5)
        with pytest.raises(_core.CoreError, match="there is no cluster"):
            self.bridge.request(event.query_id, "elsewhere", request)
        self.bridge.request(event.query_id, "default", request)

    def execute(self, event: _core.ResponseReceived) -> None:
        assert event.status == 200
        assert ("X-Elastic-Product", "Elasticsearch") in event.headers
        assert json.loads(event.body) == {**SUCCESS, "path": "/own?q=1", "length": 2}
        operation = text(CallSequence((Request("POST", "/native", weight=5),)))
        self.bridge.execute(self._query_id, "default", operation, None)


def results(driver: _core.Driver) -> dict[str, TaskResult]:
    return {name: TaskResult.from_document(document) for name, document in documents(driver).items()}


def documents(driver: _core.Driver) -> dict[str, dict[str, Any]]:
    """Returns the results as the driver writes them, by task."""
    by_task: dict[str, dict[str, Any]] = {}
    while True:
        for event in driver.wait(1.0):
            if isinstance(event, _core.RaceFinished):
                assert json.loads(event.summary)["error"] is None
                return by_task
            result = json.loads(event.result)
            by_task[result["task"]] = result


def test_results_of_the_driver_have_exactly_the_fields_of_task_result(port: int, tmp_path: Path) -> None:
    get = Request("GET", "/")
    wrong = replace(get, check=CheckCondition("took", "2"))
    part = SubOperation("part", "raw-request", (get,))
    work = CallSequence((Composite((part,)), wrong))
    bound = Iterations(0, 3)
    tasks = [replace(planned("parts", work, Unpaced()), bound=bound)]
    tasks.append(replace(planned("plain", CallSequence((get,)), Unpaced()), bound=bound))
    by_task = documents(_core.Driver(plan(port, *tasks), tmp_path))
    assert by_task["parts"]["errors"]
    assert by_task["parts"]["parts"]
    assert by_task["plain"]["service_time"]
    for document in by_task.values():
        # Python adds what runners return, their delays and mistakes, and what schedulers could not count.
        read = TaskResult.from_document(document).to_document()
        assert json.loads(json.dumps(read)) == document | {
            "values": {},
            "reported_s": None,
            "python_delay": None,
            "scheduler_delay_s": 0.0,
            "unsent_is_least": False,
            "failed_sources": 0,
            "unfinished_requests": 0,
            "caught_failures": 0,
            "inconsistent_results": 0,
        }


def test_python_queues_schedules_and_runs_operations(port: int, tmp_path: Path) -> None:
    tasks = (planned("queued", PythonSource(4), Unpaced()), planned("own", PythonRunner(), PythonScheduler()))
    driver = _core.Driver(plan(port, *tasks), tmp_path)
    bridge = driver.bridge()
    assert bridge is not None
    player = FakeEventLoop(bridge)
    thread = threading.Thread(target=player.play)
    thread.start()
    done = results(driver)
    thread.join()

    queued, own = done["queued"], done["own"]
    assert (queued.accounting.succeeded, queued.accounting.failed, queued.work.done) == (2, 1, 4)
    assert [(error.error_class, error.reason) for error in queued.errors] == [
        ("plugin", "track.py:4 ValueError: no more")
    ]
    assert (queued.underruns, queued.underrun_s, queued.ended_by) == (0, 0.0, "source")
    assert (own.accounting.succeeded, own.accounting.requests, own.unit, own.work.done) == (3, 6, "hits", 15)
    samples = pq.read_table(tmp_path / "samples.parquet").to_pylist()
    scheduled = [sample for sample in samples if sample["task"] == "own"]
    # The first offset is 0, which means immediately: the operation is due when the driver receives it.
    assert 0 < scheduled[0]["due_ns"] <= scheduled[0]["sent_ns"]
    assert [sample["due_ns"] for sample in scheduled[1:]] == [round(offset * 1e9) for offset in OFFSETS_S[1:]]
    units = {sample["unit"] for sample in samples if sample["task"] == "own"}
    assert units == {"hits"}
    assert sum(isinstance(event, _core.ClientEnded) for event in player.received) == 2


def test_a_plan_without_python_has_no_bridge(port: int, tmp_path: Path) -> None:
    driver = _core.Driver(
        plan(port, planned("native", CallSequence((Request("POST", "/"),)), Unpaced())), tmp_path
    )
    assert driver.bridge() is None
    driver.stop(True)
    results(driver)


def test_clients_are_equal_by_task_and_index() -> None:
    assert _core.ClientId(task=1, client=0) == RUNNER
    assert {RUNNER, SOURCE, _core.ClientId(1, 0)} == {SOURCE, RUNNER}
    assert repr(RUNNER) == "ClientId(task=1, client=0)"


def test_invalid_values_are_rejected_with_an_error_message() -> None:
    with pytest.raises(_core.CoreError, match='there is no error class "bad luck"'):
        _core.RunnerFailure("bad luck", "", "")
    with pytest.raises(_core.CoreError, match="-1 s: "):
        _core.RunnerRequest("GET", "/", [], None, -1.0)
