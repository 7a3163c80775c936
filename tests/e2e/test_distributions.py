"""Assembles every distribution from its published parts and races it; only the version is specified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.registry import DISTRIBUTIONS

pytestmark = pytest.mark.engine

EACH = pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)

TRACK = {
    "version": 2,
    "indices": [{"name": "notes", "body": "index.json"}],
    "corpora": [{"name": "notes", "documents": [{"source-file": "notes.json", "document-count": 2_500}]}],
    "schedule": [
        {"operation": "delete-index"},
        {"operation": "create-index"},
        {"operation": {"operation-type": "bulk", "bulk-size": 500}, "clients": 2},
        {"operation": {"operation-type": "refresh"}},
        {
            "operation": {"operation-type": "search", "body": {"query": {"term": {"tag": "even"}}}},
            "iterations": 50,
        },
    ],
}
MAPPING = {"mappings": {"properties": {"n": {"type": "integer"}, "tag": {"type": "keyword"}}}}


def write_track(folder: Path) -> None:
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps(TRACK))
    (folder / "index.json").write_text(json.dumps(MAPPING))
    lines = (json.dumps({"n": n, "tag": "odd" if n % 2 else "even"}) + "\n" for n in range(2_500))
    (folder / "notes.json").write_text("".join(lines))


@EACH
def test_a_version_is_enough_to_race_a_distribution(
    distribution: Distribution, home: Path, tmp_path: Path
) -> None:
    write_track(tmp_path / "notes")
    race_id = uuid.uuid4().hex
    command = [
        *(sys.executable, "-m", "pacenote", "race", f"--race-id={race_id}"),
        *(f"--track-path={tmp_path / 'notes'}", f"--distribution-version={distribution.default_version}"),
        "--car-params=heap_size:512m",
    ]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    race = json.loads((home / "races" / race_id / "race.json").read_text())
    assert (race["cluster"]["distribution"], race["cluster"]["distribution-version"]) == (
        distribution.name,
        distribution.default_version,
    )
    assert all(task["error_rate"] == 0 for task in race["tasks"])
    (check,) = race["documents"]
    assert (check["counted"], check["acknowledged"]) == (2_500, 2_500)


@EACH
def test_an_engine_is_downloaded_before_a_race(distribution: Distribution, home: Path) -> None:
    version = f"--distribution-version={distribution.default_version}"
    command = [sys.executable, "-m", "pacenote", "download", version, "--quiet"]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    for offline in ([], ["--offline"]):
        done = subprocess.run(
            [*command, *offline], env=environment, text=True, capture_output=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        assert (Path(json.loads(done.stdout)[distribution.name]) / "lib").is_dir()
