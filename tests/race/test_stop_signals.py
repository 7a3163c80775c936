"""The signals that stop a race, in each of its phases."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
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

from pacenote.race import stop_signals
from pacenote.race.stop_signals import StopRequests, interrupting, postponed
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

DEADLINE_S = 60.0
"""Seconds after which a process that does not end fails the test."""


@pytest.fixture(autouse=True)
def stop_signals_are_not_ignored() -> Iterator[None]:
    """Lets races receive SIGINT and SIGHUP even if this process ignores them, as with `nohup`."""
    ignored = [number for number in stop_signals.STOP_SIGNALS if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def test_the_first_signal_lets_requests_finish_and_the_second_drops_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[bool] = []
    stops = StopRequests(stopped.append)
    with stops.handled():
        stops.enforce()
        assert (stops.requested, stopped, list(stops.new_messages())) == (False, [], [])
        signal.raise_signal(signal.SIGTERM)
        assert (stops.requested, stopped) == (True, [False])
        (first,) = stops.new_messages()
        assert first.startswith("stopping: ")
        stops.enforce()
        assert stopped == [False]
        signal.raise_signal(signal.SIGINT)
        assert stopped == [False, True]
        (second,) = stops.new_messages()
        assert second.startswith("dropping ")
        monkeypatch.setattr(stop_signals, "SHUTDOWN_TIMEOUT_S", -1.0)
        stops.enforce()
        assert stopped == [False, True, True]


HANGING_MAIN_THREAD = """
import os, signal, threading
from pacenote.race import stop_signals
from pacenote.race.stop_signals import StopRequests, exit_at_third

open_descriptor, opened = stop_signals.SignalDescriptor, []

def open_second(numbers):
    opened.append(numbers)
    if len(opened) == 1:
        raise OSError("too many open files")
    return open_descriptor(numbers)

stop_signals.SignalDescriptor = open_second

stopped = threading.Semaphore(0)
stops = []

def stop(drop):
    stops.append(drop)
    stopped.release()

requests = StopRequests(stop)
with exit_at_third(print), requests.handled(), requests.handled():
    # A thread that hangs on a disk receives no signals either.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped.acquire(timeout=60)
    print(stops, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    stopped.acquire(timeout=60)
    threading.Event().wait(60)
"""


@pytest.mark.process
def test_signals_stop_the_driver_although_the_main_thread_hangs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGING_MAIN_THREAD], capture_output=True, text=True, timeout=DEADLINE_S * 2
    )
    assert done.stdout.startswith("[False, True]\nstopped at once"), done
    assert done.returncode == 130


def test_a_postponed_signal_interrupts_after_the_block() -> None:
    done: list[str] = []

    def work() -> None:
        with interrupting(), postponed():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    with interrupting(), postponed():
        pass


def test_handlers_are_restored_after_a_block() -> None:
    before = [signal.getsignal(number) for number in stop_signals.STOP_SIGNALS]
    with interrupting():
        # SIGHUP may be ignored, as under nohup.
        assert signal.getsignal(signal.SIGTERM) == signal.default_int_handler
    assert [signal.getsignal(number) for number in stop_signals.STOP_SIGNALS] == before


class Phase:
    """Answers like an engine, until a request for `/hang`, which it does not answer before `release`."""

    def __init__(self, hangs: Callable[[HttpRequest], bool]) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()
        self._hangs = hangs

    def respond(self, request: HttpRequest) -> HttpResponse:
        if self._hangs(request):
            self.reached.set()
            self.released.wait(DEADLINE_S)
        return json_response(engine_document(request.target))


@contextmanager
def racing(
    folder: Path,
    address: str,
    *,
    prefix: tuple[str, ...] = (),
    python: str = "",
    stdout: int = subprocess.PIPE,
) -> Iterator[subprocess.Popen[str]]:
    """Starts a race that downloads a file, indexes it and ends; `python` is the code of the track."""
    track = folder / "track"
    track.mkdir()
    if python:
        (track / "track.py").write_text(python)
    schedule = [{"name": "t", "operation": {"operation-type": "raw-request", "path": "/race"}}]
    document: dict[str, Any] = {"version": 2, "schedule": schedule}
    if folder.name == "download":
        documents = [{"source-file": "d.json.gz", "document-count": 1, "target-index": "i"}]
        document["indices"] = [{"name": "i"}]
        document["corpora"] = [{"name": "c", "base-url": f"http://{address}/data", "documents": documents}]
        schedule.append({"name": "b", "operation": {"operation-type": "bulk", "bulk-size": 1}})
    (track / "track.json").write_text(json.dumps(document))
    command = [*prefix, sys.executable, "-m", "pacenote", "race", f"--track-path={track}", "--race-id=r"]
    command += [f"--target-hosts={address}", "--corpus=declared"]
    with subprocess.Popen(
        command,
        env={**os.environ, "PACENOTE_HOME": str(folder / "home"), "TRACK_READY": str(folder / "ready")},
        text=True,
        stdout=stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


HANGS_IN = {
    "cluster": lambda request: request.target == "/",
    "download": lambda request: request.path == "/data/d.json.gz",
    "telemetry": lambda request: "_stats" in request.target,
    "race": lambda request: request.path == "/race",
}
"""The phases of a race, each with its request that is not answered."""

PHASES_AND_SIGNALS = [
    *(("race", number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ("cluster", signal.SIGHUP),
    ("download", signal.SIGTERM),
    ("telemetry", signal.SIGINT),
]


def test_a_signal_is_sent_in_every_phase() -> None:
    assert {phase for phase, _ in PHASES_AND_SIGNALS} == HANGS_IN.keys()


@pytest.mark.process
@pytest.mark.parametrize(("phase", "number"), PHASES_AND_SIGNALS)
def test_a_signal_ends_a_race_in_each_phase(phase: str, number: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / phase
    folder.mkdir()
    engine = Phase(HANGS_IN[phase])
    with http_server(engine.respond) as server, racing(folder, server.address) as process:
        wait_until(process, engine.reached.is_set)
        process.send_signal(number)
        _, err = process.communicate(timeout=DEADLINE_S)
        engine.released.set()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    # Only a race whose data was prepared is stored.
    stored = phase in ("telemetry", "race")
    assert (folder / "home" / "races" / "r").exists() is stored
    if stored:
        record = RaceStore(folder / "home").load("r")
        assert (record.interrupted, record.complete) == (True, False)
        assert record.verdict.state == "void"


@pytest.mark.process
def test_a_signal_ends_a_race_while_data_is_unpacked(tmp_path: Path) -> None:
    folder = tmp_path / "download"
    data = folder / "home" / "corpora" / "c"
    data.mkdir(parents=True)
    # Unpacked, this takes much longer than the signal.
    (data / "d.json.gz").write_bytes(gzip.compress(b"{}\n" * (1 << 20)) * 200)
    with (
        http_server(Phase(lambda _: False).respond) as server,
        racing(folder, server.address) as process,
    ):
        assert process.stderr is not None
        assert any("unpacking" in line for line in process.stderr), "it was not unpacked"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, err
    assert not (data / "d.json").exists()


IN_BACKGROUND = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")
"""Starts a process as a shell without job control starts one with `&`: SIGINT is ignored."""


@pytest.mark.process
@pytest.mark.parametrize(
    ("prefix", "number"),
    [((), signal.SIGINT), (IN_BACKGROUND, signal.SIGINT), ((), signal.SIGTERM)],
    ids=["Ctrl-C", "Ctrl-C in the background", "SIGTERM"],
)
def test_a_signal_while_the_report_is_printed_keeps_the_race(
    tmp_path: Path, prefix: tuple[str, ...], number: signal.Signals
) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b" " * 4096)
    with (
        http_server(Phase(lambda _: False).respond) as server,
        racing(tmp_path, server.address, prefix=prefix, stdout=writer) as process,
    ):
        race_json = tmp_path / "home" / "races" / "r" / "race.json"
        wait_until(process, lambda: race_json.exists() and json.loads(race_json.read_bytes())["complete"])
        wait_until(process, lambda: Path(f"/proc/{process.pid}/wchan").read_text().endswith("pipe_write"))
        process.send_signal(number)
        assert process.wait(DEADLINE_S) == 130
    os.close(reader)
    os.close(writer)
    record = RaceStore(tmp_path / "home").load("r")
    assert (record.complete, record.interrupted) == (True, False)
    assert record.verdict.state in ("valid", "suspect")


LOADING = """
import os
import time
from pathlib import Path

def wait():
    Path(os.environ["TRACK_READY"]).touch()
    time.sleep(600)
"""

PYTHON = {
    "import": f"{LOADING}\nwait()",
    "register": f"{LOADING}\ndef register(registry):\n    wait()",
    "own handler": f"{LOADING}\nimport signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "def register(registry):\n    pass\n",
}


@pytest.mark.process
@pytest.mark.parametrize("where", ["import", "register"])
def test_a_signal_ends_a_race_while_code_of_its_track_is_loaded(where: str, tmp_path: Path) -> None:
    with (
        http_server(Phase(lambda _: False).respond) as server,
        racing(tmp_path, server.address, python=PYTHON[where]) as process,
    ):
        wait_until(process, (tmp_path / "ready").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 130


@pytest.mark.process
def test_handlers_of_a_tracks_code_do_not_keep_a_race_from_stopping(tmp_path: Path) -> None:
    engine = Phase(HANGS_IN["telemetry"])
    with (
        http_server(engine.respond) as server,
        racing(tmp_path, server.address, python=PYTHON["own handler"]) as process,
    ):
        wait_until(process, engine.reached.is_set)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 130
        engine.released.set()


@pytest.mark.process
@pytest.mark.parametrize("python", ["", "def register(registry):\n    pass\n"], ids=["native", "python"])
def test_closing_the_terminal_does_not_stop_a_race_under_nohup(python: str, tmp_path: Path) -> None:
    engine = Phase(HANGS_IN["race"])
    with (
        http_server(engine.respond) as server,
        racing(tmp_path, server.address, prefix=("nohup",), python=python) as process,
    ):
        wait_until(process, engine.reached.is_set)
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
        engine.released.set()
        _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    record = RaceStore(tmp_path / "home").load("r")
    assert (record.interrupted, record.complete) == (False, True)


@pytest.mark.process
def test_blocked_signals_do_not_change_the_exit_code():
    program = """
import os, signal
from pacenote.race.stop_signals import block_signals, interrupting
with interrupting():
    block_signals()
    os.kill(os.getpid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGTERM)
raise SystemExit(7)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7
