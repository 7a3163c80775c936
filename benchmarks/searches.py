"""Measures CPU time per small search with a server that does nothing, compared with wrk and Rally."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import null_server
import peers
from blocks import figure_by_block, ratio_by_block, run_blocks
from machine import cores, temporary_folder
from null_server import NullServer
from outcome import Options, Outcome, Target

_BLOCKS = 6
_CLIENTS = 64
_RATIO = 1.5
_PER_CORE = 100_000.0


@dataclass(frozen=True, slots=True)
class _ToolRun:
    """One measurement of one of the tools."""

    micros: float
    """CPU time of a search in microseconds."""

    per_second: float
    """Searches per second."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """The server, cores and folders that all tools use."""

    options: Options
    """The options of the benchmark."""

    server: NullServer
    """The server."""

    folder: Path
    """The temporary folder of the benchmark."""

    core: int
    """The core on which the tools run."""


def measure(options: Options) -> Outcome:
    """Runs the tools in blocks, on one core; the server runs on another."""
    missing = null_server.missing() or ("" if shutil.which("wrk") else "wrk is not installed")
    if missing:
        return Outcome(skipped=missing)
    serving, measured = cores()
    without_rally = peers.rally_missing(options.engines)
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        setting = _Setting(options, server, folder, measured)
        few, many = options.choose(1000, 200), options.choose(8000, 1500)
        tracks = {each: _track(folder, "search", each) for each in (few, many)}
        tools = {
            "pacenote": lambda: _pacenote(setting, tracks),
            "wrk": lambda: _wrk(setting),
        }
        if not without_rally:
            rally_track = _track(folder, "rally-search", options.choose(250, 50))
            tools["rally"] = lambda: _rally(setting, rally_track)
        runs = run_blocks(options.choose_blocks(_BLOCKS), tools)
    return _outcome(runs, without_rally)


def _track(folder: Path, name: str, iterations: int) -> Path:
    search = peers.search(clients=_CLIENTS, iterations=iterations)
    return peers.write_track(folder, f"{name}-{iterations}", *search)


def _pacenote(setting: _Setting, tracks: Mapping[int, Path]) -> _ToolRun:
    """Runs a short and a long race; their difference gives the CPU time per search."""
    few, many = tracks
    short, long = (
        peers.pacenote(
            tracks[each], setting.server.port, setting.folder / "home", setting.core, ["--driver-threads=1"]
        )
        for each in (few, many)
    )
    additional = (many - few) * _CLIENTS
    micros = (long.command.cpu_s - short.command.cpu_s) / additional * 1e6
    return _ToolRun(micros, many * _CLIENTS / long.task["duration_s"])


def _wrk(setting: _Setting) -> _ToolRun:
    seconds = setting.options.choose(4, 1)
    done = peers.wrk(setting.server.port, setting.folder, setting.core, seconds, _CLIENTS)
    return _ToolRun(done.cpu_s / done.requests * 1e6, done.requests / done.wall_s)


def _rally(setting: _Setting, track: Path) -> _ToolRun:
    """Races on a core that Rally saturates, so the CPU time of a search is the inverse of the rate."""
    race = peers.rally(track, setting.server.port, setting.options.engines, setting.core)
    rate = race.result["throughput"]["mean"]
    return _ToolRun(1e6 / rate, rate)


def _outcome(runs: dict[str, list[_ToolRun]], without_rally: str) -> Outcome:
    names = {"pacenote": "pacenote", "wrk": "wrk", "rally": "Rally"}
    cpu = {
        tool: figure_by_block(f"CPU per search, {names[tool]}", "µs", [each.micros for each in ran])
        for tool, ran in runs.items()
    }
    rates = {
        tool: figure_by_block(
            f"searches per second on one core, {names[tool]}", "/s", [each.per_second for each in ran]
        )
        for tool, ran in runs.items()
    }
    ratios = {
        tool: ratio_by_block(f"CPU per search, pacenote / {names[tool]}", cpu["pacenote"], cpu[tool])
        for tool in runs
        if tool != "pacenote"
    }
    note = f"Rally {peers.rally_version()} saturates its core: CPU per search is the inverse of its rate"
    return Outcome(
        figures=(*cpu.values(), *rates.values(), *ratios.values()),
        targets=(
            Target(ratios["wrk"], _RATIO, at_most=True),
            Target(rates["pacenote"], _PER_CORE, at_most=False),
        ),
        notes=(
            f"{_CLIENTS} clients, replies below 500 B, nginx {null_server.version()} on the other core",
            "pacenote: the whole process, all samples stored; the difference between a long and a short race",
            f"wrk {peers.wrk_version()}: the whole process, one thread, a request that is built only once",
            *(() if without_rally else (note,)),
        ),
        incomplete=without_rally,
    )
