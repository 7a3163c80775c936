"""Races whose Python code ends its process, leaves processes running or gets signals: real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from python_tasks.racing import Server, serving, start_race, stored_race

pytestmark = pytest.mark.process

HINT = (
    "hint: finished tasks, per-second statistics and all but the last samples are kept: "
    f"{sys.executable} -m pacenote report r"
)

TRACK = """
    import asyncio
    import ctypes
    import os
    import signal
    import subprocess
    import time
    from pathlib import Path

    PIDS = Path(__file__).with_name("pids")
    JOURNAL = Path(__file__).parents[1] / "home/races/r/tasks.jsonl"

    def note(pid):
        with PIDS.open("a") as file:
            file.write(f"{pid}\\n")

    async def nothing(es, params):
        pass

    async def stored():
        # Waits until the result of the previous task is stored.
        while not (JOURNAL.exists() and JOURNAL.read_bytes().endswith(b"\\n")):
            await asyncio.sleep(0.01)

    async def exits(es, params):
        await stored()
        # Ends the process without the interpreter, and claims success.
        ctypes.CDLL(None)._exit(0)

    async def leaves(es, params):
        note(subprocess.Popen(["sleep", "600"]).pid)
        subprocess.run(["sh", "-c", f"setsid sh -c 'echo $$ >> {PIDS}; exec sleep 600' & exit"])
        while len(PIDS.read_text().splitlines()) < 2:
            await asyncio.sleep(0.01)

    async def stubborn(es, params):
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            note(os.getpid())
            time.sleep(600)
        while len(PIDS.read_text().splitlines()) < 3:
            await asyncio.sleep(0.01)

    async def copied(es, params):
        os.fork()
        await es.info()

    async def killed(es, params):
        await leaves(es, params)
        await stored()
        os.kill(os.getpid(), signal.SIGKILL)

    async def orphaned(es, params):
        await leaves(es, params)
        note(os.getpid())
        os.kill(os.getppid(), signal.SIGKILL)
        await asyncio.sleep(1)

    async def slow(es, params):
        await es.perform_request("GET", "/slow")

    def register(registry):
        for one in (nothing, exits, leaves, stubborn, copied, killed, orphaned, slow):
            registry.register_runner(one.__name__, one, async_runner=True)
    """

EXITS_IN_REGISTER = """
    import os

    def register(registry):
        os._exit(3)
    """


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextmanager
def racing(
    folder: Path, *operations: str, track: str = TRACK
) -> Iterator[tuple[subprocess.Popen[str], Server]]:
    """Starts a race with these operations; the server's answer to `/slow` can be delayed and observed."""
    schedule = [{"operation": name} for name in operations or ("nothing",)]
    with serving() as server, start_race(folder, track, schedule, server.address, "--quiet") as process:
        try:
            yield process, server
        finally:
            process.kill()


def left_processes(folder: Path) -> list[int]:
    """Returns the processes that the track noted and that are still running."""
    pids = [int(line) for line in (folder / "tour" / "pids").read_text().splitlines()]
    assert len(pids) >= 2, "the track noted hardly any processes"
    return [pid for pid in pids if is_running(pid)]


def report(folder: Path) -> str:
    """Returns the report of the stored race, as the command prints it."""
    environment = os.environ | {"PACENOTE_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "pacenote", "report", "r"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_an_exit_in_register_names_the_file(tmp_path):
    with racing(tmp_path, track=EXITS_IN_REGISTER) as (process, _):
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error.splitlines()[1:]) == (
        64,
        [
            f'error: the Python code of track "tour" ({tmp_path}/tour/track.py) ended its process with '
            "exit code 3, as `os._exit` does"
        ],
    )


def test_an_exit_in_a_runner_is_an_error_and_keeps_what_was_measured(tmp_path):
    with racing(tmp_path, "nothing", "exits") as (process, _):
        output, error = process.communicate(timeout=60)
    text = f'the Python code of track "tour" ({tmp_path}/tour/track.py) ended its process with exit code 0, '
    lines = [f"error: {text}as `os._exit` does", HINT]
    assert (process.returncode, output, error.splitlines()[1:]) == (64, "", lines)
    record = stored_race(tmp_path)
    assert [task.task for task in record.tasks] == ["nothing"]
    assert (record.verdict.state, record.aborted) == ("void", f"{text}as `os._exit` does")
    assert "nothing" in report(tmp_path)


def test_processes_that_a_runner_leaves_end_with_the_race(tmp_path):
    with racing(tmp_path, "leaves", "stubborn", "copied") as (process, _):
        _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert left_processes(tmp_path) == []
    assert error.count("warning: the track's Python code left a process running: ") == 3
    # A copy of the process that returns from its runner does not run the race a second time.
    assert [task.task for task in stored_race(tmp_path).tasks] == ["leaves", "stubborn", "copied"]


def test_a_killed_race_is_readable_and_leaves_no_process(tmp_path):
    with racing(tmp_path, "nothing", "killed") as (process, _):
        _, error = process.communicate(timeout=60)
    assert process.returncode == 64
    assert "was killed by SIGKILL with the process that runs it" in error
    assert left_processes(tmp_path) == []
    assert "nothing" in report(tmp_path)


def test_a_race_whose_supervisor_is_killed_ends_and_leaves_no_process(tmp_path):
    with racing(tmp_path, "nothing", "orphaned") as (process, _):
        # The race keeps the standard streams open until it has ended.
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    record = stored_race(tmp_path)
    assert (record.interrupted, [task.task for task in record.tasks]) == (True, ["nothing", "orphaned"])
    assert left_processes(tmp_path) == []


def test_a_signal_to_the_supervisor_stops_the_race(tmp_path):
    ready, go_on = threading.Event(), threading.Event()

    def answer(line, _body):
        if "/slow" in line:
            ready.set()
            go_on.wait(30)

    with racing(tmp_path, "slow", "nothing") as (process, server):
        server.answer = answer
        assert ready.wait(30)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "stopping" not in process.stderr.readline():
            pass
        go_on.set()
        process.communicate(timeout=60)
    assert process.returncode == 130
    record = stored_race(tmp_path)
    (task,) = record.tasks
    assert (record.interrupted, task.accounting.succeeded, task.accounting.unanswered) == (True, 1, 0)


COUNTING = """
import signal
import time
from pathlib import Path

from pacenote.race.supervisor import supervised

received = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: received.append(number))
with supervised("tour", Path("track.py"), print):
    print("ready", flush=True)
    while signal.SIGTERM not in received:
        time.sleep(0.01)
    print(received.count(signal.SIGINT))
raise SystemExit(7)
"""


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["process", "group"])
def test_a_signal_reaches_the_copy_once(send: Callable[[int, int], None]):
    command = [sys.executable, "-c", COUNTING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        send(process.pid, signal.SIGINT)
        # Passed on after the first signal, because its number is higher.
        process.terminate()
        output, _ = process.communicate(timeout=60)
    assert (output, process.returncode) == ("1\n", 7)


def test_a_supervisor_that_is_stopped_and_continued_takes_that_for_no_signal():
    # The time for which it waits passes while it is stopped.
    quick = "from pacenote.race import heartbeat\n\nheartbeat.INTERVAL_S = 0.01\n"
    command = [sys.executable, "-c", quick + COUNTING]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(4):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
            # The supervisor waits for a receipt of what it passes on.
            time.sleep(0.25)
        process.terminate()
        output, error = process.communicate(timeout=60)
    assert (output, error, process.returncode) == ("0\n", "", 7)


STORING = """
import signal
import sys
import time
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.race.stop_signals import exit_at_third
from pacenote.race.supervisor import supervised

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler)
interrupted = 0
with exit_at_third(Console().error_at_exit), supervised("tour", Path("track.py"), print):
    print("ready", flush=True)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:
            interrupted += 1
            print("interrupted", flush=True)
            end = time.monotonic() + 1
raise SystemExit(7 + interrupted)
"""


def test_a_signal_that_follows_at_once_does_not_end_the_supervisor_early():
    command = [sys.executable, "-c", STORING, "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            process.terminate()
            # The supervisor passes the first one on meanwhile.
            time.sleep(0.05)
        output, error = process.communicate(timeout=60)
    assert (output, error, process.returncode) == ("interrupted\n" * 2, "", 9)


def test_the_end_of_a_copy_is_noticed_if_its_launcher_ignores_children():
    launcher = (
        f"import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv({sys.executable!r}, "
    )
    launcher += f"[{sys.executable!r}, '-c', {STORING!r}, '0'])"
    ended = subprocess.run([sys.executable, "-c", launcher], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("ready\n", "", 7)


def test_processes_that_ran_before_the_race_are_not_ended(tmp_path):
    pid_file = tmp_path / "pid"
    script = f'sleep 60 & echo $! >{pid_file}; exec "$@"'
    ended = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-c", STORING, "0"], stdout=subprocess.DEVNULL, timeout=60
    )
    assert ended.returncode == 7
    # It would have ended with the race.
    os.kill(int(pid_file.read_text()), signal.SIGKILL)


STUCK = """
import signal
import time
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.race.stop_signals import exit_at_third
from pacenote.errors import Interrupted
from pacenote.race.supervisor import supervised

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: print("signal", flush=True))
try:
    with exit_at_third(Console().error_at_exit), supervised("tour", Path("track.py"), print):
        print("ready", flush=True)
        while True:
            time.sleep(600)
except Interrupted as error:
    raise SystemExit(error.exit_code)
"""


def test_the_third_signal_kills_a_copy_that_does_not_end():
    command = [sys.executable, "-c", STUCK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "signal\n"
        process.send_signal(signal.SIGINT)
        assert (process.communicate(timeout=60)[0], process.returncode) == ("", 130)
