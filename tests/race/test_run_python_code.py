"""What a track's Python code does to the process does not change the race: real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.store.race_store import RaceStore
from plugins.tracks import write_track
from python_tasks.racing import serving

pytestmark = pytest.mark.process

TRACK = """
    import logging
    import os
    import signal
    import sys
    import threading
    import time

    def disturb():
        {code}

    async def runner(es, params):
        if {in_runner}:
            disturb()

    def register(registry):
        registry.register_runner("own", runner, async_runner=True)
        if not {in_runner}:
            disturb()
    """

NOISE = "; ".join((
    "print('noise of print')",
    "os.write(1, b'noise of a descriptor')",
    "os.system('echo noise of a process')",
    "os.chdir('/')",
    "logging.basicConfig(level='DEBUG')",
    "logging.warning('noise')",
    "threading.Thread(target=time.sleep, args=(600,)).start()",
))
"""Prints in each way, changes the folder, logs, and leaves a thread."""

IN_REGISTER = {
    "noise": f"{NOISE}; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "closes standard descriptors": "[os.close(number) for number in range(3)]",
    "replaces standard output": "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
}


def run_race(folder: Path, code: str, *, in_runner: bool) -> subprocess.CompletedProcess[str]:
    """Runs a race in a folder whose home and report file are relative paths."""
    schedule = [{"operation": {"name": "own", "operation-type": "own"}, "iterations": 3}]
    track = TRACK.format(code=code, in_runner=in_runner)
    root = write_track(folder, {"track.py": track}, {"schedule": schedule})
    command = [sys.executable, "-m", "pacenote", "race", f"--track-path={root}", "--race-id=r"]
    with serving() as server:
        return subprocess.run(
            [*command, f"--target-hosts={server.address}", "--report-format=json", "--report-file=report"],
            cwd=folder,
            env={**os.environ, "PACENOTE_HOME": "home"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


@pytest.mark.parametrize(
    ("code", "in_runner"),
    [
        *(pytest.param(code, False, id=f"register {name}") for name, code in IN_REGISTER.items()),
        pytest.param(NOISE, True, id="runner noise"),
    ],
)
def test_a_race_and_its_report_are_complete(code: str, in_runner: bool, tmp_path: Path) -> None:
    ended = run_race(tmp_path, code, in_runner=in_runner)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["verdict"]
    assert "noise" not in ended.stdout
    assert json.loads((tmp_path / "report").read_text())["verdict"]
    record = RaceStore(tmp_path / "home").load("r")
    assert record.complete
    assert record.tasks[0].accounting.succeeded == 3
    if "logging" in code:
        assert "warning: the track's code logged WARNING: root: noise\n" in ended.stderr
        log = (tmp_path / "home" / "races" / "r" / "artifacts" / "track.log").read_text()
        assert log.count(" root WARNING noise\n") == (3 if in_runner else 1)


@pytest.mark.parametrize("code", ["sys.exit(0)", "os._exit(0)"])
@pytest.mark.parametrize("in_runner", [False, True])
def test_an_exit_of_the_code_is_not_taken_for_success(code: str, in_runner: bool, tmp_path: Path) -> None:
    ended = run_race(tmp_path, code, in_runner=in_runner)
    assert ended.returncode != 0
    assert "track.py" in ended.stderr + ended.stdout
