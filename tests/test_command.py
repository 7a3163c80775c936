"""Commands that take a while show that they run, and end with the program."""

import os
import subprocess
import sys

import pytest

from pacenote import command
from pacenote.command import run_command

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
