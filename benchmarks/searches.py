"""Measures CPU time per small search with a server that does nothing, compared with wrk and Rally."""

from __future__ import annotations

import shutil
from pathlib import Path

import null_server
import peers
from machine import cores, temporary_folder
from null_server import NullServer
from outcome import Figure, Options, Outcome, Target

_CLIENTS = 64
_RATIO = 1.5
_PER_CORE = 100_000.0


def measure(options: Options) -> Outcome:
    """Runs Pacenote and wrk in the order A B B A, then Rally, on one core; the server runs on another."""
    missing = null_server.missing() or ("" if shutil.which("wrk") else "wrk is not installed")
    if missing:
        return Outcome(skipped=missing)
    serving, measured = cores()
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        pacenote = _PacenoteSide(folder, server, measured, options)
        wrk = _WrkSide(folder, server, measured, options.choose(4, 1))
        for pair in range(options.choose(4, 2)):
            for side in (pacenote, wrk) if pair % 2 == 0 else (wrk, pacenote):
                side.run()
        rally, notes = _rally(options, server, folder, measured)
    cpu, wrk_cpu = pacenote.cpu_figure("CPU per search, pacenote"), wrk.cpu_figure("CPU per search, wrk")
    rate = Figure("searches per second on one core, pacenote", "/s", tuple(pacenote.rates))
    pairs = tuple(one / other for one, other in zip(cpu.values, wrk_cpu.values, strict=True))
    ratio = Figure("pacenote / wrk, CPU per search, per pair", "ratio", pairs)
    median_ratio = cpu.median / wrk_cpu.median
    wrk_rate = Figure("searches per second on one core, wrk", "/s", tuple(wrk.rates))
    return Outcome(
        figures=(cpu, wrk_cpu, ratio, rate, wrk_rate, *rally),
        targets=(
            Target("CPU per search, pacenote / wrk", median_ratio, _RATIO, "ratio", at_most=True),
            Target("searches per core", rate.median, _PER_CORE, "/s", at_most=False),
        ),
        notes=(
            f"{_CLIENTS} clients, replies below 500 B, nginx {null_server.version()} on the other core",
            "pacenote: the whole process, all samples stored; the difference between a long and a short race",
            f"wrk {peers.wrk_version()}: the whole process, one thread, a request that is built only once",
            *notes,
            *(f"Rally takes {each.median / cpu.median:,.0f} × pacenote's CPU time" for each in rally[1:]),
        ),
    )


class _PacenoteSide:
    """Races with Pacenote, and their measurements."""

    def __init__(self, folder: Path, server: NullServer, core: int, options: Options) -> None:
        self._home, self._port, self._core = folder / "home", server.port, core
        few, many = options.choose(1000, 200), options.choose(8000, 1500)
        self._tracks = {
            each: peers.write_track(
                folder, f"search-{each}", *peers.search(clients=_CLIENTS, iterations=each)
            )
            for each in (few, many)
        }
        self.micros: list[float] = []
        self.rates: list[float] = []

    def run(self) -> None:
        """Runs a short and a long race; their difference gives the CPU time per search."""
        few, many = self._tracks
        short = self._race(self._tracks[few])
        long = self._race(self._tracks[many])
        additional = (many - few) * _CLIENTS
        self.micros.append((long.command.cpu_s - short.command.cpu_s) / additional * 1e6)
        self.rates.append(many * _CLIENTS / long.task["duration_s"])

    def _race(self, track: Path) -> peers.PacenoteRun:
        return peers.pacenote(track, self._port, self._home, self._core, ["--driver-threads=1"])

    def cpu_figure(self, name: str) -> Figure:
        """CPU time per search in microseconds."""
        return Figure(name, "µs", tuple(self.micros))


class _WrkSide:
    """Runs of wrk, and their measurements."""

    def __init__(self, folder: Path, server: NullServer, core: int, seconds: int) -> None:
        self._folder, self._port, self._core, self._seconds = folder, server.port, core, seconds
        self.micros: list[float] = []
        self.rates: list[float] = []

    def run(self) -> None:
        """Runs wrk once."""
        done = peers.wrk(self._port, self._folder, self._core, self._seconds, _CLIENTS)
        self.micros.append(done.cpu_s / done.requests * 1e6)
        self.rates.append(done.requests / done.wall_s)

    def cpu_figure(self, name: str) -> Figure:
        """CPU time per search in microseconds."""
        return Figure(name, "µs", tuple(self.micros))


def _rally(
    options: Options, server: NullServer, folder: Path, core: int
) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Returns Rally's rate on a core that it saturates, and the CPU time per search derived from it."""
    missing = peers.rally_missing(options.engines)
    if missing:
        return (), (missing,)
    each = options.choose(250, 50)
    track = peers.write_track(folder, "rally-search", *peers.search(clients=_CLIENTS, iterations=each))
    races = [peers.rally(track, server.port, options.engines, core) for _ in range(options.choose(2, 1))]
    rates = tuple(race.result["throughput"]["mean"] for race in races)
    note = f"Rally {peers.rally_version()} saturates its core: CPU per search is the inverse of its rate"
    return (
        Figure("searches per second on one core, Rally", "/s", rates),
        Figure("CPU per search, Rally", "µs", tuple(1e6 / rate for rate in rates)),
    ), (note,)
