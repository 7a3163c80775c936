"""Races whose Python code does not let their process go on, and terminals that are closed: real processes."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pacenote
from plugins.tracks import write_track
from python_tasks.racing import serving, start_race, stored_race

pytestmark = pytest.mark.process

HINT = "hint: finished tasks, per-second statistics and all but the last samples are kept: pacenote report r"

TRACK = """
    import asyncio
    import ctypes
    import os
    import signal
    from pathlib import Path

    JOURNAL = Path(__file__).parents[1] / "home/races/r/tasks.jsonl"

    async def nothing(es, params):
        pass

    async def stored():
        # Waits until the result of the previous task is stored.
        while not (JOURNAL.exists() and JOURNAL.read_bytes().endswith(b"\\n")):
            await asyncio.sleep(0.01)

    async def holds(es, params):
        await stored()
        # Native code that is called with the interpreter lock.
        ctypes.PyDLL(None).sleep(600)

    async def holds_twice(es, params):
        ctypes.PyDLL(None).usleep(1_500_000)
        # Shows a sign of life between them.
        await asyncio.sleep(0.2)
        ctypes.PyDLL(None).sleep(600)

    async def closes(es, params):
        await stored()
        os.closerange(3, 200)

    async def stops(es, params):
        os.kill(os.getpid(), signal.SIGSTOP)

    def register(registry):
        for one in (nothing, holds, holds_twice, closes, stops):
            registry.register_runner(one.__name__, one, async_runner=True)
    """

HOLDING_LINE, SECOND_HOLDING_LINE = (
    number
    for number, line in enumerate(TRACK.split("\n"), start=1)
    if line == "        ctypes.PyDLL(None).sleep(600)"
)

IMPATIENT = """
import sys

from pacenote.race import heartbeat

heartbeat.INTERVAL_S = 0.02
heartbeat.REPORTED_AFTER_S, heartbeat.ENDED_AFTER_SIGNAL_S, heartbeat.ENDED_AFTER_S = {limits}

from pacenote.cli.main import main

sys.exit(main())
"""


@contextmanager
def racing(
    folder: Path, operation: str, limits: tuple[float, float, float]
) -> Iterator[subprocess.Popen[str]]:
    """Starts a race of `nothing` and this operation with other limits of silence."""
    schedule = [{"operation": name} for name in ("nothing", operation)]
    root = write_track(folder, {"track.py": TRACK}, {"schedule": schedule})
    environment = os.environ | {
        "PACENOTE_HOME": str(folder / "home"),
        "PYTHONPATH": str(Path(pacenote.__file__).parents[1]),
    }
    with serving() as server:
        options = (f"--track-path={root}", f"--target-hosts={server.address}", "--race-id=r", "--quiet")
        command = [sys.executable, "-c", IMPATIENT.format(limits=limits), "race", *options]
        process = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        with process:
            try:
                yield process
            finally:
                process.kill()


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Returns the next line of standard error that contains a text."""
    assert process.stderr is not None
    return next(line for line in process.stderr if text in line)


def test_code_that_holds_the_interpreter_is_reported_and_ended(tmp_path):
    with racing(tmp_path, "holds", (0.5, 600, 1)) as process:
        warning = line_with(process, "interpreter lock")
        _, error = process.communicate(timeout=60)
    place = f"at track.py:{HOLDING_LINE}"
    assert warning.startswith(
        f'warning: the Python code of track "tour" ({tmp_path}/tour/track.py) has held '
    )
    assert f"{place}: nothing else runs until it returns, and the race ends after 1 s" in warning
    lines = error.splitlines()
    assert lines[0].startswith("error: the race cannot go on: the Python code of track ")
    assert lines[1:] == [HINT]
    assert process.returncode == 64
    record = stored_race(tmp_path)
    assert ([task.task for task in record.tasks], record.verdict.state) == (["nothing"], "void")
    assert record.aborted.endswith(place)


def test_code_that_holds_the_interpreter_is_ended_by_a_signal(tmp_path):
    with racing(tmp_path, "holds", (0.5, 0.5, 600)) as process:
        line_with(process, "press Ctrl-C to end it now")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert error.startswith("error: interrupted while the Python code of track ")
    assert process.returncode == 130
    record = stored_race(tmp_path)
    assert ([task.task for task in record.tasks], record.verdict.reasons) == (["nothing"], ("interrupted",))


def test_the_place_in_the_error_is_that_of_the_last_silence(tmp_path):
    with racing(tmp_path, "holds_twice", (1.0, 600, 2)) as process:
        warning = line_with(process, "interpreter lock")
        _, error = process.communicate(timeout=60)
    assert f"at track.py:{SECOND_HOLDING_LINE - 3}: nothing else runs until it returns" in warning
    assert error.splitlines()[0].endswith(f"at track.py:{SECOND_HOLDING_LINE}")


def test_a_process_that_is_stopped_is_reported_and_not_ended(tmp_path):
    with racing(tmp_path, "stops", (0.5, 600, 2)) as process:
        warning = line_with(process, "was stopped by SIGSTOP: continue it with `kill -CONT ")
        time.sleep(2.5)  # Longer than a process may be silent that runs.
        os.kill(int(warning.split("`")[1].split()[2]), signal.SIGCONT)
        _, error = process.communicate(timeout=60)
    assert "cannot go on" not in error
    assert [task.task for task in stored_race(tmp_path).tasks] == ["nothing", "stops"]


def test_code_that_closes_descriptors_of_the_driver_ends_the_race(tmp_path):
    schedule = [{"operation": "nothing"}, {"operation": "closes"}]
    with serving() as server, start_race(tmp_path, TRACK, schedule, server.address) as process:
        try:
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 64
    assert error.count("error: the driver cannot go on: ") == 1
    assert error.count("Traceback") == 0
    assert "was killed by SIGABRT with the process that runs it" in error
    assert [task.task for task in stored_race(tmp_path).tasks] == ["nothing"]


LEADER = """
import os
import signal
import sys
import time
from pathlib import Path

from pacenote.race.supervisor import supervised

received = []
signal.signal(signal.SIGHUP, lambda number, _: received.append(number))
file = Path(sys.argv[1])
with supervised("tour", Path("track.py"), print):
    file.write_text("ready")
    while not received:
        time.sleep(0.01)
    time.sleep(0.5)
    file.write_text(f"received {len(received)}")
"""


def test_the_leader_of_a_session_whose_terminal_is_closed_passes_that_on_once(tmp_path):
    file = tmp_path / "state"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", LEADER, str(file)])
    try:
        wait_for(file, "ready")
        os.close(terminal)
        wait_for(file, "received")
        assert file.read_text() == "received 1"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def wait_for(file: Path, text: str) -> None:
    """Waits until a file begins with a text."""
    deadline = time.monotonic() + 20
    while not (file.exists() and file.read_text().startswith(text)):
        assert time.monotonic() < deadline, f"{file} does not begin with {text!r}"
        time.sleep(0.01)


INTERRUPTED = """
import os
import signal
import time
from pathlib import Path

from pacenote.race.supervisor import supervised

signal.signal(signal.SIGINT, lambda *_: os._exit(130))
with supervised("tour", Path("track.py"), print):
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_copy_that_a_signal_ends_at_once_is_interrupted():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert (process.communicate(timeout=60), process.returncode) == (("", ""), 130)
