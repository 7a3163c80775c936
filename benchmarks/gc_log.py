"""Measures the speed at which `pacenote gc` reads GC logs of HotSpot."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from machine import PACENOTE, run
from outcome import BenchmarkError, Figure, Options, Outcome, Target

_RAM = Path("/dev/shm")
_LIMIT = 300.0
_HERE = Path(__file__).parent
_SAMPLES = {"G1": _HERE / "gc_log_g1.txt", "ZGC": _HERE / "gc_log_zgc.txt"}
"""The start of a log of JDK 25 with Pacenote's options, and one young collection with its safepoints."""

_TIMES = re.compile(r"^\[[^]]*\]\[\d+ns\]", re.MULTILINE)
_NUMBER = re.compile(r"\bGC\(\d+\)")
_PAUSE = re.compile(r" Pause .* [\d.]+ms$", re.MULTILINE)
_START = datetime(2026, 11, 23, 20, 0, 0, tzinfo=UTC)
_INTERVAL = timedelta(milliseconds=100)


def measure(options: Options) -> Outcome:
    """Measures the log read per second of CPU time, including startup, and per second of wall time."""
    figures: list[Figure] = []
    targets, notes = [], []
    for collector, sample in _SAMPLES.items():
        size_mb = options.choose(300, 60)
        per_cpu, per_wall, note = _speeds(sample.read_text(), size_mb, options.choose(8, 2))
        rate = Figure(f"{collector}: log per CPU second", "MB/s", per_cpu)
        figures += (rate, Figure(f"{collector}: log per wall second", "MB/s", per_wall))
        targets.append(Target(rate, _LIMIT, at_most=False))
        notes.append(f"{collector}: {note}")
    return Outcome(figures=tuple(figures), targets=tuple(targets), notes=tuple(notes))


def _speeds(sample: str, size_mb: int, rounds: int) -> tuple[tuple[float, ...], tuple[float, ...], str]:
    """Returns MB per second of CPU time and of wall time, and what was read."""
    log, collections, pauses = _repeated(sample, size_mb)
    in_ram = _RAM.is_dir() and shutil.disk_usage(_RAM).free > 2 * len(log)
    per_cpu, per_wall = [], []
    with tempfile.TemporaryDirectory(prefix="pacenote-bench-", dir=_RAM if in_ram else None) as folder:
        path = Path(folder) / "gc.log"
        path.write_text(log)
        for _ in range(rounds):
            done = run([PACENOTE, "gc", str(path), "--report-format=json"])
            logs = json.loads(done.output)["logs"]
            counted = logs[0]["statistics"]["pauses"]["count"]
            if len(logs) != 1 or counted != pauses:
                raise BenchmarkError(f"pacenote gc found {counted} of {pauses} pauses in {len(logs)} runs")
            per_cpu.append(len(log) / 1e6 / done.cpu_s)
            per_wall.append(len(log) / 1e6 / done.wall_s)
    where = "a RAM disk" if in_ram else "the disk (the RAM disk was too small)"
    note = f"{collections:,} young collections, {len(log) / 1e6:,.0f} MB, read from {where}"
    return tuple(per_cpu), tuple(per_wall), note


def _repeated(sample: str, size_mb: int) -> tuple[str, int, int]:
    """Returns a log of this size with the collection of a sample again and again, each with its time and
    number, and the numbers of its collections and pauses.
    """
    lines = sample.splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if _NUMBER.search(line))
    header, collection = "".join(lines[:first]), "".join(lines[first:])
    parts = _NUMBER.sub("GC(@)", _TIMES.sub("#", collection))
    count = size_mb * 1_000_000 // len(collection)
    repeated = [_TIMES.sub(_times(0), header)]
    for number in range(count):
        repeated.append(parts.replace("#", _times(number + 1)).replace("GC(@)", f"GC({number})"))
    return "".join(repeated), count, count * len(_PAUSE.findall(collection))


def _times(number: int) -> str:
    wall = (_START + number * _INTERVAL).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    uptime_ns = (number + 1) * _INTERVAL // timedelta(microseconds=1) * 1000
    return f"[{wall}+0000][{uptime_ns}ns]"
