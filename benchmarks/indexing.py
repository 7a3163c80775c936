"""Measures the indexing rate with a real engine, compared with the smallest sender of the same bulks."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bulk_bodies
from blocks import figure_by_block, ratio_by_block, run_blocks
from bulk_bodies import Bulks
from engines import check_count, delete_indices, started_engine
from machine import PACENOTE, cpu_shares_since, cpu_ticks, run, temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster
from pacenote.model.work import Request
from pacenote.net.rest import RestClient
from pacenote.plan.document import Plan

_BLOCKS = 16
_RATIO = 0.98
_INDICES = "logs-*"


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run in which one of the two tools indexes all documents."""

    seconds: float
    """Duration of the indexing."""

    cpu_s: float
    """CPU time of the driver's threads or of the sender, in seconds."""

    whole_cpu_s: float
    """CPU time of the whole command, in seconds."""

    stolen: float
    """Percentage of the CPU time of all cores that was used by other virtual machines."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The data, folders and engine that both tools use."""

    plan: Plan
    """The plan of the race."""

    documents: int
    """Number of documents."""

    home: Path
    """The home folder of the races; it contains the corpus."""

    folder: Path
    """The temporary folder of the benchmark."""

    bulks: Bulks
    """The bodies of all bulks."""

    cluster: EmbeddedCluster
    """The engine."""


def measure(options: Options) -> Outcome:
    """Runs both tools in blocks, against one engine that both have warmed."""
    documents = options.choose(1_000_000, 100_000)
    with temporary_folder() as folder:
        home = folder / "home"
        plan = bulk_bodies.plan_of(home, documents)
        bulks = bulk_bodies.bulks_of_plan(plan, folder / "bulks")
        with started_engine(options, folder, "opensearch") as cluster:
            setting = Setting(plan, documents, home, folder, bulks, cluster)
            tools = {"pacenote": lambda: _pacenote(setting), "sender": lambda: _sender(setting)}
            for _ in range(options.choose(2, 1)):
                run_blocks(1, tools)
            runs = run_blocks(options.choose_blocks(_BLOCKS), tools)
        note = f"{bulk_bodies.corpus_note(home)}; {bulks.count} bulks, {bulks.size / 1e6:,.0f} MB"
        return _outcome(documents, runs["pacenote"], runs["sender"], note)


def _pacenote(setting: Setting) -> ToolRun:
    """Indexes with a race; the duration is that of its index task."""
    delete_indices(setting.cluster.rest(), _INDICES)
    race_id = f"race-{time.monotonic_ns()}"
    command = [
        PACENOTE,
        "race",
        "--pipeline=benchmark-only",
        f"--target-hosts={setting.cluster.hosts[0].address}",
        "--track=http_logs",
        "--track-repository=bundled",
        f"--challenge={bulk_bodies.CHALLENGE}",
        f"--track-params=docs:{setting.documents}",
        f"--race-id={race_id}",
        "--quiet",
    ]
    before = cpu_ticks()
    done = run(command, environment={"PACENOTE_HOME": str(setting.home)})
    stolen = cpu_shares_since(before).stolen
    check_count(setting.cluster.rest(), _INDICES, setting.documents)
    record = json.loads((setting.home / "races" / race_id / "race.json").read_text())
    task = _index_task(setting, record)
    driver_s = sum(thread["cpu_s"] for thread in record["driver"]["threads"])
    return ToolRun(task["duration_s"], driver_s, done.cpu_s, stolen)


def _index_task(setting: Setting, record: dict[str, Any]) -> dict[str, Any]:
    """Returns the index task's result. Raises BenchmarkError if its bulks differ from those of the sender."""
    planned, _ = bulk_bodies.bulk_task(setting.plan)
    task: dict[str, Any] = next(task for task in record["tasks"] if task["task"] == planned.name)
    sent = task["accounting"]["requests"], task["content_out"]
    if sent != (setting.bulks.count, setting.bulks.size):
        raise BenchmarkError(f"the race sent {sent[0]} bulks with {sent[1]:,} B, unlike the sender")
    return task


def _sender(setting: Setting) -> ToolRun:
    """Sends the requests that precede the bulks, then the bulks."""
    rest = setting.cluster.rest()
    delete_indices(rest, _INDICES)
    for request in bulk_bodies.before_bulks(setting.plan):
        _send(rest, request)
    before = cpu_ticks()
    sent = bulk_bodies.send(setting.bulks, setting.cluster.hosts[0].port, setting.folder)
    stolen = cpu_shares_since(before).stolen
    check_count(rest, _INDICES, setting.documents)
    return ToolRun(sent.seconds, sent.cpu_s, sent.cpu_s, stolen)


def _send(rest: RestClient, request: Request) -> None:
    reply = rest.exchange(request.method, request.path, request.body)
    if not reply.ok and reply.status not in request.ignore:
        raise BenchmarkError(f"{request.method} {request.path} failed with status {reply.status}")


def _outcome(documents: int, races: list[ToolRun], senders: list[ToolRun], data_note: str) -> Outcome:
    millions = documents / 1e6

    def rates(name: str, runs: list[ToolRun]) -> Figure:
        return figure_by_block(f"{name}, documents", "docs/s", [documents / each.seconds for each in runs])

    def per_million(name: str, seconds: list[float]) -> Figure:
        return figure_by_block(f"{name}, CPU per million documents", "s", [s / millions for s in seconds])

    pacenote, sender = rates("pacenote", races), rates("smallest sender", senders)
    ratio = ratio_by_block("documents per second, pacenote / smallest sender", pacenote, sender)
    threads = per_million("driver threads", [each.cpu_s for each in races])
    whole = per_million("whole race", [each.whole_cpu_s for each in races])
    sender_cpu = per_million("smallest sender", [each.cpu_s for each in senders])
    stolen = max(each.stolen for each in (*races, *senders))
    return Outcome(
        figures=(pacenote, sender, ratio, threads, whole, sender_cpu),
        targets=(Target(ratio, _RATIO, at_most=False),),
        notes=(
            data_note,
            "engine and clients share all cores without pinning; one engine, warmed by both tools; each run"
            " gets new indices",
            "race: the time of its index task; sender: from its first request to its last reply",
            "the whole race includes Python, recording and control traffic, but not generation",
            f"at most {stolen:.1f} % of the CPU time during any one run was used by other virtual machines",
        ),
    )
