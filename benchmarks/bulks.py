"""Measures how many documents one core can send to a server that does nothing, compared with Rally."""

from __future__ import annotations

from pathlib import Path

import documents
import null_server
import peers
from documents import Corpus
from machine import cores, temporary_folder
from outcome import Figure, Options, Outcome, Target

_CLIENTS = 8
_PER_CORE = 10_000_000.0


def measure(options: Options) -> Outcome:
    """Runs a short and a long race several times; the server runs on one core, everything else on another."""
    if missing := null_server.missing():
        return Outcome(skipped=missing)
    serving, measured = cores()
    rates, per_cpu = [], []
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        corpus = documents.generate(folder, options.choose(1_000_000, 100_000))
        seconds = options.choose(2, 1), options.choose(5, 2)
        tracks = [corpus.track(f"looped-{each}", _CLIENTS, each) for each in seconds]
        for _ in range(options.choose(4, 1)):
            short, long = (_race(track, server.port, folder, measured) for track in tracks)
            additional = long.task["work"]["done"] - short.task["work"]["done"]
            per_cpu.append(additional / (long.command.cpu_s - short.command.cpu_s))
            rates.append(long.task["work"]["done"] / long.task["duration_s"])
        rally, notes = _rally(options, server.port, corpus, measured)
    pacenote = Figure("documents per CPU second, pacenote", "docs/s", tuple(per_cpu))
    return Outcome(
        figures=(pacenote, Figure("documents per second, pacenote", "docs/s", tuple(rates)), *rally),
        targets=(Target("documents per core", pacenote.median, _PER_CORE, "docs/s", at_most=False),),
        notes=(
            f"{corpus.note}; bulks of {documents.BULK_SIZE:,} by {_CLIENTS} clients",
            f"nginx {null_server.version()} on the other core discards the bulks; its replies have no items",
            "pacenote: all threads, including Python; the difference between a long and a short race",
            *notes,
            *(
                f"pacenote sends {pacenote.median / each.median:,.0f} times as many documents per core "
                "as Rally"
                for each in rally
            ),
        ),
    )


def _race(track: Path, port: int, folder: Path, core: int) -> peers.PacenoteRun:
    return peers.pacenote(track, port, folder / "home", core, ["--driver-threads=1"])


def _rally(
    options: Options, port: int, corpus: Corpus, core: int
) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Returns the figures and notes of Rally, which posts the corpus once and saturates its core."""
    if missing := peers.rally_missing(options.engines):
        return (), (missing,)
    track = corpus.track("once", _CLIENTS)
    races = [peers.rally(track, port, options.engines, core) for _ in range(options.choose(2, 1))]
    rates = tuple(corpus.documents / (race.result["duration"] / 1000) for race in races)
    note = (
        f"Rally {peers.rally_version()} posts the corpus once, alone on its core; timed until its last reply"
    )
    return (Figure("documents per second on one core, Rally", "docs/s", rates),), (note,)
