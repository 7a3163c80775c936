"""The command that runs tests in several processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_tests.py"

PASSES = "def test_a(): pass\ndef test_b(): pass\n"
FAILS = "def test_c(): assert 'this' == 'that'\n"
FAILS_ONCE = """
from pathlib import Path
def test_h():
    mark = Path("ran")
    is_first = not mark.exists()
    mark.touch()
    assert not is_first
"""
DIES = "import os\ndef test_d(): os._exit(0)\n"
HANGS = "import time\ndef test_j(): time.sleep(600)\n"
LEAKS = """
class Leak:
    def __del__(self): raise ValueError("in a destructor")
def test_e(): Leak()
"""
DESELECTED = "import pytest\n@pytest.mark.engine\ndef test_f(): assert False\n"
WAITS = PASSES.replace("def test_a", "import pytest\n@pytest.mark.process\ndef test_a")
WAITS_ALL = f"import pytest\npytestmark = pytest.mark.process\n{PASSES}"
SKIPS = "import pytest\ndef test_g(): pytest.skip('there is no device')\n"
BROKEN = "import nothing_of_this_name\n"
MARKED = """
import os, pathlib, signal, time
import pytest
pytestmark = [{marks}]
def wait_for(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.01)
def test_i():
    {code}
"""
PROCESS = "pytest.mark.process"
ALONE = "pytest.mark.engine, pytest.mark.alone"


@pytest.mark.process
@pytest.mark.parametrize(
    ("files", "code", "last", "shown"),
    [
        ([PASSES, PASSES], 0, "4 passed in ", "s of CPU time"),
        ([PASSES, PASSES, DESELECTED], 0, "4 passed in ", ""),
        ([PASSES, FAILS], 1, "1 failed, 2 passed in ", "assert 'this' == 'that'"),
        ([PASSES, FAILS_ONCE], 0, "1 failed, 2 passed in ", "unstable: 1 passed now"),
        ([FAILS_ONCE, FAILS], 1, "2 failed in ", "assert 'this' == 'that'"),
        ([PASSES, *[FAILS_ONCE.replace('"ran"', f"'{n}'") for n in range(6)]], 1, "6 failed, 2 passed", ""),
        ([PASSES, DIES], 1, "1 died, 2 passed in ", ""),
        ([PASSES, HANGS], 1, "1 died, 2 passed in ", "in test_j"),
        ([PASSES, LEAKS], 1, "1 failed, 2 passed in ", "in a destructor"),
        ([PASSES, BROKEN], 1, "2 passed in ", "nothing_of_this_name"),
        ([PASSES, WAITS, WAITS_ALL], 0, "3 passed in ", ""),
        ([PASSES, SKIPS], 0, "2 passed, 1 skipped in ", "test_g: there is no device"),
        ([DESELECTED], 1, "no tests in ", ""),
    ],
    ids=[
        "passes",
        "of engines",
        "fails",
        "fails once",
        "one fails once",
        "many fail once",
        "dies",
        "hangs",
        "leaks",
        "broken",
        "of another kind",
        "skips",
        "no tests",
    ],
)
def test_one_process_that_fails_is_enough(tmp_path, files, code, last, shown):
    done = run_tests(tmp_path, files, "unit")
    assert (done.returncode, done.stderr) == (code, "")
    assert any(line.startswith(last) for line in done.stdout.splitlines())
    assert shown in done.stdout


@pytest.mark.process
@pytest.mark.parametrize(
    ("files", "code", "last"),
    [([PASSES, WAITS, DESELECTED], 0, "1 passed in "), ([WAITS_ALL, FAILS], 0, "2 passed in ")],
    ids=["some", "all"],
)
def test_only_tests_of_the_kind_run(tmp_path, files, code, last):
    done = run_tests(tmp_path, files, "process")
    assert (done.returncode, done.stderr) == (code, "")
    assert any(line.startswith(last) for line in done.stdout.splitlines())


@pytest.mark.process
@pytest.mark.parametrize(("end", "code"), [("true", 0), ("false", 1)])
def test_tests_that_are_alone_wait_for_the_command_beside_the_others(tmp_path, end, code):
    command = f"nice; touch begun; until [ -e tested ]; do sleep 0.01; done; sleep 0.2; touch ended; {end}"
    (tmp_path / "beside.sh").write_text(command)
    beside = MARKED.format(marks=PROCESS, code='wait_for("begun"); pathlib.Path("tested").touch()')
    alone = MARKED.format(marks=ALONE, code='assert pathlib.Path("ended").exists()')
    done = run_tests(tmp_path, [beside, alone], "process", "alone", "--beside=sh beside.sh")
    assert (done.returncode, done.stderr) == (code, "")
    lines = done.stdout.splitlines()
    assert sum(line.startswith("1 passed in ") for line in lines) == 2
    assert lines[-2:] == ["19", f"exit code {code}: sh beside.sh"]


@pytest.mark.process
def test_an_interruption_stops_the_command_beside(tmp_path):
    (tmp_path / "beside.sh").write_text("touch begun; sleep 600")
    test = MARKED.format(marks=PROCESS, code='wait_for("begun"); os.kill(os.getppid(), signal.SIGINT)')
    done = run_tests(tmp_path, [test], "process", "--beside=sh beside.sh")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == "exit code -15: sh beside.sh"


def run_tests(tmp_path, files, *arguments):
    options = 'filterwarnings = ["error"]\nmarkers = ["engine: x", "process: x", "alone: x"]\n'
    options += "faulthandler_timeout = 5\nfaulthandler_exit_on_timeout = true\n"
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}", "utf-8")
    (tmp_path / "tests" / "shape").mkdir(parents=True)
    (tmp_path / "tests" / "shape" / "test_left_out.py").write_text(FAILS, "utf-8")
    for number, text in enumerate(files):
        (tmp_path / "tests" / f"test_{number}.py").write_text(text, "utf-8")
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        # A command that a shell started with `&` ignores interruptions, and so do those that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
