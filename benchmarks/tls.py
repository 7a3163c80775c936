"""Measures the CPU time that TLS adds to small searches and to bulks, with a server that does nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import documents
import null_server
import peers
from blocks import figure_by_block, ratio_by_block, run_blocks
from machine import cores, temporary_folder
from outcome import Options, Outcome

_BLOCKS = 6
_CLIENTS = 16
_TLS = "--client-options=use_ssl:true,verify_certs:false"


@dataclass(frozen=True, slots=True)
class _Load:
    """A short and a long race of one operation; their difference excludes startup."""

    unit: str
    """The name of a unit of work."""

    short: Path
    """Folder of the short track."""

    long: Path
    """Folder of the long track."""

    def micros(self, port: int, home: Path, core: int, options: Sequence[str]) -> float:
        """Runs both races; returns the CPU time of a unit of work in microseconds."""
        given = ["--driver-threads=1", *options]
        short, long = (peers.pacenote(track, port, home, core, given) for track in (self.short, self.long))
        additional: float = long.task["work"]["done"] - short.task["work"]["done"]
        taken_s: float = long.command.cpu_s - short.command.cpu_s
        return taken_s / additional * 1e6


def measure(options: Options) -> Outcome:
    """Runs both loads with and without TLS in blocks; the servers run on one core, Pacenote on another."""
    if missing := null_server.tls_missing():
        return Outcome(skipped=missing)
    serving, measured = cores()
    with (
        temporary_folder() as folder,
        null_server.null_server(serving) as plain,
        null_server.null_server(serving, tls=True) as secured,
    ):
        corpus = documents.generate(folder, options.choose(1_000_000, 100_000))
        loads = _searches(folder, options), _bulks(corpus, options)
        home = folder / "home"
        tools: dict[str, Callable[[], float]] = {}
        for load in loads:
            tools[load.unit] = partial(load.micros, plain.port, home, measured, ())
            tools[f"{load.unit} over TLS"] = partial(load.micros, secured.port, home, measured, [_TLS])
        runs = run_blocks(options.choose_blocks(_BLOCKS), tools)
    return _outcome(runs, corpus.note)


def _searches(folder: Path, options: Options) -> _Load:
    few, many = options.choose(1000, 200), options.choose(10_000, 2000)
    short, long = (
        peers.write_track(folder, f"search-{each}", *peers.search(clients=_CLIENTS, iterations=each))
        for each in (few, many)
    )
    return _Load("search", short, long)


def _bulks(corpus: documents.Corpus, options: Options) -> _Load:
    seconds = options.choose(2, 1), options.choose(5, 2)
    short, long = (corpus.track(f"looped-{each}", _CLIENTS, each) for each in seconds)
    return _Load("document", short, long)


def _outcome(runs: dict[str, list[float]], corpus: str) -> Outcome:
    figures = {name: figure_by_block(f"CPU per {name}", "µs", values) for name, values in runs.items()}
    ratios = [
        ratio_by_block(f"CPU per {unit}, with TLS / without", figures[f"{unit} over TLS"], figures[unit])
        for unit in ("search", "document")
    ]
    return Outcome(
        figures=(*figures.values(), *ratios),
        targets=(),
        notes=(
            f"{_CLIENTS} clients on one core; TLS 1.3; nginx {null_server.version()} on the other core",
            f"{corpus}; bulks of {documents.BULK_SIZE:,}",
            "the whole process, all samples stored; the difference between a long and a short race",
        ),
    )
