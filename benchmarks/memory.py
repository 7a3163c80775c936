"""Measures the memory that a long race needs: ten million searches, with every sample stored."""

from __future__ import annotations

from pathlib import Path

import null_server
import peers
from machine import cores, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

_CLIENTS = 64
_LIMIT_MB = 200.0


def measure(options: Options) -> Outcome:
    """Measures the peak resident memory of the whole command, and of a race with 1 % of the operations."""
    missing = null_server.missing()
    if missing:
        return Outcome(skipped=missing)
    operations = options.choose(10_000_000, 1_000_000)
    serving, _ = cores()
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        races = range(options.choose(6, 1))
        home, tracks = folder / "home", [_track(folder, operations // 100), _track(folder, operations)]
        short = [_race(tracks[0], server.port, home) for _ in races]
        long = [_stored_race(tracks[1], server.port, home, operations) for _ in races]
    peak = Figure("peak resident memory", "MB", tuple(race.command.peak_mb for race, _ in long))
    few = tuple(race.command.peak_mb for race in short)
    return Outcome(
        figures=(
            peak,
            Figure("peak resident memory, a hundredth of the operations", "MB", few),
            Figure("samples.parquet per operation", "B", tuple(size / operations for _, size in long)),
            Figure(
                "operations per second", "/s", tuple(operations / race.task["duration_s"] for race, _ in long)
            ),
        ),
        targets=(Target(peak, _LIMIT_MB, at_most=True),),
        notes=(
            f"{operations:,} searches by {_CLIENTS} clients, --samples=all, Python and driver in one process",
            f"nginx {null_server.version()} answers on one core",
        ),
    )


def _track(folder: Path, operations: int) -> Path:
    search = peers.search(clients=_CLIENTS, iterations=operations // _CLIENTS)
    return peers.write_track(folder, f"search-{operations}", *search)


def _race(track: Path, port: int, home: Path) -> peers.PacenoteRun:
    return peers.pacenote(track, port, home, options=["--samples=all"])


def _stored_race(track: Path, port: int, home: Path, operations: int) -> tuple[peers.PacenoteRun, int]:
    """Returns a race and the size of its samples in bytes. Raises BenchmarkError if samples are missing."""
    race = _race(track, port, home)
    stored = race.record["driver"]["samples"]
    if stored != operations:
        raise BenchmarkError(f"{stored:,} of {operations:,} samples were stored")
    return race, (home / "races" / race.record["race-id"] / "samples.parquet").stat().st_size
