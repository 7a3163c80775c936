"""Runs tests in several processes, and prints one summary.

    python scripts/run_tests.py unit
    python scripts/run_tests.py process engine alone
    python scripts/run_tests.py process engine alone --beside "make lint"

The program imports Pacenote and the libraries once; the processes are copies of it, each of which runs a
part of the files: first large parts, and small ones towards the end, so that no core is idle for long. There
is one more process than there are cores, because some tests wait; each real engine has a core. If only a few
tests fail, they run again, alone: those that then pass depend on the load of the machine. The exit code is 0
if every process ends with success, or if all tests that failed pass when they run again.

Tests that start engines leave processors idle. A command can use them: it runs beside the tests at the lowest
priority. Tests that must be alone wait for its end. The exit code is 1 if it fails.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TESTS = Path("tests")
PACKAGE = Path("python/pacenote")
LEFT_OUT = TESTS / "shape"
"""The guards of the sources, which the target lint runs."""

OTHER_TESTS = re.compile(r"^pytestmark = \[?pytest\.mark\.(engine|process)\b", re.MULTILINE)
"""What a file without unit tests has."""

LIBRARIES = ("elasticsearch", "optuna", "pyarrow.parquet", "rich.console", "scipy.special")
"""Modules that functions of Pacenote or of the tests import, and that take long to import."""

OPTIONS = ("-q", "--disable-plugin-autoload", "-p", "no:cacheprovider")
MAX_PROCESSES = 8
MIN_SHARE = 1 / 40
"""Share of all tests that a process runs at least if they are similar: each needs some time to start."""

ENGINE_HOME = "PACENOTE_TEST_HOME"
"""The environment variable that states a home folder for engines that is kept."""

PASSABLE = 0o711
"""Mode of folders through which other users may reach files whose names they know."""

OUTPUT_FILE = "output.txt"
RESULT_FILE = "result.json"
LOWEST_PRIORITY = 19
AUTOGROUP = Path("/proc/self/autogroup")
"""The file that has the priority of all processes of a session, if the kernel groups them (sched(7))."""

MAX_RERUN = 5
"""Number of failed tests up to which they run again."""

SLOWEST = 10
"""Number of tests whose times are shown."""

MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  # folders in it have names that cannot be guessed
MEMORY_BYTES = 1024**3
"""Free memory from which on temporary files are in it: the tests write and sync thousands of small files."""


@dataclass(frozen=True)
class Kind:
    """Tests that run together."""

    marks: str
    """The expression that selects them by their marks."""

    is_in: Callable[[str], bool]
    """Tells from the text of a file whether it may have such tests."""

    are_similar: bool
    """Whether the tests of all files take a similar time, so that a process can run many files."""

    more_than_cores: int = 1
    """How many more processes there are than cores."""

    most_processes: int = MAX_PROCESSES
    """The largest number of processes."""

    is_alone: bool = False
    """Whether nothing else may run."""

    has_engines: bool = False
    """Whether the tests start engines: their files are on a disk, and in folders that other users may pass,
    because an engine does not run as root. Other temporary files are in memory, if there is room.
    """


KINDS = {
    "unit": Kind(
        marks="not engine and not process",
        is_in=lambda text: not OTHER_TESTS.search(text),
        are_similar=True,
    ),
    "process": Kind(
        marks="process and not engine",
        is_in=lambda text: "pytest.mark.process" in text,
        are_similar=False,
    ),
    "engine": Kind(
        marks="engine and not alone",
        is_in=lambda text: "pytest.mark.engine" in text,
        are_similar=False,
        more_than_cores=0,
        has_engines=True,
    ),
    "alone": Kind(
        marks="alone",
        is_in=lambda text: "pytest.mark.alone" in text,
        are_similar=False,
        most_processes=1,
        is_alone=True,
        has_engines=True,
    ),
}


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
    """A process that has run a part of the tests."""

    folder: Path
    """Folder of its files: what it printed, its result, and temporary files of its tests."""

    code: int
    """Its exit code; negative if a signal ended it."""

    def result(self) -> Result:
        """Returns what its tests did; no test if the process died."""
        try:
            stored = json.loads((self.folder / RESULT_FILE).read_bytes())
        except FileNotFoundError:
            return Result(Counter(died=1))
        return Result(Counter(stored.pop("outcomes")), **stored)

    @property
    def failed(self) -> bool:
        """Whether a test failed, or pytest, or the process died. A part may have only tests that are not unit
        tests.
        """
        good = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return self.code not in good or self.died

    @property
    def died(self) -> bool:
        """Whether the process ended before it could store what its tests did."""
        return not (self.folder / RESULT_FILE).exists()

    @property
    def may_run_again(self) -> bool:
        """Whether nothing is wrong but tests that failed: not an import, for example, and not the process,
        which ends with the same exit code if a test takes too long.
        """
        return not self.failed or (self.code == pytest.ExitCode.TESTS_FAILED and not self.died)

    def output(self) -> str:
        """Returns what the process printed."""
        return (self.folder / OUTPUT_FILE).read_text("utf-8", "replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all tests of some kinds, one kind after another, and returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "kinds", choices=KINDS, nargs="+", metavar="KIND", help="unit, process, engine or alone"
    )
    parser.add_argument(
        "--beside", default="", metavar="COMMAND", help="runs at the lowest priority meanwhile"
    )
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        beside = stack.enter_context(running_beside(options.beside)) if options.beside else None
        import_once()
        kinds = [KINDS[name] for name in options.kinds]
        if any(kind.has_engines for kind in kinds):
            stack.enter_context(home_of_engines())
        codes = []
        for kind in kinds:
            if beside is not None and kind.is_alone:
                beside.wait()
            codes.append(run_kind(kind))
        return max(*codes, 0 if beside is None or beside.wait() == 0 else 1)


@contextlib.contextmanager
def running_beside(command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a command at the lowest priority. At the end, prints what it printed, and stops it if it runs."""

    def begin() -> None:
        # It is not in the group of processes whose ends this process waits for.
        os.setsid()
        os.nice(LOWEST_PRIORITY)
        with contextlib.suppress(OSError):
            AUTOGROUP.write_text(str(LOWEST_PRIORITY))

    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=begin,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            code = process.wait()
            output.seek(0)
            sys.stdout.write(output.read().decode("utf-8", "replace"))
            sys.stdout.write(f"exit code {code}: {command}\n")


def run_kind(kind: Kind) -> int:
    """Runs all tests of a kind, and returns the exit code."""
    started = time.monotonic()
    parent = None if kind.has_engines else memory_folder()
    with tempfile.TemporaryDirectory(prefix="pacenote-tests-", dir=parent) as folder:
        parts = run_parts(Path(folder), kind, shares(kind))
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
        return run_again(Path(folder, "again"), kind, failed)


@contextlib.contextmanager
def home_of_engines() -> Iterator[None]:
    """Sets the home folder that tests with engines share, so that each is downloaded once; deletes it."""
    if os.environ.get(ENGINE_HOME):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="pacenote-engines-") as folder:
        os.environ[ENGINE_HOME] = folder
        try:
            yield
        finally:
            del os.environ[ENGINE_HOME]
            if PACKAGE.is_dir():
                from pacenote.provision.layout import plan_layout

                # For root, engines may be outside the home folder.
                shutil.rmtree(plan_layout(Path(folder)).root, ignore_errors=True)


def import_once() -> None:
    """Imports Pacenote and its libraries. Garbage collection leaves out what exists now, as it is kept."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    # There is no package if the script itself is tested.
    if PACKAGE.is_dir():
        for path in sorted(PACKAGE.rglob("*.py")):
            if path.stem != "__main__":
                importlib.import_module(".".join(path.with_suffix("").relative_to(PACKAGE.parent).parts))
        for name in LIBRARIES:
            importlib.import_module(name)
    gc.freeze()


def run_again(folder: Path, kind: Kind, tests: Sequence[str]) -> int:
    """Runs tests that failed once more, in one process. Returns 0 if they pass."""
    sys.stdout.write(f"runs again, alone: {', '.join(tests)}\n")
    folder.mkdir()
    (part,) = run_parts(folder, kind, [tests])
    outcomes = part.result().outcomes
    if part.failed:
        sys.stdout.write(part.output())
        return 1
    sys.stdout.write(f"unstable: {outcomes['passed']} passed now, and depend on the load of the machine\n")
    return 0


def run_parts(folder: Path, kind: Kind, parts: Iterable[Sequence[str]]) -> list[Part]:
    """Runs parts of the tests, each in a process with a folder for its files; several at the same time."""
    running: dict[int, Path] = {}
    ended: list[Part] = []

    def wait() -> None:
        process, status = os.waitpid(0, 0)
        ended.append(Part(running.pop(process), os.waitstatus_to_exitcode(status)))

    for number, files in enumerate(parts):
        if len(running) == process_count(kind):
            wait()
        part_folder = folder / f"{number:03}"
        part_folder.mkdir()
        if kind.has_engines:
            folder.chmod(PASSABLE)
            part_folder.chmod(PASSABLE)
        running[start_part(part_folder, kind, files)] = part_folder
    while running:
        wait()
    return sorted(ended, key=lambda part: part.folder)


def start_part(folder: Path, kind: Kind, files: Sequence[str]) -> int:
    """Starts a copy of this process that runs the tests in files, and returns its number."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        redirect(folder / OUTPUT_FILE)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        code = run_part(folder, kind, files)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Nothing that exists would be used again, so it need not be destroyed.
        os._exit(code)


def redirect(output: Path) -> None:
    """Has this process and its children read nothing, and print to a file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    printed = os.open(output, os.O_WRONLY | os.O_CREAT)
    for descriptor, target in ((nothing, 0), (printed, 1), (printed, 2)):
        os.dup2(descriptor, target)
    os.close(nothing)
    os.close(printed)


def run_part(folder: Path, kind: Kind, files: Sequence[str]) -> int:
    """Runs the tests in files, stores the result in a folder, and returns pytest's exit code."""
    result = Result()
    # Collected tests live to the end: looking at them often finds nothing.
    gc.set_threshold(20_000)
    code = pytest.main([*OPTIONS, "-m", kind.marks, *files], plugins=[result])
    (folder / RESULT_FILE).write_text(json.dumps(vars(result)), "utf-8")
    return int(code)


def shares(kind: Kind) -> Iterator[list[str]]:
    """Yields parts of the files with tests of a kind: each has half of what a process would have if it shared
    all that is left with the others, or is a single file if their times differ much.
    """
    paths = (path for path in sorted(TESTS.rglob("test_*.py")) if LEFT_OUT not in path.parents)
    texts = {str(path): path.read_text("utf-8") for path in paths}
    sizes = {name: len(text) for name, text in texts.items() if kind.is_in(text)}
    total = left = sum(sizes.values())
    names: list[str] = []
    size = 0
    for name in sizes:
        names.append(name)
        size += sizes[name]
        if not kind.are_similar or size >= max(left / process_count(kind) / 2, total * MIN_SHARE):
            yield names
            left -= size
            names, size = [], 0
    if names:
        yield names


def process_count(kind: Kind) -> int:
    """Returns the number of processes that run tests at the same time."""
    return min(len(os.sched_getaffinity(0)) + kind.more_than_cores, kind.most_processes)


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
    yield f"{counts} in {elapsed_s:.1f} s ({sum(os.times()[:4]):.1f} s of CPU time)"


if __name__ == "__main__":
    sys.exit(main())
