"""Measures the indexing rate with a real engine on the same cores, compared with Rally.

Rally connects only to Elasticsearch 8 and later. Both tools therefore reach the embedded engine through the
same nginx, which answers `/` like an Elasticsearch 8 node and removes the version from media types; its cost
is the same for both.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import documents
import null_server
import peers
from machine import temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import start_cluster
from pacenote.net.rest import RestClient
from pacenote.provision.engine import EngineRequest

_CLIENTS = 4
_SETTLE_S = 3.0
_RATIO = 1.3
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


@dataclass(frozen=True, slots=True)
class _ToolRun:
    """One run of one of the two tools."""

    documents_per_s: float
    """Documents per second of the index task."""

    wall_s: float
    """Wall time of the whole command in seconds."""

    cpu_s: float
    """CPU time of the whole command in seconds."""


def measure(options: Options) -> Outcome:
    """Runs both tools in the order A B B A, each time with a newly started engine."""
    if missing := null_server.missing() or peers.rally_missing(options.engines):
        return Outcome(skipped=missing)
    pacenote_runs: list[_ToolRun] = []
    rally_runs: list[_ToolRun] = []
    with temporary_folder() as folder:
        corpus = documents.generate(folder, options.choose(500_000, 100_000))
        track = corpus.track("index", _CLIENTS)

        def pacenote(port: int) -> _ToolRun:
            race = peers.pacenote(track, port, folder / "home")
            task = race.task
            return _ToolRun(
                task["work"]["done"] / task["duration_s"], race.command.wall_s, race.command.cpu_s
            )

        def rally(port: int) -> _ToolRun:
            race = peers.rally(track, port, options.engines)
            # Rally's own throughput is not used: it covers only the samples after warm-up.
            seconds = race.result["duration"] / 1000
            return _ToolRun(corpus.documents / seconds, race.command.wall_s, race.command.cpu_s)

        for pair in range(options.choose(2, 1)):
            turn = [(pacenote_runs, pacenote), (rally_runs, rally)]
            for runs, run_tool in turn if pair % 2 == 0 else reversed(turn):
                runs.append(_in_new_engine(options, folder, corpus.documents, run_tool))
    return _outcome(pacenote_runs, rally_runs, corpus.note)


def _in_new_engine(
    options: Options, folder: Path, expected: int, run_tool: Callable[[int], _ToolRun]
) -> _ToolRun:
    os.sync()
    time.sleep(_SETTLE_S)
    artifacts = folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    with start_cluster(EngineRequest(home=options.engines, artifacts=artifacts)) as cluster:
        time.sleep(_SETTLE_S)
        rest = cluster.rest()
        created = rest.exchange("PUT", "/logs", json.dumps(_MAPPING))
        if not created.ok:
            raise BenchmarkError(f"the index could not be created: status {created.status}")
        with null_server.null_server(None, upstream=cluster.hosts[0].port) as server:
            tool_run = run_tool(server.port)
        _check_count(rest, expected)
    return tool_run


def _check_count(rest: RestClient, expected: int) -> None:
    """Raises BenchmarkError unless the engine contains every document exactly once."""
    rest.request("POST", "/logs/_refresh")
    counted = rest.get("/logs/_count")["count"]
    if counted != expected:
        raise BenchmarkError(f"the engine counts {counted:,} documents instead of {expected:,}")


def _outcome(pacenote_runs: list[_ToolRun], rally_runs: list[_ToolRun], note: str) -> Outcome:
    def figure(name: str, runs: list[_ToolRun]) -> Figure:
        return Figure(f"documents per second, {name}", "docs/s", tuple(each.documents_per_s for each in runs))

    def wall(name: str, runs: list[_ToolRun]) -> Figure:
        return Figure(f"whole command, {name}", "s", tuple(each.wall_s for each in runs))

    pacenote, rally = figure("pacenote", pacenote_runs), figure("Rally", rally_runs)
    pacenote_wall, rally_wall = wall("pacenote", pacenote_runs), wall("Rally", rally_runs)
    pairs = tuple(one / other for one, other in zip(pacenote.values, rally.values, strict=True))
    pair_ratio = Figure("pacenote / Rally, per pair", "ratio", pairs)
    ratio = pacenote.median / rally.median
    return Outcome(
        figures=(pacenote, rally, pair_ratio, pacenote_wall, rally_wall),
        targets=(Target("documents per second, pacenote / Rally", ratio, _RATIO, "ratio", at_most=False),),
        notes=(
            f"{note}; bulks of {documents.BULK_SIZE:,} by {_CLIENTS} clients",
            f"Rally {peers.rally_version()}; both through nginx {null_server.version()}, which answers like"
            " an Elasticsearch 8 node, because Rally does not connect to other engines",
            "engine, nginx and clients share all cores without pinning; each run gets a newly started engine",
            "documents per second of the index task, from its first request to its last reply",
            f"Rally's whole command takes {rally_wall.median / pacenote_wall.median:.1f} times as long",
        ),
    )
