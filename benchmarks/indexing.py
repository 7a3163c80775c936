"""Measures the indexing rate with a real engine, compared with curl processes that send the same bulks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import curl_bulks
from machine import PACENOTE, cpu_shares_since, cpu_ticks, run, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.model.work import Request
from pacenote.net.rest import RestClient
from pacenote.plan.document import Plan
from pacenote.provision.engine import EngineRequest

_SETTLE_S = 3.0
"""Seconds to wait before an engine starts, so that the previous one finishes writing, and before it is used,
so that it finishes its startup work.
"""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run in which one of the two tools indexes all documents."""

    seconds: float
    """Duration of the indexing."""

    cpu_s: float
    """CPU time of the driver's threads or of curl, in seconds."""

    whole_cpu_s: float
    """CPU time of the whole command, in seconds."""

    stolen: float
    """Percentage of the CPU time of all cores that was used by other virtual machines."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The data and folders that both tools use."""

    plan: Plan
    """The plan of the race."""

    documents: int
    """Number of documents."""

    home: Path
    """The home folder of the races; it contains the corpus."""

    engines: Path
    """The home folder in which engines are assembled."""

    folder: Path
    """The temporary folder of the benchmark."""

    bodies: tuple[tuple[Path, ...], ...]
    """Files with the bulk bodies, by client."""


def measure(options: Options) -> Outcome:
    """Runs each tool several times in the order A B B A, each time with a newly started engine."""
    documents = options.choose(1_000_000, 100_000)
    with temporary_folder() as folder:
        home = folder / "home"
        plan = curl_bulks.plan_of(home, documents)
        bodies = curl_bulks.write_bulks(plan, folder / "bulks")
        setting = Setting(plan, documents, home, options.engines, folder, bodies)
        races: list[ToolRun] = []
        curls: list[ToolRun] = []
        for pair in range(options.choose(4, 2)):
            turn: list[tuple[list[ToolRun], Callable[[Setting, EmbeddedCluster], ToolRun]]]
            turn = [(races, _pacenote), (curls, _curl)]
            for runs, run_tool in turn if pair % 2 == 0 else reversed(turn):
                runs.append(_in_new_engine(setting, run_tool))
        sent = f"{sum(map(len, bodies))} bulks, {curl_bulks.size_of(bodies) / 1e6:,.0f} MB"
        return _outcome(documents, races, curls, f"{curl_bulks.corpus_note(home)}; {sent}")


def _in_new_engine(setting: Setting, run_tool: Callable[[Setting, EmbeddedCluster], ToolRun]) -> ToolRun:
    os.sync()
    time.sleep(_SETTLE_S)
    artifacts = setting.folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    request = EngineRequest(home=setting.engines, artifacts=artifacts)
    with start_cluster(request) as cluster:
        time.sleep(_SETTLE_S)
        tool_run = run_tool(setting, cluster)
        _check_count(cluster.rest(), setting.documents)
    return tool_run


def _check_count(rest: RestClient, documents: int) -> None:
    """Raises BenchmarkError unless the engine contains every document exactly once."""
    rest.request("POST", "/logs-*/_refresh")
    counted = rest.get("/logs-*/_count")["count"]
    if counted != documents:
        raise BenchmarkError(f"the engine counts {counted:,} documents instead of {documents:,}")


def _pacenote(setting: Setting, cluster: EmbeddedCluster) -> ToolRun:
    """Indexes with a race; the duration is that of its index task."""
    race_id = f"race-{time.monotonic_ns()}"
    command = [
        PACENOTE,
        "race",
        "--pipeline=benchmark-only",
        f"--target-hosts={cluster.hosts[0].address}",
        "--track=http_logs",
        f"--challenge={curl_bulks.CHALLENGE}",
        f"--track-params=docs:{setting.documents}",
        f"--race-id={race_id}",
        "--quiet",
    ]
    before = cpu_ticks()
    done = run(command, environment={"PACENOTE_HOME": str(setting.home)})
    stolen = cpu_shares_since(before).stolen
    record = json.loads((setting.home / "races" / race_id / "race.json").read_text())
    task = _index_task(setting, record)
    driver_s = sum(thread["cpu_s"] for thread in record["driver"]["threads"])
    return ToolRun(task["duration_s"], driver_s, done.cpu_s, stolen)


def _index_task(setting: Setting, record: dict[str, Any]) -> dict[str, Any]:
    """Returns the index task's result. Raises BenchmarkError if its bulks differ from those of curl."""
    planned, _ = curl_bulks.bulk_task(setting.plan)
    task: dict[str, Any] = next(task for task in record["tasks"] if task["task"] == planned.name)
    sent = task["accounting"]["requests"], task["work"]["done"]
    if sent != (sum(map(len, setting.bodies)), setting.documents):
        raise BenchmarkError(f"the race sent {sent[0]} bulks with {sent[1]:,} accepted documents")
    return task


def _curl(setting: Setting, cluster: EmbeddedCluster) -> ToolRun:
    """Sends the requests that precede the bulks, then runs one curl process per client of the task."""
    for request in curl_bulks.before_bulks(setting.plan):
        _send(cluster.rest(), request)
    _, bulk = curl_bulks.bulk_task(setting.plan)
    url = f"{cluster.hosts[0]}{bulk.path}"
    configs = tuple(
        curl_bulks.write_curl_config(
            setting.folder / f"curl-{client}.config", url, dict(bulk.headers), bodies
        )
        for client, bodies in enumerate(setting.bodies)
    )
    before = cpu_ticks()
    curl = curl_bulks.run_curl(configs)
    return ToolRun(curl.wall_s, curl.cpu_s, curl.cpu_s, cpu_shares_since(before).stolen)


def _send(rest: RestClient, request: Request) -> None:
    reply = rest.exchange(request.method, request.path, request.body)
    if not reply.ok and reply.status not in request.ignore:
        raise BenchmarkError(f"{request.method} {request.path} failed with status {reply.status}")


def _outcome(documents: int, races: list[ToolRun], curls: list[ToolRun], data_note: str) -> Outcome:
    millions = documents / 1e6

    def rates(name: str, runs: list[ToolRun]) -> Figure:
        return Figure(f"{name}, documents", "docs/s", tuple(documents / each.seconds for each in runs))

    def per_million(name: str, seconds: list[float]) -> Figure:
        return Figure(f"{name}, CPU per million documents", "s", tuple(s / millions for s in seconds))

    pacenote, curl = rates("pacenote", races), rates("four curl", curls)
    pairs = tuple(one / other for one, other in zip(pacenote.values, curl.values, strict=True))
    pair_ratio = Figure("pacenote / curl, per pair", "ratio", pairs)
    threads = per_million("driver threads", [each.cpu_s for each in races])
    whole = per_million("whole race", [each.whole_cpu_s for each in races])
    curl_cpu = per_million("four curl", [each.cpu_s for each in curls])
    ratio = pacenote.median / curl.median
    stolen = max(each.stolen for each in (*races, *curls))
    return Outcome(
        figures=(pacenote, curl, pair_ratio, threads, whole, curl_cpu),
        targets=(Target("documents per second, pacenote / four curl", ratio, 1.0, "ratio", at_most=False),),
        notes=(
            data_note,
            "engine and clients share all cores without pinning; each run gets a newly started engine",
            "race: the time of its index task; curl: from the start of the first process to the last exit",
            "the whole race includes Python, recording and control traffic, but not generation",
            f"driver threads take {threads.median / curl_cpu.median:.2f} × curl's CPU time",
            f"at most {stolen:.1f} % of the CPU time during any one run was used by other virtual machines",
        ),
    )
