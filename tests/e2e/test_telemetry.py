"""Telemetry devices with a real engine: what they store, and what makes a race a profiling race."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pacenote.evidence.recording import RecordingReader

pytestmark = pytest.mark.engine

DOCUMENTS = 5_000
DEVICES = (
    *("jfr", "gc", "heapdump", "node-stats", "shard-stats", "recovery-stats", "segment-stats"),
    *("data-stream-stats", "disk-usage-stats"),
)
OF_EACH_GROUP = {
    *("thread_pool.write.rejected", "thread_pool.search.queue", "jvm.gc.collectors.young.collection_time"),
    *("jvm.mem.pools.old.used", "jvm.mem.heap_max", "indices.refresh.total_time", "indices.flush.total"),
    *("indices.merges.total_throttled_time", "indices.indexing.throttle_time", "indices.translog.size"),
    *("indices.segments.index_writer_memory", "indices.query_cache.evictions", "breakers.parent.tripped"),
    *("indexing_pressure.memory.total.primary_rejections", "indexing_pressure.memory.limit"),
    *("process.cpu.total", "os.cpu.percent", "fs.total.available", "http.current_open", "cluster.status"),
}


def run_race(home: Path, *options: str) -> tuple[Path, str]:
    """Races, and returns the folder of the race and what was printed."""
    race_id = f"telemetry-{uuid.uuid4().hex[:8]}"
    command = (
        *(sys.executable, "-m", "pacenote", "race", "--track=http_logs", "--track-repository=bundled"),
        *(f"--race-id={race_id}", f"--track-params=docs:{DOCUMENTS}", "--car-params=heap_size:512m"),
        *("--include-tasks=delete-index,create-index,index-append,refresh-after-index", "--quiet", *options),
    )
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    ended = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return home / "races" / race_id, ended.stdout


@pytest.fixture(scope="module")
def folder(home: Path) -> Path:
    """Returns the folder of a race with many devices."""
    params = "--telemetry-params=node-stats-sample-interval:0.2,recording-template:profile"
    race, printed = run_race(home, f"--telemetry={','.join(DEVICES)}", params)
    assert "a profiling race (jfr, heapdump)" in printed
    return race


@pytest.fixture(scope="module")
def race(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "race.json").read_text())
    return document


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    return pyarrow.parquet.read_table(folder / "telemetry.parquet").to_pylist()


def test_a_profiling_race_is_suspect(race: dict[str, Any]) -> None:
    assert race["verdict"]["state"] == "suspect"
    assert race["options"]["telemetry"] == list(DEVICES)


def test_the_files_of_the_jvm_and_the_engine_are_in_the_artifacts(folder: Path, race: dict[str, Any]) -> None:
    artifacts = folder / "artifacts"
    assert (artifacts / "profile.jfr").read_bytes()[:4] == b"FLR\0"
    (dump,) = artifacts.glob("heap_at_exit_*.hprof")
    assert str(race["cluster"]["started_nodes"][0]["pid"]) in dump.name
    assert dump.read_bytes()[:13] == b"JAVA PROFILE "
    assert "safepoint" in (artifacts / "gc.log").read_text()
    assert "logs-" in (artifacts / "segment_stats.log").read_text()


def test_the_counters_of_the_node_cover_all_tasks(rows: list[dict[str, Any]]) -> None:
    series: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["source"] in ("node-counters", "node-gauges"):
            series.setdefault(row["name"], []).append(row)
    assert OF_EACH_GROUP - series.keys() == set()
    indexed = series["indices.indexing.index_total"]
    assert {(row["unit"], row["kind"], row["labels"]) for row in indexed} == {
        ("", "counter", '{"node":"rally-node-0"}')
    }
    assert indexed[-1]["value"] - indexed[0]["value"] == DOCUMENTS
    assert sorted(row["time"] for row in indexed) == [row["time"] for row in indexed]
    assert all(row["value"] is not None for row in indexed)


def test_sampled_devices_store_their_values(rows: list[dict[str, Any]], race: dict[str, Any]) -> None:
    sources = {row["source"] for row in rows}
    assert {"node-stats", "shard-stats", "master-node-stats", "data-stream-stats"} <= sources
    documents = [row for row in rows if (row["source"], row["name"]) == ("shard-stats", "docs")]
    last = max(row["time"] for row in documents)
    assert sum(row["value"] for row in documents if row["time"] == last) == DOCUMENTS
    # This engine cannot analyse the disk space of fields, and says so.
    (error,) = race["telemetry-errors"]
    assert error.startswith("disk-usage-stats: could not be read after the race: POST ")


def test_values_at_the_end_are_in_the_record(race: dict[str, Any]) -> None:
    assert race["results"]["index_size"] > 0
    assert race["results"]["bytes_written"] > 0
    values = race["telemetry"]
    assert values["cluster.distribution_version"] == race["cluster"]["distribution-version"]
    assert set(values["node.rally-node-0.jvm_memory_pool_stats"]) >= {"young", "old"}


def test_the_recording_of_the_profiler_has_samples_of_native_code(home: Path) -> None:
    race, printed = run_race(home, "--telemetry=profile", "--telemetry-params=profile-event:cpu+alloc")
    assert "a profiling race (profile)" in printed
    file = race / "artifacts" / "async-profile.jfr"
    recording = RecordingReader([file]).recording()
    assert sum(group.count for group in recording.samples) > 100
    # Each sample of an allocation is written as the event of a new TLAB.
    assert recording.in_new_tlab
    frames = {frame.method for frame in recording.frames}
    assert any("::" in method for method in frames), "no frame of native code"
