"""How fast documents get into a real engine, beside curl processes that post the very same bulks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import posted_bulks
from machine import PACENOTE, run, shares_since, temporary_folder, ticks
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.model.work import Request
from pacenote.net.rest import RestClient
from pacenote.plan.document import Plan
from pacenote.provision.engine import EngineRequest

_SETTLE_S = 3.0
"""Rest before an engine starts, so that what the one before left to be written is written, and before it is
used, so that its own beginnings are over.
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of indexing everything, once. CPU seconds are those of the senders, not of the engine."""

    seconds: float
    cpu_s: float
    whole_cpu_s: float
    stolen: float


@dataclass(frozen=True, slots=True)
class Setting:
    """What both arms share."""

    plan: Plan
    documents: int
    home: Path
    engines: Path
    folder: Path
    bodies: tuple[tuple[Path, ...], ...]


def measure(options: Options) -> Outcome:
    """Each arm several times in the order A B B A, every time into an engine that was just started."""
    documents = options.choose(1_000_000, 100_000)
    with temporary_folder() as folder:
        home = folder / "home"
        plan = posted_bulks.plan_of(home, documents)
        bodies = posted_bulks.write_bulks(plan, folder / "bulks")
        setting = Setting(plan, documents, home, options.engines, folder, bodies)
        ours: list[Arm] = []
        theirs: list[Arm] = []
        for pair in range(options.choose(4, 2)):
            turn: list[tuple[list[Arm], Callable[[Setting, EmbeddedCluster], Arm]]]
            turn = [(ours, _pacenote), (theirs, _curl)]
            for arms, run_arm in turn if pair % 2 == 0 else reversed(turn):
                arms.append(_in_new_engine(setting, run_arm))
        sent = f"{sum(map(len, bodies))} bulks, {posted_bulks.size_of(bodies) / 1e6:,.0f} MB"
        return _outcome(documents, ours, theirs, f"{posted_bulks.corpus_note(home)}; {sent}")


def _in_new_engine(setting: Setting, run_arm: Callable[[Setting, EmbeddedCluster], Arm]) -> Arm:
    os.sync()
    time.sleep(_SETTLE_S)
    artifacts = setting.folder / "artifacts"
    artifacts.mkdir(exist_ok=True)
    request = EngineRequest(home=setting.engines, artifacts=artifacts)
    with start_cluster(request) as cluster:
        time.sleep(_SETTLE_S)
        arm = run_arm(setting, cluster)
        _check_count(cluster.rest(), setting.documents)
    return arm


def _check_count(rest: RestClient, documents: int) -> None:
    """Raises BenchmarkError unless the engine holds every document once."""
    rest.request("POST", "/logs-*/_refresh")
    counted = rest.get("/logs-*/_count")["count"]
    if counted != documents:
        raise BenchmarkError(f"the engine counts {counted:,} documents instead of {documents:,}")


def _pacenote(setting: Setting, cluster: EmbeddedCluster) -> Arm:
    """A race; the time is that of its index task."""
    race_id = f"race-{time.monotonic_ns()}"
    command = [
        PACENOTE,
        "race",
        "--pipeline=benchmark-only",
        f"--target-hosts={cluster.hosts[0].address}",
        "--track=http_logs",
        f"--challenge={posted_bulks.CHALLENGE}",
        f"--track-params=docs:{setting.documents}",
        f"--race-id={race_id}",
        "--quiet",
    ]
    before = ticks()
    done = run(command, environment={"PACENOTE_HOME": str(setting.home)})
    _, stolen = shares_since(before)
    record = json.loads((setting.home / "races" / race_id / "race.json").read_text())
    task = _index_task(setting, record)
    driver_s = sum(thread["cpu_s"] for thread in record["driver"]["threads"])
    return Arm(task["duration_s"], driver_s, done.cpu_s, stolen)


def _index_task(setting: Setting, record: dict[str, Any]) -> dict[str, Any]:
    """The result of the index task. Raises BenchmarkError if it has not sent what curl sends."""
    planned, _ = posted_bulks.bulk_task(setting.plan)
    task: dict[str, Any] = next(task for task in record["tasks"] if task["task"] == planned.name)
    sent = task["accounting"]["requests"], task["work"]["done"]
    if sent != (sum(map(len, setting.bodies)), setting.documents):
        raise BenchmarkError(f"the race has sent {sent[0]} bulks with {sent[1]:,} accepted documents")
    return task


def _curl(setting: Setting, cluster: EmbeddedCluster) -> Arm:
    """The same requests before, then one curl process per client of the task."""
    for request in posted_bulks.before_bulks(setting.plan):
        _send(cluster.rest(), request)
    _, bulk = posted_bulks.bulk_task(setting.plan)
    url = f"{cluster.hosts[0]}{bulk.path}"
    configs = tuple(
        posted_bulks.write_curl_config(
            setting.folder / f"curl-{client}.config", url, dict(bulk.headers), bodies
        )
        for client, bodies in enumerate(setting.bodies)
    )
    before = ticks()
    posted = posted_bulks.post(configs)
    _, stolen = shares_since(before)
    return Arm(posted.wall_s, posted.cpu_s, posted.cpu_s, stolen)


def _send(rest: RestClient, request: Request) -> None:
    reply = rest.exchange(request.method, request.path, request.body)
    if not reply.ok and reply.status not in request.ignore:
        raise BenchmarkError(f"{request.method} {request.path} was answered with {reply.status}")


def _outcome(documents: int, ours: list[Arm], theirs: list[Arm], what: str) -> Outcome:
    millions = documents / 1e6

    def rates(name: str, arms: list[Arm]) -> Figure:
        return Figure(f"{name}, documents", "docs/s", tuple(documents / arm.seconds for arm in arms))

    def per_million(name: str, seconds: list[float]) -> Figure:
        return Figure(f"{name}, CPU per million documents", "s", tuple(s / millions for s in seconds))

    mine, curl = rates("pacenote", ours), rates("four curl", theirs)
    pairs = tuple(one / other for one, other in zip(mine.values, curl.values, strict=True))
    threads = per_million("driver threads", [arm.cpu_s for arm in ours])
    whole = per_million("whole race", [arm.whole_cpu_s for arm in ours])
    curls = per_million("four curl", [arm.cpu_s for arm in theirs])
    ratio = mine.median / curl.median
    stolen = max(arm.stolen for arm in (*ours, *theirs))
    return Outcome(
        figures=(mine, curl, Figure("pacenote / curl, per pair", "ratio", pairs), threads, whole, curls),
        targets=(Target("documents per second, pacenote / four curl", ratio, 1.0, "ratio", at_most=False),),
        notes=(
            what,
            "engine and senders share all cores, nothing is pinned; an engine is started for each arm",
            "the race is timed by its index task, curl from the start of the first process to the last exit",
            "the whole race is its Python part, recording and control too; generation is not in it",
            f"driver threads take {threads.median / curls.median:.2f} × curl's CPU time",
            f"at most {stolen:.1f} % of an arm's processor time went to other virtual machines",
        ),
    )
