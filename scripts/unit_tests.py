"""Runs the unit tests in several processes, each with a part of the files, and prints one summary.

    python scripts/unit_tests.py

Each file is imported by one process only; the workers of pytest-xdist import all of them, which takes longer
than most tests. There is one more process than there are cores, because some tests wait. If only a few tests
fail, they run again, alone: those that then pass depend on the load of the machine. The exit code is 0 if
every process ends with success, or if all tests that failed pass when they run again.
"""

from __future__ import annotations

import compileall
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TESTS = Path("tests")
PACKAGE = Path("python/pacenote")
LEFT_OUT = TESTS / "shape"
"""The guards of the sources, which the target lint runs."""

OPTIONS = ("-q", "-m", "not engine and not process", "-p", "no:cacheprovider", "-p", "no:xdist")
MAX_PROCESSES = 8
RESULT_FILE = "result.json"
MAX_RERUN = 5
"""Number of failed tests up to which they run again."""

SLOWEST = 10
"""Number of tests whose times are shown."""

MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  # folders in it have names that cannot be guessed
MEMORY_BYTES = 1024**3
"""Free memory from which on temporary files are in it: the tests write and sync thousands of small files."""


@dataclass(eq=False)
class Result:
    """What the tests of a process did."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of tests by outcome."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Time of each test with its fixtures, in seconds."""

    skipped: dict[str, str] = field(default_factory=dict)
    """Why tests were skipped."""

    failed: list[str] = field(default_factory=list)
    """Tests that failed, or whose fixtures did."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test, and errors of its fixtures."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.when == "call" or report.outcome != "passed":
            self.outcomes["error" if report.failed and report.when != "call" else report.outcome] += 1
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")


@dataclass(frozen=True)
class Part:
    """A process with a part of the tests."""

    process: subprocess.Popen[bytes]
    """The process."""

    folder: Path
    """Folder of its files: what it prints, its result, and temporary files of its tests."""

    @property
    def result_file(self) -> Path:
        """The file with the result."""
        return self.folder / RESULT_FILE

    def result(self) -> Result:
        """Waits for the end, and returns the result; one without tests if the process died."""
        self.process.wait()
        try:
            stored = json.loads(self.result_file.read_bytes())
        except FileNotFoundError:
            return Result(Counter(died=1))
        return Result(Counter(stored.pop("outcomes")), **stored)

    @property
    def failed(self) -> bool:
        """Whether a test failed, or pytest, or the process died. A part may have only tests that are not unit
        tests.
        """
        good = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return self.process.returncode not in good or not self.result_file.exists()

    @property
    def may_run_again(self) -> bool:
        """Whether nothing is wrong but tests that failed: not an import, for example, and not the process."""
        return not self.failed or self.process.returncode == pytest.ExitCode.TESTS_FAILED

    def output(self) -> str:
        """Returns what the process printed."""
        return (self.folder / "output.txt").read_text("utf-8", "replace")


def main(arguments: Sequence[str]) -> int:
    """Runs all parts, or the part whose folder and files are given."""
    if arguments:
        return run_part(Path(arguments[0]), arguments[1:])
    started = time.monotonic()
    # Once, instead of by each process.
    compileall.compile_dir(PACKAGE, quiet=2, workers=0)
    with tempfile.TemporaryDirectory(prefix="pacenote-unit-", dir=memory_folder()) as folder:
        parts = [
            start_part(Path(folder, str(number)), files)
            for number, files in enumerate(balanced(unit_files(), process_count()))
        ]
        results = [part.result() for part in parts]
        for part in parts:
            if part.failed:
                sys.stdout.write(part.output())
        sys.stdout.writelines(f"{line}\n" for line in summary(results, time.monotonic() - started))
        if not any(result.outcomes for result in results):
            return 1
        if not any(part.failed for part in parts):
            return 0
        failed = [test for result in results for test in result.failed]
        if len(failed) > MAX_RERUN or not all(part.may_run_again for part in parts):
            return 1
        return run_again(Path(folder, "again"), failed)


def run_again(folder: Path, tests: Sequence[str]) -> int:
    """Runs tests that failed once more, in one process. Returns 0 if they pass."""
    sys.stdout.write(f"runs again, alone: {', '.join(tests)}\n")
    part = start_part(folder, tests)
    outcomes = part.result().outcomes
    if part.failed:
        sys.stdout.write(part.output())
        return 1
    sys.stdout.write(f"unstable: {outcomes['passed']} passed now, and depend on the load of the machine\n")
    return 0


def run_part(folder: Path, files: Sequence[str]) -> int:
    """Runs the tests in files, and stores the result in a folder."""
    result = Result()
    # Thousands of imported modules and collected tests live to the end: looking at them often finds nothing.
    gc.set_threshold(20_000)
    code = pytest.main([*OPTIONS, *files], plugins=[result])
    (folder / RESULT_FILE).write_text(json.dumps(vars(result)), "utf-8")
    return code


def start_part(folder: Path, files: Iterable[str]) -> Part:
    """Starts a process that runs the tests in files, with a folder for its files."""
    folder.mkdir()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(folder), *files],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str(folder)},
        )
    return Part(process, folder)


def unit_files() -> dict[str, int]:
    """Returns the files with tests, and their sizes in bytes."""
    paths = (path for path in sorted(TESTS.rglob("test_*.py")) if LEFT_OUT not in path.parents)
    return {str(path): path.stat().st_size for path in paths}


def balanced(sizes: dict[str, int], count: int) -> tuple[list[str], ...]:
    """Returns at most `count` parts of about equal size, none of them empty."""
    parts: list[tuple[int, list[str]]] = [(0, []) for _ in range(min(count, len(sizes)))]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        smallest = min(range(len(parts)), key=lambda number: parts[number][0])
        total, names = parts[smallest]
        parts[smallest] = (total + sizes[name], [*names, name])
    return tuple(sorted(names) for _, names in parts)


def process_count() -> int:
    """Returns the number of processes: one more than there are cores."""
    return min(len(os.sched_getaffinity(0)) + 1, MAX_PROCESSES)


def memory_folder() -> Path | None:
    """Returns a folder in memory, or None if there is none that has room and may have programs."""
    try:
        status = os.statvfs(MEMORY_FOLDER)
    except OSError:
        return None
    is_usable = os.access(MEMORY_FOLDER, os.W_OK) and not status.f_flag & os.ST_NOEXEC
    return MEMORY_FOLDER if is_usable and status.f_bavail * status.f_frsize >= MEMORY_BYTES else None


def summary(results: Sequence[Result], elapsed_s: float) -> Iterator[str]:
    """Yields the slowest tests, those that were skipped and why, and the number of tests by outcome."""
    seconds = {test: time for result in results for test, time in result.seconds.items()}
    for test in sorted(seconds, key=lambda test: -seconds[test])[:SLOWEST]:
        yield f"{seconds[test]:.2f} s {test}"
    for result in results:
        yield from (f"skipped {test}: {reason}" for test, reason in sorted(result.skipped.items()))
    outcomes = sum((result.outcomes for result in results), Counter[str]())
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "no tests"
    used = os.times()
    yield f"{counts} in {elapsed_s:.1f} s ({used.children_user + used.children_system:.1f} s of CPU time)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
