"""The machine and its processes: what it is, who else uses it, and commands run, pinned and accounted for."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcome import BenchmarkError

from pacenote.telemetry.environment import read_environment

PYTHON = sys.executable
PACENOTE = str(Path(sys.executable).with_name("pacenote"))

_PATIENCE_S = 600.0
"""A command that takes longer is ended: something hangs."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended. `begun_ns` is on the monotonic clock, which all processes share. `peak_mb` is
    the most memory it had at a time.
    """

    code: int
    begun_ns: int
    ended_ns: int
    cpu_s: float
    output: str
    peak_mb: float

    @property
    def wall_s(self) -> float:
        """From just before its start until it was seen to have ended."""
        return (self.ended_ns - self.begun_ns) / 1e9


class Running:
    """A command under way; `wait` or `stop` must be called."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._output = tempfile.TemporaryFile()  # noqa: SIM115, `wait` closes it
        self._begun_ns = time.monotonic_ns()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**_environment(), **(environment or {})},
        )

    def wait(self, good: Sequence[int] = (0,)) -> Finished:
        """Waits for its end. Raises BenchmarkError with its last words when the exit code is not a good
        one.
        """
        guard = threading.Timer(_PATIENCE_S, self._process.kill)
        guard.start()
        try:
            _, status, usage = os.wait4(self._process.pid, 0)
        except BaseException:
            self.stop()
            raise
        finally:
            guard.cancel()
        ended_ns = time.monotonic_ns()
        # The process object is told, since it was not the one who waited.
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        with self._output:
            self._output.seek(0)
            output = self._output.read().decode("utf-8", "replace")
        if code not in good:
            words = " / ".join(output.strip().splitlines()[-3:])
            raise BenchmarkError(f"{Path(self._command[0]).name} ended with code {code}: {words}")
        peak_mb = usage.ru_maxrss * 1024 / 1e6
        return Finished(code, self._begun_ns, ended_ns, usage.ru_utime + usage.ru_stime, output, peak_mb)

    def stop(self) -> None:
        """Ends it if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()


def run(
    command: Sequence[str], environment: Mapping[str, str] | None = None, good: Sequence[int] = (0,)
) -> Finished:
    """Runs a command to its end. Raises BenchmarkError when its exit code is not a good one."""
    return Running(command, environment).wait(good)


def _environment() -> dict[str, str]:
    """Ours, but Python may keep what it compiles, as it does for whoever installs Pacenote."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@functools.cache
def cores() -> tuple[int, int]:
    """The core for what serves and the core for what is measured, out of those there were at first.

    Raises BenchmarkError if there is one only.
    """
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchmarkError("two cores are needed: one for the server, one for the client")
    return usable[0], usable[1]


def pinned(core: int, command: Sequence[str]) -> list[str]:
    """The command, to run on one core only."""
    return ["taskset", "--cpu-list", str(core), *command]


@contextmanager
def staying_on(core: int) -> Iterator[None]:
    """What is started inside stays on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that goes away afterwards. Others may enter it, since an engine does not run as root."""
    with tempfile.TemporaryDirectory(prefix="pacenote-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def engine_home() -> Iterator[Path]:
    """The home folder that engines are assembled in: PACENOTE_BENCH_HOME, which keeps them, or a passing
    one.
    """
    kept = os.environ.get("PACENOTE_BENCH_HOME")
    if kept:
        yield Path(kept)
        return
    with temporary_folder() as folder:
        yield folder


def describe(repository: Path) -> dict[str, Any]:
    """The environment of a run: what may matter to its figures, without names and places."""
    known = dataclasses.asdict(read_environment())
    for private in ("name", "host_name"):
        known.pop(private)
    return {**known, "commit": _commit(repository), "curl": _version("curl")}


@dataclass(frozen=True, slots=True)
class Ticks:
    """Processor time of all cores since boot, in ticks."""

    total: int
    busy: int
    steal: int


def ticks() -> Ticks:
    """Processor time until now, from /proc/stat."""
    with Path("/proc/stat").open() as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    busy = user + nice + system + irq + softirq
    return Ticks(busy + idle + iowait + steal, busy, steal)


def shares_since(before: Ticks) -> tuple[float, float]:
    """Percent of all cores' time that was used here, and that was stolen by other virtual machines."""
    now = ticks()
    total = max(1, now.total - before.total)
    return 100 * (now.busy - before.busy) / total, 100 * (now.steal - before.steal) / total


def _commit(repository: Path) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(repository), "describe", "--always", "--dirty", "--exclude=*"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def _version(command: str) -> str | None:
    """The version number a command tells, None when it is not there."""
    if shutil.which(command) is None:
        return None
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+\.\d+(\.\d+)?", said.partition("\n")[0])
    return found[0] if found else None
