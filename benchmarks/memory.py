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
        short = _race(folder, server.port, operations // 100)
        long = _race(folder, server.port, operations)
        stored = long.record["driver"]["samples"]
        if stored != operations:
            raise BenchmarkError(f"{stored:,} of {operations:,} samples were stored")
        size = (folder / "home" / "races" / long.record["race-id"] / "samples.parquet").stat().st_size
    peak = Figure("peak resident memory", "MB", (long.command.peak_mb,))
    return Outcome(
        figures=(
            peak,
            Figure("peak resident memory, a hundredth of the operations", "MB", (short.command.peak_mb,)),
            Figure("samples.parquet per operation", "B", (size / operations,)),
            Figure("operations per second", "/s", (operations / long.task["duration_s"],)),
        ),
        targets=(Target("peak resident memory", peak.median, _LIMIT_MB, "MB", at_most=True),),
        notes=(
            f"{operations:,} searches by {_CLIENTS} clients, --samples=all, Python and driver in one process",
            f"nginx {null_server.version()} answers on one core",
        ),
    )


def _race(folder: Path, port: int, operations: int) -> peers.PacenoteRun:
    search = peers.search(clients=_CLIENTS, iterations=operations // _CLIENTS)
    track = peers.write_track(folder, f"search-{operations}", *search)
    return peers.pacenote(track, port, folder / "home", options=["--samples=all"])
