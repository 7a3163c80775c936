"""How many documents a core gets out of the door: bulks into a server that does nothing, beside Rally."""

from __future__ import annotations

import json
from pathlib import Path

import null_server
import peers
from machine import PACENOTE, cores, run, temporary_folder
from outcome import Figure, Options, Outcome, Target

_CLIENTS = 8
_BULK = 5000
_PER_CORE = 10_000_000.0


def measure(options: Options) -> Outcome:
    """Races for a time over one file, again and again; the server on one core, all else on the other."""
    if missing := null_server.missing():
        return Outcome(skipped=missing)
    serving, measured = cores()
    documents = options.choose(1_000_000, 100_000)
    rates, per_cpu = [], []
    with temporary_folder() as folder, null_server.null_server(serving) as server:
        corpus, note = _corpus(folder, documents)
        seconds = options.choose(2, 1), options.choose(8, 2)
        short, long = (_track(folder, corpus, "looped", time, documents) for time in seconds)
        for _ in range(options.choose(4, 1)):
            one, other = (_race(track, server.port, folder, measured) for track in (short, long))
            more = other.task["work"]["done"] - one.task["work"]["done"]
            per_cpu.append(more / (other.command.cpu_s - one.command.cpu_s))
            rates.append(other.task["work"]["done"] / other.task["duration_s"])
        rally, notes = _rally(options, server.port, folder, corpus, documents)
    ours = Figure("documents per CPU second, pacenote", "docs/s", tuple(per_cpu))
    return Outcome(
        figures=(ours, Figure("documents per second, pacenote", "docs/s", tuple(rates)), *rally),
        targets=(Target("documents per core", ours.median, _PER_CORE, "docs/s", at_most=False),),
        notes=(
            f"{note}; bulks of {_BULK:,} by {_CLIENTS} clients",
            f"nginx {null_server.version()} on the other core reads and forgets; its replies have no items",
            "pacenote: all threads and Python; what a longer race takes more than a shorter one",
            *notes,
            *(f"pacenote sends {ours.median / each.median:,.1f} × as many per core" for each in rally),
        ),
    )


def _corpus(folder: Path, documents: int) -> tuple[Path, str]:
    """One file of documents of http_logs."""
    made = folder / "generated"
    made.mkdir()
    command = [PACENOTE, "generate", "http_logs", f"--docs={documents}", f"--output-path={made}", "--quiet"]
    run(command)
    corpus = folder / "documents.json"
    with corpus.open("wb") as out:
        for file in json.loads((made / "generated.json").read_text())["files"]:
            out.write((made / file["name"]).read_bytes())
    return corpus, f"{documents:,} documents of http_logs, {corpus.stat().st_size / documents:.0f} B each"


def _track(folder: Path, corpus: Path, name: str, seconds: int, documents: int) -> Path:
    """A track that posts the corpus for so long; of 0 seconds, once."""
    operation = {"operation-type": "bulk", "bulk-size": _BULK, "looped": seconds > 0}
    how = {"clients": _CLIENTS, **({"warmup-time-period": 0, "time-period": seconds} if seconds else {})}
    data = {
        "source-file": corpus.name,
        "document-count": documents,
        "uncompressed-bytes": corpus.stat().st_size,
    }
    track = peers.write_track(folder, f"{name}-{seconds}", operation, how, data)
    peers.link_or_copy(corpus, track / corpus.name)
    return track


def _race(track: Path, port: int, folder: Path, core: int) -> peers.Raced:
    return peers.pacenote(track, port, folder / "home", core, ["--driver-threads=1"])


def _rally(
    options: Options, port: int, folder: Path, corpus: Path, documents: int
) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Rally's rate on a core that it fills, the corpus posted once."""
    missing = peers.rally_missing(options.engines)
    if missing:
        return (), (missing,)
    track = _track(folder, corpus, "once", 0, documents)
    races = [peers.rally(track, port, options.engines, cores()[1]) for _ in range(options.choose(2, 1))]
    rates = tuple(race.result["throughput"]["mean"] for race in races)
    note = f"Rally {peers.rally_version()} posts the corpus once; its rate is its mean throughput on its core"
    return (Figure("documents per second on one core, Rally", "docs/s", rates),), (note,)
