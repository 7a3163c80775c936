"""Measures how many documents one core can send to a server that does nothing, compared with Rally."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import documents
import null_server
import peers
from blocks import figure_by_block, ratio_by_block, run_blocks
from documents import Corpus
from machine import cores, temporary_folder
from outcome import Options, Outcome, Target

_BLOCKS = 6
_CLIENTS = 8
_PER_CORE = 10_000_000.0


@dataclass(frozen=True, slots=True)
class _ToolRun:
    """One measurement of one of the two tools."""

    per_cpu: float
    """Documents per second of CPU time."""

    per_second: float
    """Documents per second."""


def measure(options: Options) -> Outcome:
    """Runs both tools in blocks; the server runs on one core, everything else on another."""
    if missing := null_server.missing():
        return Outcome(skipped=missing)
    serving, measured = cores()
    without_rally = peers.rally_missing(options.engines)
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        corpus = documents.generate(folder, options.choose(1_000_000, 100_000))
        seconds = options.choose(2, 1), options.choose(5, 2)
        tracks = [corpus.track(f"looped-{each}", _CLIENTS, each) for each in seconds]
        once = corpus.track("once", _CLIENTS)
        tools = {"pacenote": lambda: _pacenote(tracks, server.port, folder, measured)}
        if not without_rally:
            tools["rally"] = lambda: _rally(options, once, server.port, corpus.documents)
        runs = run_blocks(options.choose_blocks(_BLOCKS), tools)
    return _outcome(runs, corpus, without_rally)


def _pacenote(tracks: list[Path], port: int, folder: Path, core: int) -> _ToolRun:
    """Runs a short and a long race; their difference excludes startup."""
    short, long = (
        peers.pacenote(track, port, folder / "home", core, ["--driver-threads=1"]) for track in tracks
    )
    additional = long.task["work"]["done"] - short.task["work"]["done"]
    per_cpu = additional / (long.command.cpu_s - short.command.cpu_s)
    return _ToolRun(per_cpu, long.task["work"]["done"] / long.task["duration_s"])


def _rally(options: Options, track: Path, port: int, posted: int) -> _ToolRun:
    """Posts the corpus once, on a core that Rally saturates."""
    race = peers.rally(track, port, options.engines, cores()[1])
    rate = posted / (race.result["duration"] / 1000)
    return _ToolRun(rate, rate)


def _outcome(runs: dict[str, list[_ToolRun]], corpus: Corpus, without_rally: str) -> Outcome:
    pacenote = figure_by_block(
        "documents per CPU second, pacenote", "docs/s", [each.per_cpu for each in runs["pacenote"]]
    )
    rates = figure_by_block(
        "documents per second, pacenote", "docs/s", [each.per_second for each in runs["pacenote"]]
    )
    figures, notes = [pacenote, rates], []
    if rally_runs := runs.get("rally"):
        rally = figure_by_block(
            "documents per second on one core, Rally", "docs/s", [each.per_cpu for each in rally_runs]
        )
        figures += [rally, ratio_by_block("documents per core, pacenote / Rally", pacenote, rally)]
        notes.append(
            f"Rally {peers.rally_version()} posts the corpus once, alone on its core; timed until its last"
            " reply"
        )
    return Outcome(
        figures=tuple(figures),
        targets=(Target(pacenote, _PER_CORE, at_most=False),),
        notes=(
            f"{corpus.note}; bulks of {documents.BULK_SIZE:,} by {_CLIENTS} clients",
            f"nginx {null_server.version()} on the other core discards the bulks; its replies have one item",
            "pacenote: all threads, including Python; the difference between a long and a short race",
            *notes,
        ),
        incomplete=without_rally,
    )
