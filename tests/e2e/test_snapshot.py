"""Snapshots of real races: what was configured is in force, and `pacenote diff` shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

RUN = uuid.uuid4().hex[:8]
SCHEDULE = [
    {"name": "create", "operation": {"operation-type": "create-index"}},
    {
        "name": "put",
        "operation": {
            "operation-type": "put-settings",
            "body": {"transient": {"indices.recovery.max_bytes_per_sec": "50mb"}},
        },
    },
    {"name": "info", "operation": {"operation-type": "raw-request", "path": "/"}, "iterations": 20},
]


def pacenote(home: Path, *arguments: str) -> str:
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    command = [sys.executable, "-m", "pacenote", *arguments]
    return subprocess.run(command, env=environment, check=True, text=True, capture_output=True).stdout


def race(home: Path, folder: Path, name: str, *options: str) -> str:
    folder.mkdir()
    fields = {"name": {"type": "keyword"}, "size": {"type": "long"}}
    index = {"settings": {"index": {"codec": "default"}}, "mappings": {"properties": fields}}
    (folder / "logs.json").write_text(json.dumps(index))
    track = {"version": 2, "indices": [{"name": "logs", "body": "logs.json"}], "schedule": SCHEDULE}
    (folder / "track.json").write_text(json.dumps(track))
    race_id = f"{name}-{RUN}"
    pacenote(home, "race", f"--track-path={folder}", f"--race-id={race_id}", "--quiet", *options)
    return race_id


def test_what_was_configured_is_in_force_and_what_differs_is_shown(home: Path, tmp_path: Path) -> None:
    first = race(home, tmp_path / "a", "snapshot-a", "--car=512mheap")
    second = race(
        home,
        tmp_path / "b",
        "snapshot-b",
        *("--car=index-buffer-25,best-compression,parallelgc", "--car-params=heap_size:640m"),
        *("--set=engine.action.auto_create_index=false", "--set=index.refresh_interval=7s"),
        *("--jvm=-XX:MaxTenuringThreshold=3", "--env=MALLOC_ARENA_MAX=2"),
    )
    difference = json.loads(pacenote(home, "diff", first, second, "--format=json"))
    values = {
        each["key"]: tuple(each["values"]) for group in difference["groups"] for each in group["differences"]
    }
    node = "node.rally-node-0"
    assert values["setting.indices.memory.index_buffer_size"] == ("10%", "25%")
    assert values[f"{node}.jvm.flag.MaxHeapSize"] == ("536870912", "671088640")
    assert values[f"{node}.jvm.flag.UseParallelGC"] == ("false", "true")
    assert values[f"{node}.jvm.flag.MaxTenuringThreshold"] == ("15", "3")
    assert values[f"{node}.process.environment.MALLOC_ARENA_MAX"] == (None, "2")
    assert values["setting.action.auto_create_index"] == ("true", "false")
    assert values["index.logs.codec"] == ("default", "best_compression")
    assert values["index.logs.refresh_interval"] == (None, "7s")
    assert values["race.car_params.heap_size"] == (None, "640m")
    # Ports and folders of the nodes differ, but are not settings that anyone chose.
    assert not [key for key in values if key.endswith((".port", ".path.data", ".path.logs"))]
    assert difference["equal"] > 1_000
    assert not any(key.startswith(("kernel.", "sysctl.", "driver.")) for key in values)
    changed = json.loads(pacenote(home, "diff", first, first, "--format=json"))
    keys = [each["key"] for group in changed["groups"] for each in group["differences"]]
    # Readings, such as free memory, depend on what else the machine does.
    assert [key for key in keys if not key.startswith("reading.")] == [
        "setting.indices.recovery.max_bytes_per_sec"
    ]
    record = json.loads((home / "races" / first / "race.json").read_text())
    assert record["snapshot"]["changed"] == ["setting.indices.recovery.max_bytes_per_sec: 41943040b → 50mb"]
    snapshot = json.loads((home / "races" / first / "snapshot.json").read_text())
    fields = [snapshot[when]["facts"]["reading.mapping.fields"] for when in ("before", "after")]
    assert fields == ["0", "2"]
