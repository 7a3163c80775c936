"""Commands of Pacenote as child processes: their output, their end, and the end of their parent."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildCall, child_environment, run_children
from pacenote.store.file_lock import is_file_shared
from support.engine import engine_document
from support.http_server import http_server, json_response

pytestmark = pytest.mark.process

DEADLINE_S = 30.0


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))


@pytest.fixture
def race(tmp_path):
    """The arguments of a race that lasts until it is stopped."""
    folder = tmp_path / "track"
    folder.mkdir()
    operation = {"operation-type": "raw-request", "path": "/"}
    task = {"name": "read", "operation": operation, "time-period": 600, "target-throughput": 10}
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    with http_server(lambda request: json_response(engine_document(request.target))) as server:
        yield (
            "race",
            f"--track-path={folder}",
            f"--target-hosts={server.address}",
            "--pipeline=benchmark-only",
            "--client-options=basic_auth_user:'u',basic_auth_password:'hidden-from-all'",
        )


def call(tmp_path, *arguments, name="log", lock=None, gate=None):
    return ChildCall(arguments, tmp_path / name, tmp_path, lock, gate)


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children_of(pid):
    """Returns the ids of the processes that a process has started."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_running(pid):
    """Returns whether a process runs; one that has ended may wait for being reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_commands_run_at_the_same_time_and_return_their_output(tmp_path):
    shown = []
    lock = tmp_path / "lock"
    calls = [
        call(tmp_path, "--version", lock=lock),
        call(tmp_path, "lst" + 400 * "t", name="log2", lock=lock),
    ]
    first, second = run_children(calls, [shown.append, shown.append])
    assert (first.code, first.error, first.stopped) == (0, "", False)
    assert first.output.startswith(b"pacenote ")
    assert second.code == 2
    assert second.error.startswith("unknown command 'lstt")
    # The hint is not cut off: it says what to do.
    assert second.error.endswith(")")
    assert (tmp_path / "log2").read_text().startswith("error: unknown command 'lstt")
    assert not is_file_shared(lock)


def test_races_with_one_gate_begin_their_first_tasks_together(tmp_path):
    requests = []

    def respond(request):
        requests.append(request.target)
        return json_response(engine_document(request.target))

    (tmp_path / "track").mkdir()
    operation = {"operation-type": "raw-request", "path": "{{ path }}"}
    task = {"name": "read", "operation": operation, "iterations": 300}
    (tmp_path / "track/track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    with http_server(respond) as server:
        arguments = (
            "race",
            "--track-path=track",
            f"--target-hosts={server.address}",
            "--pipeline=benchmark-only",
        )
        calls = [
            call(
                tmp_path,
                *arguments,
                f"--track-params=path:/{name}",
                f"--cooldown={wait}s",
                name=name,
                gate=tmp_path / "gate",
            )
            for name, wait in (("early", 0), ("late", 2))
        ]
        assert [end.code for end in run_children(calls, [print, print])] == [0, 0]
    last = len(requests) - requests[::-1].index("/early")
    assert requests.index("/late") < last


def test_a_folder_that_is_gone_stops_those_that_were_started(tmp_path):
    calls = [call(tmp_path, "--version"), ChildCall(("--version",), tmp_path / "log2", tmp_path / "gone")]
    before = children_of(os.getpid())
    with pytest.raises(StoreError, match="gone is gone"):
        run_children(calls, [print, print])
    assert children_of(os.getpid()) == before


def test_a_signal_is_passed_on_and_the_race_ends(tmp_path, race):
    shown = []

    def stop():
        wait_for(lambda: any("read" in text for text in shown))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop).start()
    (end,) = run_children([call(tmp_path, *race)], [shown.append])
    assert (end.code, end.stopped) == (130, True)


def test_a_race_ends_with_its_parent_and_hides_its_arguments(tmp_path, race):
    lock = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from pacenote.lab.child_command import *;"
        "folder = Path(sys.argv[1]);"
        "run_children([ChildCall(sys.argv[2:], folder / 'log', folder, folder / 'lock')], [print])"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), *race], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline()
    (child,) = children_of(parent.pid)
    assert b"hidden" not in Path(f"/proc/{child}/cmdline").read_bytes()
    assert is_file_shared(lock)
    parent.kill()
    parent.communicate()
    wait_for(lambda: not is_file_shared(lock))
    wait_for(lambda: not is_running(child))


def test_relative_homes_stay_those_of_the_parent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PACENOTE_HOME", "own")
    monkeypatch.setenv("RALLY_HOME", "rally")
    child = child_environment()
    assert (child["PACENOTE_HOME"], child["RALLY_HOME"]) == (str(tmp_path / "own"), str(tmp_path / "rally"))
    monkeypatch.delenv("RALLY_HOME")
    assert "RALLY_HOME" not in child_environment()


@pytest.mark.parametrize("has_log", [False, True])
def test_no_log_is_written_through_a_link(tmp_path, has_log):
    """The folder of an experiment may have been with someone else."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").symlink_to("elsewhere")
    log = tmp_path / "elsewhere" / "a-001.log"
    if has_log:
        log.write_text("of the user")
    with pytest.raises(StoreError, match=r"cannot create .*logs/a-001\.log"):
        run_children([ChildCall(("--version",), tmp_path / "logs" / log.name, tmp_path)], [print])
    assert (log.read_text() if log.exists() else None) == ("of the user" if has_log else None)
