"""Races as a user starts them: the command, a real engine, the race folder."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.provision.cars import compose_car
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.layout import create_layout
from pacenote.system.process import process_identity

pytestmark = pytest.mark.engine

SMALL = "warmup_iterations:5,iterations:20,expensive_warmup_iterations:2,expensive_iterations:10"
REAL_CORPUS = Path(__file__).parents[2].parent / "shared" / "data" / "http_logs-real-10k.json.gz"

RUN = uuid.uuid4().hex[:8]
"""Distinguishes these races from those of earlier runs in a home folder that is kept."""


def race_id(name: str) -> str:
    return f"{name}-{RUN}"


@dataclass
class Pacenote:
    """The `pacenote` command with its own home folder. Names of races are the beginnings of their ids."""

    home: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pacenote", *arguments]
        environment = {**os.environ, "PACENOTE_HOME": str(self.home)}
        return subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def folder(self, name: str) -> Path:
        return self.home / "races" / race_id(name)

    def race(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder(name) / "race.json").read_text())

    def rows(self, name: str, file: str) -> list[dict[str, Any]]:
        return pyarrow.parquet.read_table(self.folder(name) / f"{file}.parquet").to_pylist()

    def node_pids(self, owner: int) -> list[int]:
        """Returns the process ids of the engines that a process has registered."""
        notes = [json.loads(note.read_text()) for note in create_layout(self.home).registry.glob("*.json")]
        return [note["process"]["pid"] for note in notes if note["owner"]["pid"] == owner and note["process"]]


@pytest.fixture
def pacenote(home: Path) -> Pacenote:
    return Pacenote(home)


@pytest.fixture(scope="module")
def cluster(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    car = compose_car([], {"heap_size": "512m"})
    with start_cluster(EngineRequest(home, tmp_path_factory.mktemp("artifacts"), car=car)) as running:
        yield running


def embedded(name: str, *more: str, docs: int = 20_000) -> tuple[str, ...]:
    return (
        "race",
        "--track=http_logs",
        f"--race-id={race_id(name)}",
        "--track-repository=bundled",
        f"--track-params=docs:{docs},{SMALL}",
        "--car-params=heap_size:512m",
        *more,
    )


def wait_for(condition: Callable[[], object], what: str) -> Any:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited 90 s for {what}")


def indexing(pacenote: Pacenote, name: str) -> Callable[[], bool]:
    """Returns a condition: the race has received replies to bulks for at least a second."""
    journal = pacenote.folder(name) / "series.jsonl"
    return lambda: journal.exists() and '"index-append"' in journal.read_text()


def tasks(race: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {task["task"]: task for task in race["tasks"]}


def test_one_command_races_a_real_engine(pacenote: Pacenote) -> None:
    ended = pacenote.run(*embedded("first"))
    assert ended.returncode == 0, ended.stderr
    race = pacenote.race("first")
    # On a busy machine, requests may be sent late, which makes a race suspect, but never void.
    assert race["verdict"]["state"] in ("valid", "suspect")
    assert all(task["error_rate"] == 0 for task in race["tasks"])
    assert sum(check["counted"] for check in race["documents"]) == 20_000
    assert all(check["counted"] == check["acknowledged"] for check in race["documents"])
    assert len(race["documents"]) == 7
    assert tasks(race)["index-append"]["work"] == {"done": 20_000, "failed": 0}
    (corpus,) = race["corpora"]
    assert (corpus["origin"], corpus["documents"], corpus["seed"]) == ("generated", 20_000, 42)
    assert "generated with seed 42, not the public corpus" in ended.stdout
    assert re.search(r"Mean Throughput \| +index-append", ended.stdout)
    assert (pacenote.folder("first") / "artifacts" / "engine.log").stat().st_size > 0


def test_every_request_is_in_the_race_folder(pacenote: Pacenote) -> None:
    race = pacenote.race("first")
    samples, series = pacenote.rows("first", "samples"), pacenote.rows("first", "series")
    operations = sum(task["accounting"]["operations"] for task in race["tasks"])
    assert len(samples) == operations == sum(row["operations"] for row in series)
    indexed = [row for row in samples if row["task"] == "index-append"]
    assert sum(row["weight"] for row in indexed) == 20_000
    assert all(row["due_ns"] <= row["sent_ns"] <= row["done_ns"] for row in samples)
    assert {row["sample_type"] for row in samples if row["task"] == "term"} == {"warmup", "normal"}
    plan = json.loads((pacenote.folder("first") / "plan.json").read_text())
    assert [task["name"] for task in plan["tasks"]] == [task["task"] for task in race["tasks"]]


def test_every_query_has_hits_on_the_generated_corpus(pacenote: Pacenote) -> None:
    # A compressed reply without hits has less than 250 bytes; one with documents or buckets is longer.
    samples = pacenote.rows("first", "samples")
    for task in ("default", "term", "range", "200s-in-range", "400s-in-range", "desc_sort_timestamp"):
        assert min(row["bytes_in"] for row in samples if row["task"] == task) > 500, task


def test_a_second_race_finds_everything_prepared(pacenote: Pacenote) -> None:
    ended = pacenote.run(*embedded("second"))
    assert ended.returncode == 0, ended.stderr
    assert "generating" not in ended.stderr
    assert "downloading" not in ended.stderr
    listed = pacenote.run("list", "races").stdout
    assert listed.index("second-") < listed.index("first-")
    again = pacenote.run("report", race_id("second"))
    assert again.stdout == ended.stdout


def test_the_real_corpus_on_an_existing_cluster(pacenote: Pacenote, cluster: EmbeddedCluster) -> None:
    if not REAL_CORPUS.exists():
        pytest.skip(f"the real corpus is missing: {REAL_CORPUS}")
    ended = pacenote.run(
        "race",
        "--track=http_logs",
        f"--race-id={race_id('real')}",
        "--track-repository=bundled",
        f"--target-hosts={cluster.hosts[0].address}",
        f"--track-params=corpus_file:{REAL_CORPUS},{SMALL}",
    )
    assert ended.returncode == 0, ended.stderr
    race = pacenote.race("real")
    assert race["pipeline"] == "benchmark-only"
    assert [(check["index"], check["counted"]) for check in race["documents"]] == [("logs", 10_000)]
    assert cluster.rest().get("/logs/_count")["count"] == 10_000
    assert all(task["error_rate"] == 0 for task in race["tasks"])
    assert cluster.local_nodes()[0].is_running(), "a race does not stop an existing cluster"


def test_failing_requests_void_the_race_and_are_explained(
    pacenote: Pacenote, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    search = {"operation-type": "search", "index": "nowhere", "body": {"query": {"match_all": {}}}}
    schedule = [{"operation": search, "name": "lost", "iterations": 5}]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    ended = pacenote.run(
        "race",
        f"--track-path={tmp_path}",
        f"--race-id={race_id('failing')}",
        f"--target-hosts={cluster.hosts[0].address}",
    )
    assert ended.returncode == 3
    assert "index_not_found_exception: no such index [nowhere]" in ended.stdout
    assert "100 % of the operations failed (limit 1 %)" in ended.stdout
    (error,) = pacenote.race("failing")["tasks"][0]["errors"]
    assert (error["error_class"], error["status"], error["count"]) == ("http-status", 404, 5)


def test_ctrl_c_keeps_what_was_measured_and_leaves_no_process(pacenote: Pacenote) -> None:
    process = pacenote.start(*embedded("stopped", "--challenge=append-no-conflicts", docs=400_000))
    try:
        wait_for(indexing(pacenote, "stopped"), "bulks")
        (pid,) = pacenote.node_pids(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert process_identity(pid) is None
    assert pacenote.node_pids(process.pid) == []
    race = pacenote.race("stopped")
    assert (race["interrupted"], race["complete"], race["verdict"]["state"]) == (True, False, "void")
    result = tasks(race)["index-append"]
    assert result["ended_by"] == "stopped"
    assert 0 < result["work"]["done"] < 400_000
    assert "interrupted" in out
    stored = [row for row in pacenote.rows("stopped", "samples") if row["task"] == "index-append"]
    assert sum(row["weight"] for row in stored) == result["work"]["done"]


def test_an_engine_that_dies_is_reported(pacenote: Pacenote) -> None:
    process = pacenote.start(*embedded("bereft", docs=400_000))
    try:
        wait_for(indexing(pacenote, "bereft"), "bulks")
        (pid,) = pacenote.node_pids(process.pid)
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3, err
    race = pacenote.race("bereft")
    assert race["verdict"]["state"] == "void"
    assert "kill" in race["aborted"].lower()
    assert race["aborted"] in out
    assert tasks(race)["index-append"]["work"]["done"] > 0


def test_an_existing_cluster_that_dies_between_requests_is_noticed(
    pacenote: Pacenote, tmp_path: Path
) -> None:
    request = {"operation-type": "raw-request", "path": "/"}
    seldom = {"operation": request, "name": "seldom", "iterations": 2, "target-interval": 600}
    schedule = [{"operation": request, "name": "before", "iterations": 3}, seldom]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    car = compose_car([], {"heap_size": "512m"})
    with start_cluster(EngineRequest(pacenote.home, tmp_path / "artifacts", car=car)) as doomed:
        host = doomed.hosts[0].address
        process = pacenote.start(
            "race", f"--track-path={tmp_path}", f"--race-id={race_id('orphaned')}", f"--target-hosts={host}"
        )
        try:
            ended = pacenote.folder("orphaned") / "tasks.jsonl"
            wait_for(lambda: ended.exists() and '"before"' in ended.read_text(), "the first task")
            time.sleep(1)
            os.kill(doomed.local_nodes()[0].pid, signal.SIGKILL)
            # The next request is due in ten minutes.
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 3, err
    race = pacenote.race("orphaned")
    assert race["aborted"].startswith(host)
    assert "refused" in race["aborted"]
    assert race["aborted"] in out
    assert tasks(race)["before"]["accounting"]["succeeded"] == 3
    assert tasks(race)["seldom"]["ended_by"] == "aborted"


def test_a_killed_race_leaves_no_engine_and_can_be_read(pacenote: Pacenote) -> None:
    process = pacenote.start(*embedded("killed", docs=400_000))
    try:
        wait_for(indexing(pacenote, "killed"), "bulks")
        (pid,) = pacenote.node_pids(process.pid)
    finally:
        process.kill()
        process.communicate(timeout=60)
    wait_for(lambda: process_identity(pid) is None, "the engine to end with its owner")
    report = pacenote.run("report", race_id("killed"))
    assert report.returncode == 0
    assert "the process of the race ended without finishing it in step" in report.stdout
    assert sum(row["weight"] for row in pacenote.rows("killed", "series")) > 0
    # The next race removes the entry of the dead node.
    ended = pacenote.run(*embedded("after", "--challenge=append-no-conflicts-index-only"))
    assert ended.returncode == 0, ended.stderr
    assert pacenote.node_pids(process.pid) == []
