"""Commands that take a while show that they run, and end with the program."""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from pacenote.system import command
from pacenote.system.command import run_command
from pacenote.system.process import is_running, process_identity

pytestmark = pytest.mark.process


def test_a_long_command_is_shown_until_it_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "WAITING_INTERVAL_S", 0.02)
    ends = tmp_path / "ends"
    program = (
        "import sys, time, pathlib\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "print('x' * 100_000)\nsys.exit('no')"
    )
    shown = []

    def waiting():
        shown.append(1)
        if len(shown) == 3:
            ends.touch()

    result = run_command([sys.executable, "-c", program, str(ends)], os.environ, waiting)
    assert len(shown) >= 3
    assert (result.returncode, result.stdout, result.stderr) == (1, f"{'x' * 100_000}\n", "no\n")


def test_ctrl_c_ends_the_command(monkeypatch):
    monkeypatch.setattr(command, "WAITING_INTERVAL_S", 0.02)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_command([sys.executable, "-c", "import time; time.sleep(600)"], os.environ, interrupt)


def test_a_command_that_takes_too_long_is_killed(monkeypatch):
    monkeypatch.setattr(command, "WAITING_INTERVAL_S", 0.02)
    with pytest.raises(subprocess.TimeoutExpired):
        run_command([sys.executable, "-c", "import time; time.sleep(600)"], os.environ, lambda: None, 0.05)


def test_all_processes_of_a_group_are_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "WAITING_INTERVAL_S", 0.02)
    pid = tmp_path / "pid"
    # The pipes of the child stay open, so that only a signal for it ends the wait for its parent.
    script = f"sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"

    def interrupt():
        if pid.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_command(["sh", "-c", script], os.environ, interrupt, has_group=True)
    child = process_identity(int(pid.read_text()))
    for _ in range(500):
        if child is None or not is_running(child):
            break
        time.sleep(0.01)
    assert child is None or not is_running(child)


def test_the_command_ends_when_pacenote_is_killed(tmp_path):
    code = (
        "import os, sys; from pacenote.system.command import run_command;"
        "run_command(['sh', '-c', f'echo $$ > {sys.argv[1]}; mv {sys.argv[1]} {sys.argv[1]}.pid; sleep 60'],"
        " os.environ, lambda: None)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "x")]) as owner:
        while not (tmp_path / "x.pid").exists():
            time.sleep(0.01)
        child = process_identity(int((tmp_path / "x.pid").read_text()))
        owner.kill()
    assert child is not None
    for _ in range(500):
        if not is_running(child):
            break
        time.sleep(0.01)
    assert not is_running(child)


def test_an_environment_without_pip_runs_the_one_that_came_with_python(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    assert subprocess.run([python, "-m", "pip"], capture_output=True, check=False).returncode
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "small-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small.py", "")
        wheel.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        wheel.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("small-1.0.dist-info/RECORD", "")
    program = (
        "import subprocess, sys\nfrom pacenote.system.command import pip_command\n"
        "for action in (['download', '--dest'], ['install', '--target']):\n"
        "    own = [*pip_command(), *action, sys.argv[1], '--quiet', '--no-index']\n"
        "    subprocess.run([*own, '--find-links', sys.argv[2], 'small'], check=True)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(command.__file__).parents[2])}
    environment.pop("PYTHONHOME", None)
    subprocess.run([python, "-c", program, tmp_path / "out", wheels], check=True, env=environment)
    assert {"small-1.0-py3-none-any.whl", "small.py"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_an_environment_with_pip_uses_its_own():
    assert command.pip_command() == [sys.executable, "-P", "-m", "pip"]
