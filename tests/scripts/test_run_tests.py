"""The command that runs tests in several processes."""

from __future__ import annotations

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
        "leaks",
        "broken",
        "of another kind",
        "skips",
        "no tests",
    ],
)
def test_one_process_that_fails_is_enough(tmp_path, files, code, last, shown):
    found = run_tests(tmp_path, files, "unit")
    assert (found.returncode, found.stderr) == (code, "")
    assert any(line.startswith(last) for line in found.stdout.splitlines())
    assert shown in found.stdout


@pytest.mark.process
@pytest.mark.parametrize(
    ("files", "code", "last"),
    [([PASSES, WAITS, DESELECTED], 0, "1 passed in "), ([WAITS_ALL, FAILS], 0, "2 passed in ")],
    ids=["some", "all"],
)
def test_only_tests_of_the_kind_run(tmp_path, files, code, last):
    found = run_tests(tmp_path, files, "process")
    assert (found.returncode, found.stderr) == (code, "")
    assert any(line.startswith(last) for line in found.stdout.splitlines())


def run_tests(tmp_path, files, kind):
    options = 'filterwarnings = ["error"]\nmarkers = ["engine: x", "process: x"]\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}", "utf-8")
    (tmp_path / "tests" / "shape").mkdir(parents=True)
    (tmp_path / "tests" / "shape" / "test_left_out.py").write_text(FAILS, "utf-8")
    for number, text in enumerate(files):
        (tmp_path / "tests" / f"test_{number}.py").write_text(text, "utf-8")
    return subprocess.run(
        [sys.executable, SCRIPT, kind], cwd=tmp_path, capture_output=True, text=True, check=False
    )
