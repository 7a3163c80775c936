"""How fast documents get into a real engine that shares the cores with who sends them, beside Rally.

Rally refuses any engine but Elasticsearch 8 and later. Both talk to the embedded engine through the same
nginx, which answers `/` as such an Elasticsearch and takes the version out of media types; both pay for it.
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
class _Arm:
    """One sender, once: documents per second of the task, and the whole command."""

    documents_per_s: float
    wall_s: float
    cpu_s: float


def measure(options: Options) -> Outcome:
    """Both in the order A B B A, every time into an engine that was just started."""
    if missing := null_server.missing() or peers.rally_missing(options.engines):
        return Outcome(skipped=missing)
    ours: list[_Arm] = []
    theirs: list[_Arm] = []
    with temporary_folder() as folder:
        corpus = documents.generate(folder, options.choose(500_000, 100_000))
        track = corpus.track("index", _CLIENTS)

        def pacenote(port: int) -> _Arm:
            raced = peers.pacenote(track, port, folder / "home")
            task = raced.task
            return _Arm(task["work"]["done"] / task["duration_s"], raced.command.wall_s, raced.command.cpu_s)

        def rally(port: int) -> _Arm:
            raced = peers.rally(track, port, options.engines)
            # Not its throughput, which is of the samples after warm-up.
            seconds = raced.result["duration"] / 1000
            return _Arm(corpus.documents / seconds, raced.command.wall_s, raced.command.cpu_s)

        for pair in range(options.choose(2, 1)):
            turn = [(ours, pacenote), (theirs, rally)]
            for arms, run_arm in turn if pair % 2 == 0 else reversed(turn):
                arms.append(_in_new_engine(options, folder, corpus.documents, run_arm))
    return _outcome(ours, theirs, corpus.note)


def _in_new_engine(options: Options, folder: Path, expected: int, run_arm: Callable[[int], _Arm]) -> _Arm:
    os.sync()
    time.sleep(_SETTLE_S)
    artifacts = folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    with start_cluster(EngineRequest(home=options.engines, artifacts=artifacts)) as cluster:
        time.sleep(_SETTLE_S)
        rest = cluster.rest()
        made = rest.exchange("PUT", "/logs", json.dumps(_MAPPING))
        if not made.ok:
            raise BenchmarkError(f"the index was not made: status {made.status}")
        with null_server.null_server(None, upstream=cluster.hosts[0].port) as server:
            arm = run_arm(server.port)
        _check_count(rest, expected)
    return arm


def _check_count(rest: RestClient, expected: int) -> None:
    """Raises BenchmarkError unless the engine holds every document once."""
    rest.request("POST", "/logs/_refresh")
    counted = rest.get("/logs/_count")["count"]
    if counted != expected:
        raise BenchmarkError(f"the engine counts {counted:,} documents instead of {expected:,}")


def _outcome(ours: list[_Arm], theirs: list[_Arm], note: str) -> Outcome:
    def figure(name: str, arms: list[_Arm]) -> Figure:
        return Figure(f"documents per second, {name}", "docs/s", tuple(arm.documents_per_s for arm in arms))

    def wall(name: str, arms: list[_Arm]) -> Figure:
        return Figure(f"whole command, {name}", "s", tuple(arm.wall_s for arm in arms))

    mine, its = figure("pacenote", ours), figure("Rally", theirs)
    my_wall, its_wall = wall("pacenote", ours), wall("Rally", theirs)
    pairs = tuple(one / other for one, other in zip(mine.values, its.values, strict=True))
    ratio = mine.median / its.median
    return Outcome(
        figures=(mine, its, Figure("pacenote / Rally, per pair", "ratio", pairs), my_wall, its_wall),
        targets=(Target("documents per second, pacenote / Rally", ratio, _RATIO, "ratio", at_most=False),),
        notes=(
            f"{note}; bulks of {documents.BULK_SIZE:,} by {_CLIENTS} clients",
            f"Rally {peers.rally_version()}; both through nginx {null_server.version()}, which says that the"
            " engine is an Elasticsearch 8, since Rally talks to no other",
            "engine, nginx and senders share all cores, nothing is pinned; an engine is started for each arm",
            "documents per second of the index task, from its first request to its last reply",
            f"the whole command takes Rally {its_wall.median / my_wall.median:.1f} × as long",
        ),
    )
