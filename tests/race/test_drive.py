"""A plan is run by the real driver against a real server."""

from __future__ import annotations

import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pacenote.errors import DriverError
from pacenote.model.race_progress import RaceProgress
from pacenote.model.result import TaskResult
from pacenote.model.work import CallSequence, Request
from pacenote.plan.document import (
    ClientAllocation,
    DriverSettings,
    Iterations,
    OnError,
    Plan,
    PlannedTask,
    Step,
    Target,
    TargetHost,
    TaskAllocation,
    Unpaced,
)
from pacenote.race.drive import drive
from pacenote.race.stop_signals import STOP_SIGNALS, handled_signals
from pacenote.store.race_folder import RaceFolder
from support.http_server import HttpRequest, HttpResponse, http_server

pytestmark = pytest.mark.process


def slow(request: HttpRequest) -> HttpResponse:
    """Responds with an empty object after 5 ms."""
    time.sleep(0.005)
    return HttpResponse(body=b"{}")


@pytest.fixture
def port() -> Iterator[int]:
    with http_server(slow) as server:
        yield server.port


class Listener:
    """Records the calls it receives, and raises signals at the first progress report."""

    def __init__(self, *at_progress: signal.Signals) -> None:
        self.tasks: list[str] = []
        self.seen: list[RaceProgress] = []
        self.warnings: list[str] = []
        self._at_progress = at_progress

    def progress(self, progress: RaceProgress) -> None:
        self.seen.append(progress)
        for number in self._at_progress:
            signal.raise_signal(number)
        self._at_progress = ()

    def task_finished(self, result: TaskResult) -> None:
        self.tasks.append(result.task)

    def info(self, text: str) -> None:
        """Ignored: the driver reports no information."""

    def warning(self, text: str) -> None:
        self.warnings.append(text)


def plan(port: int, *iterations: int, parallel: bool = False) -> str:
    tasks = tuple(
        PlannedTask(
            name=f"task{number}",
            operation="op",
            operation_type="raw-request",
            clients=1,
            pacing=Unpaced(),
            bound=Iterations(0, count),
            ramp_up_s=0.0,
            unit="ops",
            tolerates_errors=False,
            work=CallSequence((Request("GET", "/"),)),
        )
        for number, count in enumerate(iterations)
    )
    steps = tuple(
        Step(task.name, (ClientAllocation(0, (TaskAllocation(number, 0),)),), None)
        for number, task in enumerate(tasks)
    )
    if parallel:
        slots = (ClientAllocation(number, (TaskAllocation(number, 0),)) for number in range(len(tasks)))
        steps = (Step("parallel", tuple(slots), None),)
    target = Target((TargetHost("http", "127.0.0.1", port),), (), 5_000)
    return Plan("r", 1, target, DriverSettings(1, OnError.CONTINUE), tasks, steps).to_json()


@pytest.fixture
def folder(tmp_path: Path) -> RaceFolder:
    return RaceFolder(tmp_path)


def test_results_are_reported_and_stored_when_tasks_end(port: int, folder: RaceFolder) -> None:
    listener = Listener()
    driven = drive(plan(port, 3, 4), folder, None, listener)
    assert [(result.task, result.accounting.succeeded) for result in driven.tasks] == [
        ("task0", 3),
        ("task1", 4),
    ]
    assert listener.tasks == ["task0", "task1"]
    assert len(folder.journal.read_text().splitlines()) == 2
    assert driven.completed
    assert driven.summary["samples"] == 7
    assert folder.samples.exists()
    assert folder.series.exists()


def test_results_of_parallel_tasks_are_in_the_order_of_the_plan(port: int, folder: RaceFolder) -> None:
    listener = Listener()
    driven = drive(plan(port, 8, 1, parallel=True), folder, None, listener)
    assert listener.tasks == ["task1", "task0"]
    assert [result.task for result in driven.tasks] == ["task0", "task1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_or_closing_the_terminal_stops_the_race_and_keeps_the_results(
    port: int, folder: RaceFolder, number: signal.Signals
) -> None:
    listener = Listener(number)
    # SIGHUP is ignored when the tests run under nohup.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        driven = drive(plan(port, 10_000_000), folder, None, listener)
    finally:
        signal.signal(number, before)
    assert (driven.interrupted, driven.aborted, driven.completed) == (True, "", False)
    (result,) = driven.tasks
    assert result.ended_by == "stopped"
    assert result.accounting.operations == driven.summary["samples"] > 0
    assert listener.warnings == ["stopping: pending requests may finish; press Ctrl-C again to drop them"]


def test_a_second_sigterm_drops_pending_requests(folder: RaceFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        listener = Listener(signal.SIGTERM, signal.SIGTERM)
        driven = drive(plan(silent.getsockname()[1], 10_000_000), folder, None, listener)
    assert driven.interrupted
    (result,) = driven.tasks
    assert (result.ended_by, result.accounting.unanswered, result.accounting.failed) == ("stopped", 1, 0)


def test_an_ignored_sighup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert handled_signals() == (signal.SIGINT, signal.SIGTERM)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert handled_signals() == STOP_SIGNALS
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def full_disk() -> Iterator[None]:
    """Limits every file that this process writes to 1 KiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_the_race_and_every_finished_task_is_reported(port: int, folder: RaceFolder) -> None:
    # Only the core's files reach the limit, because Python's journal of task results is not written.
    folder.append = lambda result: None  # type: ignore[method-assign]
    with full_disk():
        # The core records the end of each task until its buffers are full as well.
        driven = drive(plan(port, *[1] * 40, 10_000_000), folder, None, Listener())
    assert driven.error.startswith(f"cannot record to {folder.path}")
    assert "File too large" in driven.error
    assert driven.aborted == driven.error
    ended = [result.task for result in driven.tasks if result.accounting.succeeded == 1]
    assert ended == [f"task{number}" for number in range(len(ended))]
    assert 0 < len(ended) < 40


def test_ctrl_c_at_any_moment_loses_no_result(port: int, folder: RaceFolder) -> None:
    # The race takes about 40 ms; the delays interrupt it before, at and after its end.
    for delay_ms in range(0, 84, 12):
        struck = threading.Timer(delay_ms / 1000, signal.raise_signal, (signal.SIGINT,))
        before = signal.signal(signal.SIGINT, lambda *_: None)
        struck.start()
        driven = drive(plan(port, 3, 3), folder, None, Listener())
        struck.join()
        signal.signal(signal.SIGINT, before)
        recorded = sum(result.accounting.operations for result in driven.tasks)
        assert recorded == driven.summary["samples"], f"interrupted after {delay_ms} ms"


def test_a_dead_engine_ends_the_race(port: int, folder: RaceFolder) -> None:
    driven = drive(plan(port, 10_000_000), folder, lambda: "node n died: exit code 3", Listener())
    assert (driven.aborted, driven.error) == ("node n died: exit code 3", "node n died: exit code 3")


def test_a_plan_that_the_core_rejects_is_a_driver_error(port: int, folder: RaceFolder) -> None:
    wrong = plan(port, 1).replace('"http"', '"https"').replace('"ca_file":null', '"ca_file":"/nowhere"')
    with pytest.raises(DriverError, match=r"^/nowhere: No such file"):
        drive(wrong, folder, None, Listener())


def test_a_refused_connection_is_reported_in_one_line(folder: RaceFolder) -> None:
    driven = drive(plan(1, 5), folder, None, Listener())
    assert driven.error == driven.aborted
    assert driven.error.startswith("cannot connect to 127.0.0.1:1: Connection refused")
    assert driven.tasks == ()
