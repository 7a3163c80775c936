"""Races of a separate process that is stopped, paused, limited or hangs."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pacenote.store.race_store import RaceStore
from support.engine import OPENSEARCH, engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response
from support.records import bulk
from support.records import record as record_of

pytestmark = pytest.mark.process

DEADLINE_S = 60.0
"""Seconds after which a process that does not do what is expected fails the test."""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the race did not get there"
        time.sleep(0.01)


class Engine:
    """Responds like OpenSearch, counts the requests of the plan, and calls a function before its first reply
    about statistics, which the race requests just before the driver starts. It does not answer the request of
    the plan with the number `held` before `released`.
    """

    def __init__(self, before_statistics: Callable[[], None] = lambda: None, *, held: int = 0) -> None:
        self.planned = 0
        self.released = threading.Event()
        self._held = held
        self._before_statistics = before_statistics

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.target == "/planned":
            self.planned += 1
            if self.planned == self._held:
                self.released.wait(DEADLINE_S)
            time.sleep(0.001)
            return json_response({})
        if "_stats" in request.target:
            self._before_statistics()
            self._before_statistics = lambda: None
        return json_response(engine_document(request.target, OPENSEARCH))


@contextmanager
def racing(
    tmp_path: Path, engine: Engine, *, plugin: bool | str = False, **task: Any
) -> Iterator[subprocess.Popen[str]]:
    """Starts a race of one task, whose folder is `home/races/r`. With `plugin`, the track has this or other
    Python code, and a copy of the process runs the race.
    """
    track = tmp_path / "tour"
    track.mkdir()
    if plugin:
        code = "def register(registry):\n    pass\n" if plugin is True else plugin
        (track / "track.py").write_text(code)
    operation = {"operation-type": "raw-request", "path": "/planned"}
    (track / "track.json").write_text(
        json.dumps({"version": 2, "schedule": [{"name": "t", "operation": operation, **task}]})
    )
    with http_server(engine.respond) as server:
        command = [sys.executable, "-m", "pacenote", "race", f"--track-path={track}", "--race-id=r"]
        command += [f"--target-hosts={server.address}", "--pipeline=benchmark-only"]
        environment = {**os.environ, "PACENOTE_HOME": str(tmp_path / "home")}
        process = subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def test_a_race_that_is_reported_while_it_runs_keeps_its_files(tmp_path: Path) -> None:
    engine, folder = Engine(), tmp_path / "home" / "races" / "r"
    with racing(tmp_path, engine, **{"time-period": 300, "warmup-time-period": 0}) as process:
        wait_until(lambda: engine.planned > 100)
        before = sorted(path.name for path in folder.iterdir())
        assert {".race.json.reserved", "samples.directory", "series.jsonl"} < set(before)
        inodes = [(folder / name).stat().st_ino for name in before]
        environment = {**os.environ, "PACENOTE_HOME": str(tmp_path / "home")}
        for command in (["report", "r"], ["list", "races"]):
            subprocess.run([sys.executable, "-m", "pacenote", *command], env=environment, check=True)
        assert [(folder / name).stat().st_ino for name in before] == inodes
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130
    record = RaceStore(tmp_path / "home").load("r")
    (task,) = record.tasks
    assert task.samples.kept == record.driver["samples"] == task.accounting.operations
    assert sorted(path.name for path in folder.iterdir()) == [
        "artifacts",
        "plan.json",
        "race.json",
        "report.html",
        "samples.parquet",
        "series.parquet",
        "snapshot.json",
        "telemetry.parquet",
    ]


def test_a_race_that_fails_leaves_the_race_of_another_process_with_its_id_alone(tmp_path: Path) -> None:
    started, created = tmp_path / "started", tmp_path / "created"
    code = f"""
import os, time
from pathlib import Path
def register(registry):
    Path({str(started)!r}).touch()
    while not Path({str(created)!r}).exists():
        time.sleep(0.01)
    os._exit(3)
"""
    with racing(tmp_path, Engine(), plugin=code) as process:
        wait_until(started.exists)
        folder = RaceStore(tmp_path / "home").create(record_of("r", tasks=(), complete=False))
        folder.append(bulk())
        created.touch()
        assert process.wait(DEADLINE_S) != 0
    stored = folder.read()
    assert (stored.tasks, stored.aborted) == ((bulk(),), "")
    assert folder.journal.exists()


@pytest.mark.parametrize(
    ("stopped_s", "reason"),
    [(1.0, "t: the driver did not run for 1"), (0.2, "t: the driver did not run for about ")],
)
def test_a_driver_that_was_stopped_makes_a_closed_loop_suspect(
    tmp_path: Path, stopped_s: float, reason: str
) -> None:
    engine = Engine(held=100)
    # The task lasts until the driver has gone on, and long enough to read the clock again.
    with racing(tmp_path, engine, iterations=600) as process:
        wait_until(lambda: engine.planned == 100)
        process.send_signal(signal.SIGSTOP)
        time.sleep(stopped_s)
        process.send_signal(signal.SIGCONT)
        engine.released.set()
        assert process.wait(DEADLINE_S) == 0
    record = RaceStore(tmp_path / "home").load("r")
    clock = record.driver["clock"]
    assert isinstance(clock, dict)
    # Up to 30 ms pass until the next reading would be due.
    assert clock["paused_s"] + clock["gaps_s"] >= stopped_s - 0.05
    assert record.verdict is not None
    assert record.verdict.state == "suspect"
    assert any(each.startswith(reason) for each in record.verdict.reasons), record.verdict.reasons


def test_short_stops_of_a_driver_add_up(tmp_path: Path) -> None:
    engine = Engine()
    with racing(tmp_path, engine, **{"time-period": 3, "warmup-time-period": 0}) as process:
        wait_until(lambda: engine.planned > 20)
        for _ in range(200):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.004)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.006)
        assert process.wait(DEADLINE_S) == 0
    record = RaceStore(tmp_path / "home").load("r")
    clock = record.driver["clock"]
    assert isinstance(clock, dict)
    assert sum(second["stopped"] for second in clock["paused"]) >= 5
    assert record.verdict is not None
    expected = "t: the driver did not run for about "
    assert any(each.startswith(expected) for each in record.verdict.reasons), record.verdict.reasons


@contextmanager
def control_group() -> Iterator[Callable[[int, float], None]]:
    """Creates a control group for CPU time, and removes it when its processes have ended; skips the test
    where that is not possible. Yields a function that moves a process into it and sets its share of a core.
    """
    mount = Path("/sys/fs/cgroup")
    is_version_1 = (mount / "cpu").is_dir()
    group = (mount / "cpu" if is_version_1 else mount) / f"pacenote-test-{os.getpid()}"

    def set_quota(core_share: float) -> None:
        quota_us = round(core_share * 100_000)
        if is_version_1:
            (group / "cpu.cfs_quota_us").write_text(f"{quota_us}")
        else:
            (group / "cpu.max").write_text(f"{quota_us} 100000")

    def limit(process: int, core_share: float) -> None:
        set_quota(core_share)
        (group / "cgroup.procs").write_text(str(process))

    try:
        group.mkdir()
        set_quota(os.cpu_count() or 1)
    except OSError as error:
        pytest.skip(f"a CPU quota cannot be set: {error}")
    try:
        yield limit
    finally:
        group.rmdir()


def test_a_driver_that_a_cpu_quota_stops_makes_a_race_suspect(tmp_path: Path) -> None:
    engine = Engine()
    task = {"time-period": 2, "warmup-time-period": 0, "clients": 8}
    with control_group() as limit, racing(tmp_path, engine, **task) as process:
        # Only the groups that the race is in when its driver starts are read.
        limit(process.pid, os.cpu_count() or 1)
        wait_until(lambda: engine.planned > 20)
        # So little that the driver needs more in each period, however slow the engine is on a busy machine.
        limit(process.pid, 0.02)
        time.sleep(1.5)
        limit(process.pid, os.cpu_count() or 1)
        assert process.wait(DEADLINE_S) == 0
    record = RaceStore(tmp_path / "home").load("r")
    throttling = record.driver["throttling"]
    assert isinstance(throttling, dict)
    assert throttling["periods"] > 5
    assert record.verdict is not None
    assert any(re.match("a CPU quota stopped .*the driver for", each) for each in record.verdict.reasons)


def is_blocked(process: subprocess.Popen[str]) -> bool:
    """Returns whether the main thread of the race stays in the same system call for half a second."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    path = Path(f"/proc/{children[0] if children else process.pid}/syscall")
    before = path.read_text()
    time.sleep(0.5)
    return before != "running\n" and path.read_text() == before


def send_three_signals(process: subprocess.Popen[str]) -> None:
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        # Signals that arrive at the same time count once.
        time.sleep(0.3)


@pytest.mark.parametrize("plugin", [False, True])
@pytest.mark.parametrize("file", ["series.jsonl", "samples.parquet"])
def test_a_third_ctrl_c_ends_a_race_that_hangs_in_opening_a_file(
    tmp_path: Path, file: str, plugin: bool
) -> None:
    created = threading.Event()

    def create_pipe() -> None:
        # Opening a named pipe that nobody reads waits for ever.
        os.mkfifo(tmp_path / "home" / "races" / "r" / file)
        created.set()

    with racing(tmp_path, Engine(create_pipe), plugin=plugin, iterations=10) as process:
        wait_until(created.is_set)
        wait_until(lambda: is_blocked(process))
        send_three_signals(process)
        assert process.wait(DEADLINE_S) == 130
        assert process.stderr is not None
        assert "error: stopped at once: " in process.stderr.read()


def test_a_third_ctrl_c_ends_a_race_that_hangs_in_writing_samples(tmp_path: Path) -> None:
    readers = []

    def create_full_pipe() -> None:
        path = tmp_path / "home" / "races" / "r" / "samples.parquet"
        os.mkfifo(path)
        # The pipe accepts one page, which nobody reads.
        readers.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        fcntl.fcntl(readers[0], fcntl.F_SETPIPE_SZ, 4096)

    with racing(tmp_path, Engine(create_full_pipe), iterations=2000) as process:
        assert process.stderr is not None
        # The result of the task comes before its samples are written.
        finished = next(line for line in process.stderr if line.startswith("t"))
        assert finished
        send_three_signals(process)
        assert process.wait(DEADLINE_S) == 130
        assert "error: stopped at once: " in process.stderr.read()
    os.close(readers[0])
