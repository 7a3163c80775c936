"""Data is loaded once, and several races start from it: real engines, without loading it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine

NAME = f"test-{uuid.uuid4().hex[:8]}"
DOCUMENTS = 500
SEARCH = {
    "operation-type": "search",
    "index": "logs",
    "body": {"query": {"match_all": {}}, "track_total_hits": True},
    "detailed-results": True,
    "assertions": [{"property": "hits", "condition": "==", "value": DOCUMENTS}],
}
SCHEDULE = [
    {"name": "create", "operation": {"operation-type": "create-index"}},
    {"name": "load", "operation": {"operation-type": "bulk", "bulk-size": 100}},
    {"name": "refresh", "operation": {"operation-type": "refresh"}},
    {"name": "search", "operation": SEARCH, "iterations": 20},
    {"name": "empty", "operation": {"operation-type": "delete-index"}},
]


def pacenote(home: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "pacenote", *arguments]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def race(home: Path, track: Path, name: str, *arguments: str, code: int = 0) -> tuple[dict[str, Any], str]:
    """Returns the record of a race, and what it printed."""
    race_id = f"{NAME}-{name}"
    common = ("--car-params=heap_size:256m", "--enable-assertions", f"--race-id={race_id}")
    printed = pacenote(home, "race", f"--track-path={track}", *common, *arguments, code=code)
    stored = home / "races" / race_id / "race.json"
    return json.loads(stored.read_text()) if stored.exists() else {}, printed


@pytest.fixture
def track(tmp_path: Path) -> Path:
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    (tmp_path / "index.json").write_text(json.dumps({"settings": settings}))
    (tmp_path / "logs.json").write_text("".join(f'{{"n": {n}}}\n' for n in range(DOCUMENTS)))
    corpus = {"name": "logs", "documents": [{"source-file": "logs.json", "document-count": DOCUMENTS}]}
    indices = [{"name": "logs", "body": "index.json"}]
    document = {"version": 2, "indices": indices, "corpora": [corpus], "schedule": SCHEDULE}
    (tmp_path / "track.json").write_text(json.dumps(document))
    return tmp_path


def test_races_start_from_the_same_data(home: Path, track: Path) -> None:
    loaded, printed = race(home, track, "load", f"--data=keep:{NAME}", "--exclude-tasks=empty")
    assert loaded["verdict"]["state"] != "void"
    assert f"data set '{NAME}' is stored" in printed
    (listed,) = (
        each for each in json.loads(pacenote(home, "list", "data", "--format=json")) if each["name"] == NAME
    )
    assert (listed["version"], listed["race_id"], listed["nodes"]) == ("3.3.0", f"{NAME}-load", 1)
    restore = f"--data=restore:{NAME}"
    # The first race deletes the index, which changes nothing for the second one.
    for number, tasks in enumerate(("search,empty", "search")):
        restored, _ = race(home, track, str(number), restore, f"--include-tasks={tasks}", "--caches=cold")
        assert [task["task"] for task in restored["tasks"]] == tasks.split(",")
        searched = restored["tasks"][0]
        assert (searched["error_rate"], searched["work"]["done"]) == (0.0, 20)
        state = restored["starting-state"]
        assert (state["data_set"], state["stored_by"]) == (NAME, f"{NAME}-load")
        assert state["cached_bytes"] < state["data_bytes"]
    _, printed = race(
        home, track, "other", restore, "--include-tasks=search", "--distribution-version=3.8.0", code=64
    )
    assert f"data set '{NAME}' is of opensearch 3.3.0, not of opensearch 3.8.0" in printed
    assert pacenote(home, "delete", "data", f"--id={NAME}") == f"deleted data set {NAME}\n"
    _, printed = race(home, track, "deleted", restore, "--include-tasks=search", code=2)
    assert f"there is no data set '{NAME}'" in printed
