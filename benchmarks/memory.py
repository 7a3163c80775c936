"""How much memory a race takes, whatever its length: ten million searches, every one kept."""

from __future__ import annotations

from pathlib import Path

import null_server
import peers
from machine import cores, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

_CLIENTS = 64
_LIMIT_MB = 200.0


def measure(options: Options) -> Outcome:
    """The largest resident memory of the whole command, beside that of a race a hundredth as long."""
    missing = null_server.missing()
    if missing:
        return Outcome(skipped=missing)
    operations = options.choose(10_000_000, 1_000_000)
    serving, _ = cores()
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        short = _race(folder, server.port, operations // 100)
        long = _race(folder, server.port, operations)
        kept = long.record["driver"]["samples"]
        if kept != operations:
            raise BenchmarkError(f"{kept:,} of {operations:,} samples were kept")
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
            f"nginx {null_server.version()} answers, on one core",
        ),
    )


def _race(folder: Path, port: int, operations: int) -> peers.Raced:
    how = peers.search(clients=_CLIENTS, iterations=operations // _CLIENTS)
    track = peers.write_track(folder, f"search-{operations}", *how)
    return peers.pacenote(track, port, folder / "home", options=["--samples=all"])
