"""Describes the machine and its load, and runs commands on it, pinned to cores and measured."""

from __future__ import annotations

import functools
import os
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
from typing import Any, NamedTuple

from outcome import BenchmarkError

from pacenote.model.codec import encode
from pacenote.race.environment import read_environment

PYTHON = sys.executable
PACENOTE = str(Path(sys.executable).with_name("pacenote"))

_TIMEOUT_S = 600.0
"""Seconds after which a command is killed, because it probably hangs."""


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """A command that has ended."""

    code: int
    """Exit code, or the negative number of the signal that killed the command."""

    started_ns: int
    """Time just before the start, in nanoseconds on the monotonic clock, which all processes share."""

    ended_ns: int
    """Time just after the end, in nanoseconds on the monotonic clock."""

    cpu_s: float
    """User and system CPU time, in seconds, of the process and its ended children."""

    output: str
    """Standard output and standard error."""

    peak_mb: float
    """Peak resident memory in megabytes."""

    @property
    def wall_s(self) -> float:
        """The wall time in seconds."""
        return (self.ended_ns - self.started_ns) / 1e9


class RunningCommand:
    """A running command. The caller must call `wait` or `stop`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._output = tempfile.TemporaryFile()  # noqa: SIM115, `wait` closes it
        self._started_ns = time.monotonic_ns()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**_environment(), **(environment or {})},
        )

    def wait(self, accepted_codes: Sequence[int] = (0,)) -> FinishedCommand:
        """Waits for the end. Raises BenchmarkError with the last output lines for any other exit code."""
        timeout = threading.Timer(_TIMEOUT_S, self._process.kill)
        timeout.start()
        try:
            _, status, usage = os.wait4(self._process.pid, 0)
        except BaseException:
            self.stop()
            raise
        finally:
            timeout.cancel()
        ended_ns = time.monotonic_ns()
        # Popen does not detect that the process was reaped here.
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        with self._output:
            self._output.seek(0)
            output = self._output.read().decode("utf-8", "replace")
        if code not in accepted_codes:
            last_lines = " / ".join(output.strip().splitlines()[-3:])
            raise BenchmarkError(f"{Path(self._command[0]).name} ended with code {code}: {last_lines}")
        cpu_s = usage.ru_utime + usage.ru_stime
        peak_mb = usage.ru_maxrss * 1024 / 1e6
        return FinishedCommand(code, self._started_ns, ended_ns, cpu_s, output, peak_mb)

    def stop(self) -> None:
        """Kills the command if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()


def run(
    command: Sequence[str], environment: Mapping[str, str] | None = None, accepted_codes: Sequence[int] = (0,)
) -> FinishedCommand:
    """Runs a command to its end; `environment` is added to that of this process. Raises as `wait` does."""
    return RunningCommand(command, environment).wait(accepted_codes)


def _environment() -> dict[str, str]:
    """Returns this process's environment, but lets Python cache compiled modules, as in an installation."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@functools.cache
def cores() -> tuple[int, int]:
    """Returns the cores for the server and for the measured process, of the cores usable at the first call.

    Raises BenchmarkError if only one core is usable.
    """
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchmarkError("two cores are needed: one for the server, one for the client")
    return usable[0], usable[1]


def pinned(core: int, command: Sequence[str]) -> list[str]:
    """Returns the command with a prefix that pins it to one core."""
    return ["taskset", "--cpu-list", str(core), *command]


@contextmanager
def pinned_to(core: int) -> Iterator[None]:
    """Pins this thread, and the processes that it starts, to one core until the end of the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yields a folder that is removed at the end of the block.

    All users may enter it, because engines do not run as root.
    """
    with tempfile.TemporaryDirectory(prefix="pacenote-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def engine_home() -> Iterator[Path]:
    """Yields the home folder for engines: PACENOTE_BENCH_HOME, which is kept, or a temporary folder."""
    kept = os.environ.get("PACENOTE_BENCH_HOME")
    if kept:
        yield Path(kept)
        return
    with temporary_folder() as folder:
        yield folder


def describe(repository: Path) -> dict[str, Any]:
    """Returns the environment of a run: everything that may affect its figures, without names and paths."""
    environment = encode(read_environment())
    for private in ("name", "host_name"):
        environment.pop(private)
    return {**environment, "commit": _commit(repository)}


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """CPU time of all cores since boot, in clock ticks."""

    total: int
    """Total time, including idle time."""

    busy: int
    """Time in which this machine ran programs or the kernel."""

    steal: int
    """Time that the hypervisor gave to other virtual machines."""


def cpu_ticks() -> CpuTicks:
    """Reads the CPU time of all cores since boot from /proc/stat."""
    with Path("/proc/stat").open() as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    busy = user + nice + system + irq + softirq
    return CpuTicks(busy + idle + iowait + steal, busy, steal)


class CpuShares(NamedTuple):
    """Percentages of the CPU time of all cores during a period."""

    used: float
    """Time in which this machine ran programs or the kernel."""

    stolen: float
    """Time that the hypervisor gave to other virtual machines."""


def cpu_shares_since(before: CpuTicks) -> CpuShares:
    """Returns the percentages of CPU time since `before`."""
    now = cpu_ticks()
    total = max(1, now.total - before.total)
    return CpuShares(100 * (now.busy - before.busy) / total, 100 * (now.steal - before.steal) / total)


def _commit(repository: Path) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(repository), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
