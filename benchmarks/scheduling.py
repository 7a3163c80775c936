"""Measures what real-time priority and a short slice of the driver's threads change on shared cores.

Races in blocks with normal scheduling, real-time priority and a short slice, against an engine that is
kept, beside a program that takes a quarter of a core; every second block has the opposite order of the one
before. A race that saturates a server on the only core that both may use shows whether the driver starves it.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import null_server
import peers
from engines import started_engine
from machine import PACENOTE, cores, run, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote import _core

_BLOCKS, _QUICK_BLOCKS = 6, 1
_DOCUMENTS, _QUICK_DOCUMENTS = 400_000, 20_000
_CLOSED_SEARCHES, _QUICK_CLOSED_SEARCHES = 16_000, 1_000
_RATE = 200
_CLIENTS = 8
"""Clients of the searches. Each runs its share of them, because `iterations` counts for each client."""

_OPEN_S, _QUICK_OPEN_S = 20, 2
_SATURATED_S, _QUICK_SATURATED_S = 4, 2
_LEAST_RATIO = 0.97
"""Smallest part of the throughput with normal scheduling that is not a loss."""

_LEAST_SATURATED_RATIO = 0.90
_P99_US = 250.0
_WAIT_MS = 1.0
"""Longest wait of the driver's threads for a core, in milliseconds per second of the race."""

_LOAD = """
import time
while True:
    until = time.monotonic() + 0.005
    while time.monotonic() < until:
        pass
    time.sleep(0.015)
"""
"""A program that takes a quarter of a core."""

_WITHOUT_PERMISSION = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")


@dataclass(frozen=True, slots=True)
class _Mode:
    """A way in which the driver's threads are scheduled."""

    name: str
    """Its name in tables."""

    prefix: tuple[str, ...]
    """The beginning of the command."""

    option: str
    """The value of `--driver-scheduling`."""

    obtained: str
    """What the record of the race must say of the workers."""


_NORMAL = _Mode("normal", (), "normal", "normal")
_REALTIME = _Mode("realtime", (), "realtime", "realtime")
_SLICE = _Mode("slice", _WITHOUT_PERMISSION, "auto", "short_slice")
_MODES = (_NORMAL, _REALTIME, _SLICE)

_FIRST_WITH_SLICES = (6, 12)
"""The first version of Linux in which threads have slices of their own."""


@dataclass(frozen=True, slots=True)
class _Run:
    """The figures of the races of one mode in one block."""

    closed_wait_ms: float
    """Wait of the workers for a core in the closed loop, in milliseconds per second of the race."""

    open_wait_ms: float
    """The same in the open loop."""

    late_percent: float
    """By how much of their service time replies of the closed loop were read late, in percent."""

    documents: float
    """Documents per second."""

    searches: float
    """Searches per second of the closed loop."""

    lateness_us: float
    """99th percentile of the lateness in the open loop, in microseconds."""

    saturated: float
    """Searches per second of a server on the driver's core."""

    demotions: float
    """How often a worker lost real-time priority in this race."""


def measure(options: Options) -> Outcome:
    """Races with all modes in turn."""
    if missing := _missing():
        return Outcome(skipped=missing)
    blocks = options.blocks or options.choose(_BLOCKS, _QUICK_BLOCKS)
    release = platform.release()
    modes = _MODES if _has_slices(release) else (_NORMAL, _REALTIME)
    runs: dict[_Mode, list[_Run]] = {mode: [] for mode in modes}
    core, _ = cores()
    with (
        temporary_folder() as folder,
        null_server.null_server(core) as server,
        started_engine(options, folder, "opensearch") as cluster,
    ):
        bench = _Bench(options, folder, cluster.hosts[0].address, server.port, core)
        bench.closed_race(_NORMAL)
        for block in range(blocks):
            for mode in modes if block % 2 == 0 else reversed(modes):
                runs[mode].append(bench.run(mode))
    return _outcome(runs, release)


def _has_slices(release: str) -> bool:
    version = re.match(r"(\d+)\.(\d+)", release)
    return version is not None and tuple(map(int, version.groups())) >= _FIRST_WITH_SLICES


def _missing() -> str:
    if reason := _core.realtime_refusal():
        return f"this process cannot have real-time priority: {reason}"
    if shutil.which(_WITHOUT_PERMISSION[0]) is None:
        return "setpriv, which takes the permission away for the short slice, is not installed"
    return null_server.missing()


@dataclass(frozen=True, slots=True)
class _Bench:
    """The servers, and what all races have in common."""

    options: Options
    """The options of the benchmark."""

    folder: Path
    """The temporary folder of the benchmark."""

    engine: str
    """Host and port of the engine."""

    port: int
    """The port of the server that the driver saturates."""

    core: int
    """The core of that server."""

    def run(self, mode: _Mode) -> _Run:
        """Runs the three races of a mode."""
        with _quarter_of_a_core():
            closed, opened = self.closed_race(mode), self.open_race(mode)
        saturated = self.saturating_race(mode)
        tasks = {task["task"]: task for task in closed["tasks"]}
        return _Run(
            closed_wait_ms=_wait_ms(closed),
            open_wait_ms=_wait_ms(opened),
            late_percent=100 * max(_late_shares(closed), default=0.0),
            documents=tasks["index-append"]["throughput"]["mean"],
            searches=tasks["default"]["throughput"]["mean"],
            lateness_us=_p99_us(opened["tasks"][-1]["lateness"]),
            saturated=saturated["tasks"][-1]["throughput"]["mean"],
            demotions=saturated["driver"]["scheduling"]["demotions"],
        )

    def closed_race(self, mode: _Mode) -> Mapping[str, Any]:
        """Indexes, then searches with eight clients, as fast as the engine can."""
        documents = self.options.choose(_DOCUMENTS, _QUICK_DOCUMENTS)
        searches = self.options.choose(_CLOSED_SEARCHES, _QUICK_CLOSED_SEARCHES)
        params = (
            f"docs:{documents},search_clients:{_CLIENTS},target_throughput:0,"
            f"warmup_iterations:{searches // 10 // _CLIENTS},iterations:{searches // _CLIENTS}"
        )
        tasks = "delete-index,create-index,check-cluster-health,index-append,refresh-after-index,default"
        return self._race(mode, self._http_logs(params, tasks))

    def open_race(self, mode: _Mode) -> Mapping[str, Any]:
        """Searches what the closed race has indexed at a fixed rate, which the engine sustains."""
        seconds, per_client = self.options.choose(_OPEN_S, _QUICK_OPEN_S), _RATE // _CLIENTS
        params = (
            f"search_clients:{_CLIENTS},target_throughput:{_RATE},"
            f"warmup_iterations:{per_client},iterations:{seconds * per_client}"
        )
        return self._race(mode, (*self._http_logs(params, "default"), "--open-loop"))

    def saturating_race(self, mode: _Mode) -> Mapping[str, Any]:
        """Searches as fast as possible on the core of the server, with one worker."""
        seconds = self.options.choose(_SATURATED_S, _QUICK_SATURATED_S)
        track = self.folder / "saturating"
        if not track.exists():
            parameters = {"clients": 64, "warmup-time-period": 1, "time-period": seconds}
            peers.write_track(self.folder, track.name, *peers.search(**parameters))
        return self._race(
            mode,
            (
                *(f"--target-hosts=127.0.0.1:{self.port}", f"--track-path={track}"),
                f"--driver-cpus={self.core}",
            ),
        )

    def _http_logs(self, params: str, tasks: str) -> tuple[str, ...]:
        return (
            *("--track=http_logs", "--track-repository=bundled", "--challenge=append-no-conflicts"),
            *(f"--target-hosts={self.engine}", f"--track-params={params}", f"--include-tasks={tasks}"),
        )

    def _race(self, mode: _Mode, options: Sequence[str]) -> Mapping[str, Any]:
        """Returns the record of a race. Raises BenchmarkError if it was not scheduled as its mode is."""
        race_id, home = f"race-{time.monotonic_ns()}", self.folder / "home"
        command = (
            *(*mode.prefix, PACENOTE, "race", "--pipeline=benchmark-only", "--seed=1", "--quiet"),
            *(f"--race-id={race_id}", f"--driver-scheduling={mode.option}", *options),
        )
        run(command, {"PACENOTE_HOME": str(home)}, accepted_codes=(0,))
        record: dict[str, Any] = json.loads((home / "races" / race_id / "race.json").read_text())
        obtained = record["driver"]["scheduling"]["workers"]
        if obtained != mode.obtained:
            raise BenchmarkError(f"the workers' scheduling is {obtained}, not {mode.obtained}")
        return record


@contextmanager
def _quarter_of_a_core() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", _LOAD])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _workers(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (thread for thread in record["driver"]["threads"] if thread["name"].startswith("drive-"))


def _wait_ms(record: Mapping[str, Any]) -> float:
    waited_s = sum(thread["run_queue_s"] for thread in _workers(record))
    return float(1000 * waited_s / record["driver"]["wall_s"])


def _late_shares(record: Mapping[str, Any]) -> Iterator[float]:
    yield from (thread["delayed"]["share"] for thread in _workers(record) if thread["delayed"])


def _p99_us(lateness: Mapping[str, Any]) -> float:
    return next(
        1000.0 * float(percentile["ms"]) for percentile in lateness["percentiles"] if percentile["q"] == 99
    )


def _outcome(runs: Mapping[_Mode, Sequence[_Run]], release: str) -> Outcome:
    figures = [figure for mode in runs for figure in _figures(mode, runs[mode])]
    ratios = {mode: _ratios(mode, runs[mode], runs[_NORMAL]) for mode in runs if mode != _NORMAL}
    documents, searches, saturated = ratios[_REALTIME]
    closed_wait, open_wait, _, lateness, *_ = _figures(_REALTIME, runs[_REALTIME])
    return Outcome(
        figures=(*figures, *(figure for of_mode in ratios.values() for figure in of_mode)),
        targets=(
            *(Target(wait, _WAIT_MS, at_most=True) for wait in (closed_wait, open_wait)),
            Target(lateness, _P99_US, at_most=True),
            *(Target(ratio, _LEAST_RATIO, at_most=False) for ratio in (documents, searches)),
            Target(saturated, _LEAST_SATURATED_RATIO, at_most=False),
        ),
        notes=(
            f"closed loop: bulks of http_logs, then searches by {_CLIENTS} clients; open loop: "
            f"{_RATE} searches/s; OpenSearch on the same cores, beside a program that takes a quarter of one",
            "saturated: 64 clients search an nginx on the only core that it and the driver may use",
            "slice: without CAP_SYS_NICE"
            if _SLICE in runs
            else f"slice: skipped, because Linux {release} has none (it needs 6.12 or newer)",
        ),
    )


def _figures(mode: _Mode, runs: Sequence[_Run]) -> Sequence[Figure]:
    return (
        Figure(
            f"workers' wait for a core, closed loop, {mode.name}", "ms/s", _values(runs, "closed_wait_ms")
        ),
        Figure(f"workers' wait for a core, open loop, {mode.name}", "ms/s", _values(runs, "open_wait_ms")),
        Figure(f"replies read late, closed loop, {mode.name}", "%", _values(runs, "late_percent")),
        Figure(f"lateness p99, open loop, {mode.name}", "µs", _values(runs, "lateness_us")),
        Figure(f"documents per second, {mode.name}", "docs/s", _values(runs, "documents")),
        Figure(f"searches per second, closed loop, {mode.name}", "/s", _values(runs, "searches")),
        Figure(f"searches per second, saturated, {mode.name}", "/s", _values(runs, "saturated")),
        Figure(f"demotions, saturated, {mode.name}", "", _values(runs, "demotions")),
    )


def _ratios(mode: _Mode, runs: Sequence[_Run], normal: Sequence[_Run]) -> Sequence[Figure]:
    def ratio(what: str, name: str) -> Figure:
        pairs = zip(_values(runs, name), _values(normal, name), strict=True)
        return Figure(f"{what}, {mode.name} / normal, per block", "", tuple(new / old for new, old in pairs))

    return (
        ratio("documents per second", "documents"),
        ratio("searches per second, closed loop", "searches"),
        ratio("searches per second, saturated", "saturated"),
    )


def _values(runs: Sequence[_Run], name: str) -> tuple[float, ...]:
    return tuple(float(getattr(one_run, name)) for one_run in runs)
