"""Measures the indexing rate of Pacenote, Rally and the smallest sender with a real engine on the same cores.

All three connect to Elasticsearch directly: to 7.17, or to the core of the current version.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import bulk_bodies
import documents
import peers
from blocks import figure_by_block, ratio_by_block, run_blocks
from bulk_bodies import Bulks, DataFile
from documents import Corpus
from engines import check_count, delete_indices, started_engine
from machine import temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster

_BLOCKS = 8
_CLIENTS = 4
_OF_SENDER = 0.98
_OF_RALLYS_TIME = 0.25
_MAPPING = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s"},
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "@timestamp": {"type": "date", "format": "strict_date_optional_time||epoch_second"},
            "clientip": {"type": "ip"},
            "message": {"type": "text"},
            "request": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 256}}},
            "status": {"type": "integer"},
            "size": {"type": "integer"},
            "geoip": {"type": "object"},
        },
    },
}
_ACTION = '{"index":{"_index":"logs"}}'
_HEADERS = {"content-type": "application/x-ndjson", "accept-encoding": "gzip"}


@dataclass(frozen=True, slots=True)
class _ToolRun:
    """One run of one of the three tools."""

    documents_per_s: float
    """Documents per second, from the first bulk to the last reply."""

    wall_s: float
    """Wall time of the whole command in seconds; 0 for the smallest sender."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """The data and the engine that all tools use."""

    corpus: Corpus
    """The documents."""

    track: Path
    """The track that indexes them."""

    bulks: Bulks
    """The bodies of all bulks."""

    cluster: EmbeddedCluster
    """The engine."""

    folder: Path
    """The temporary folder of the benchmark."""

    engines: Path
    """The home folder in which engines and Rally are installed."""

    @property
    def port(self) -> int:
        """The port of the engine."""
        return self.cluster.hosts[0].port


def measure(options: Options) -> Outcome:
    """Runs the three tools in blocks, against one Elasticsearch 7.17 that all have warmed."""
    return _measure(options, "7.17.28")


def measure_current(options: Options) -> Outcome:
    """Runs them against the core of Elasticsearch 9.5."""
    return _measure(options, "9.5.3")


def _measure(options: Options, version: str) -> Outcome:
    if missing := peers.rally_missing(options.engines):
        return Outcome(skipped=missing)
    with temporary_folder() as folder:
        corpus = documents.generate(folder, options.choose(500_000, 50_000))
        track = corpus.track("index", _CLIENTS)
        (folder / "bulks").mkdir()
        data = DataFile(corpus.path, corpus.documents, _ACTION)
        bodies = bulk_bodies.write_bodies(data, _CLIENTS, documents.BULK_SIZE, folder / "bulks")
        bulks = Bulks("/_bulk", _HEADERS, tuple(map(tuple, bodies)))
        with started_engine(options, folder, "elasticsearch", version) as cluster:
            setting = _Setting(corpus, track, bulks, cluster, folder, options.engines)
            tools = {
                "pacenote": lambda: _with_new_index(setting, _pacenote),
                "sender": lambda: _with_new_index(setting, _sender),
                "rally": lambda: _with_new_index(setting, _rally),
            }
            run_blocks(1, tools)
            runs = run_blocks(options.choose_blocks(_BLOCKS), tools)
    bulks_note = f"{corpus.note}; bulks of {documents.BULK_SIZE:,} by {_CLIENTS} clients"
    engine_note = f"Rally {peers.rally_version()} and Pacenote connect to Elasticsearch {version} directly"
    return _outcome(runs, (bulks_note, engine_note))


def _with_new_index(setting: _Setting, tool: Callable[[_Setting], _ToolRun]) -> _ToolRun:
    rest = setting.cluster.rest()
    delete_indices(rest, "logs*")
    created = rest.exchange("PUT", "/logs", json.dumps(_MAPPING))
    if not created.ok:
        raise BenchmarkError(f"the index could not be created: status {created.status}")
    tool_run = tool(setting)
    check_count(rest, "logs", setting.corpus.documents)
    return tool_run


def _pacenote(setting: _Setting) -> _ToolRun:
    race = peers.pacenote(setting.track, setting.port, setting.folder / "home")
    sent = race.task["accounting"]["requests"], race.task["content_out"]
    if sent != (setting.bulks.count, setting.bulks.size):
        raise BenchmarkError(f"the race sent {sent[0]} bulks with {sent[1]:,} B, unlike the sender")
    return _ToolRun(setting.corpus.documents / race.task["duration_s"], race.command.wall_s)


def _sender(setting: _Setting) -> _ToolRun:
    sent = bulk_bodies.send(setting.bulks, setting.port, setting.folder)
    return _ToolRun(setting.corpus.documents / sent.seconds, 0.0)


def _rally(setting: _Setting) -> _ToolRun:
    race = peers.rally(setting.track, setting.port, setting.engines)
    # Rally's own throughput is not used: it covers only the samples after warm-up.
    return _ToolRun(setting.corpus.documents / (race.result["duration"] / 1000), race.command.wall_s)


def _outcome(runs: dict[str, list[_ToolRun]], notes: tuple[str, ...]) -> Outcome:
    def rate(name: str, tool: str) -> Figure:
        values = [each.documents_per_s for each in runs[tool]]
        return figure_by_block(f"documents per second, {name}", "docs/s", values)

    def wall(name: str, tool: str) -> Figure:
        return figure_by_block(f"whole command, {name}", "s", [each.wall_s for each in runs[tool]])

    pacenote, rally = rate("pacenote", "pacenote"), rate("Rally", "rally")
    sender = rate("smallest sender", "sender")
    pacenote_wall, rally_wall = wall("pacenote", "pacenote"), wall("Rally", "rally")
    of_sender = ratio_by_block("documents per second, pacenote / smallest sender", pacenote, sender)
    of_rally = ratio_by_block("documents per second, pacenote / Rally", pacenote, rally)
    time_ratio = ratio_by_block("whole command, pacenote / Rally", pacenote_wall, rally_wall)
    return Outcome(
        figures=(pacenote, sender, rally, of_sender, of_rally, pacenote_wall, rally_wall, time_ratio),
        targets=(
            Target(of_sender, _OF_SENDER, at_most=False),
            Target(time_ratio, _OF_RALLYS_TIME, at_most=True),
        ),
        notes=(
            *notes,
            "engine and clients share all cores without pinning; one engine, warmed by all tools; each run"
            " gets a new index",
            "documents per second of the index task, from its first request to its last reply",
        ),
    )
