"""Measures the CPU time of the thread that samples the host, beside a process of as many threads as an engine
has, and the time to read an hour of its samples, cut to tasks.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from machine import PYTHON, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote import _core

_LIMIT_SHARE = 0.05
"""Largest CPU time of the thread, as a percentage of a core."""

_READ_LIMIT_MS = 1_000.0
_THREADS = 120
_TASKS, _SERIES, _SECONDS = 10, 300, 3_600

_ENGINE = f"""
import sys, threading
for _ in range({_THREADS}):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def measure(options: Options) -> Outcome:
    """Samples once a second, as a race does, and reads the samples of an hour."""
    shares, first_ms, read_ms, sizes = [], [], [], []
    with _threads() as engine:
        for _ in range(options.choose(6, 1)):
            cost = _sample(engine, options.choose(32, 4))
            shares.append(cost.percent)
            first_ms.append(cost.first_ms)
    with temporary_folder() as folder:
        file = _hour(folder, options.choose(_SECONDS, 60))
        sizes.append(file.stat().st_size / 1e6)
        for _ in range(options.choose(6, 1)):
            began = time.perf_counter()
            _core.telemetry_cuts(file, {})
            read_ms.append(1e3 * (time.perf_counter() - began))
    share = Figure("CPU time of the sampler after its first sweep", "% of a core", tuple(shares))
    read = Figure(f"reading an hour of {_SERIES} series, cut to {_TASKS} tasks", "ms", tuple(read_ms))
    return Outcome(
        figures=(
            share,
            Figure("CPU time of opening the files and of the first sweep", "ms", tuple(first_ms)),
            read,
            Figure("size of that file", "MB", tuple(sizes)),
        ),
        targets=(
            Target(share, _LIMIT_SHARE, at_most=True),
            Target(read, _READ_LIMIT_MS, at_most=True),
        ),
    )


@contextmanager
def _threads() -> Generator[int, None, None]:
    """Runs a process with as many threads as an engine; yields its id."""
    command = [PYTHON, "-c", _ENGINE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise BenchmarkError("the process with threads did not start")
        yield process.pid
        process.communicate()


class _Cost(NamedTuple):
    """CPU time of a sampler."""

    first_ms: float
    """Until the first sweep has ended, in milliseconds."""

    percent: float
    """After that, as a percentage of a core."""


def _sample(engine: int, seconds: int) -> _Cost:
    with temporary_folder() as folder:
        file = _core.TelemetryFile(folder)
        processes = [("node-0", engine), ("driver", os.getpid())]
        sampler = _core.HostSampler(file, processes, [("node-0", str(folder))], [], 1.0)
        time.sleep(seconds)
        sweeps = json.loads(sampler.stop())["sweeps"]
        file.close()
        file_name = folder / "telemetry.parquet"
        [(_, _, _, points)] = _core.telemetry_points(file_name, "host", ["sampler.cpu_time"])
    if sweeps < seconds or len(points) != sweeps:
        raise BenchmarkError(f"only {sweeps} sweeps in {seconds} s")
    # Each sweep begins with the CPU time of those before it.
    times = [(time_ns / 1e6, value) for time_ns, value in points if value is not None]
    (from_ms, first_ms), (until_ms, all_ms) = times[1], times[-1]
    return _Cost(first_ms, 100 * (all_ms - first_ms) / (until_ms - from_ms))


def _hour(folder: Path, seconds: int) -> Path:
    """Writes the samples of an hour: counters that grow unevenly."""
    file = _core.TelemetryFile(folder)
    for second in range(seconds):
        samples = [
            ("host", f"value_{number}", float(second * number + second % 7), "ms", "counter", {"cpu": "0"})
            for number in range(_SERIES)
        ]
        file.write(second * 10**9, samples)
    each_ns = seconds * 10**9 // _TASKS
    for task in range(_TASKS):
        file.add_task(f"task-{task}", task * each_ns, (task + 1) * each_ns)
    file.close()
    return folder / "telemetry.parquet"
