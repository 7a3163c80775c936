"""Assembles every distribution from its published parts and races it; only the version is specified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from pacenote.provision.distributions.registry import DESCRIPTIONS, find_distribution, implied_distribution
from pacenote.provision.known_settings import check_setting_names, read_setting_names
from pacenote.provision.layout import create_layout

pytestmark = pytest.mark.engine

NEWEST = ("3.8.0", "8.19.21")
"""Versions that are raced in addition to the default version of each description."""

VERSIONS = (*(each.default_version for each in DESCRIPTIONS), *NEWEST)
EACH = pytest.mark.parametrize("version", VERSIONS)

TRACK: dict[str, Any] = {
    "version": 2,
    "indices": [{"name": "notes", "body": "index.json"}],
    "corpora": [{"name": "notes", "documents": [{"source-file": "notes.json", "document-count": 2_500}]}],
    "schedule": [
        {"operation": "delete-index"},
        {"operation": "create-index"},
        {"operation": {"operation-type": "bulk", "bulk-size": 500}, "clients": 2},
        {"operation": {"operation-type": "force-merge", "max-num-segments": 1}},
        {"operation": {"operation-type": "refresh"}},
        {
            "operation": {"operation-type": "search", "body": {"query": {"term": {"tag": "even"}}}},
            "iterations": 50,
        },
    ],
}
# The codec needs native code in Elasticsearch 8 and later.
MAPPING = {
    "settings": {"index.codec": "best_compression"},
    "mappings": {"properties": {"n": {"type": "integer"}, "tag": {"type": "keyword"}}},
}


DOUBLE = {"source": "doc['n'].value * 2.0"}
DISTANCE = {"source": "haversin(1, 2, 3, 4)", "lang": "expression"}


def scripted_task(name: str, script: dict[str, str]) -> dict[str, object]:
    query = {"script_score": {"query": {"match_all": {}}, "script": script}}
    return {"operation": {"operation-type": "search", "name": name, "body": {"query": query}}}


def write_track(folder: Path, *, scripts: bool = False) -> None:
    """Writes the track, with scripted searches if the engine has the modules for them."""
    folder.mkdir()
    more = [scripted_task("double", DOUBLE), scripted_task("distance", DISTANCE)] if scripts else []
    (folder / "track.json").write_text(json.dumps({**TRACK, "schedule": [*TRACK["schedule"], *more]}))
    (folder / "index.json").write_text(json.dumps(MAPPING))
    lines = (json.dumps({"n": n, "tag": "odd" if n % 2 else "even"}) + "\n" for n in range(2_500))
    (folder / "notes.json").write_text("".join(lines))


@EACH
def test_a_version_is_enough_to_race_a_distribution(version: str, home: Path, tmp_path: Path) -> None:
    name = implied_distribution(version)
    absent = find_distribution(name, version).unpublished_modules(version)
    write_track(tmp_path / "notes", scripts="lang-painless" not in absent)
    race_id = uuid.uuid4().hex
    command = [
        *(sys.executable, "-m", "pacenote", "race", f"--race-id={race_id}"),
        *(f"--track-path={tmp_path / 'notes'}", f"--distribution-version={version}"),
        "--car-params=heap_size:512m",
    ]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    race = json.loads((home / "races" / race_id / "race.json").read_text())
    cluster = race["cluster"]
    assert (cluster["distribution"], cluster["distribution-version"]) == (name, version)
    title = find_distribution(name, version).title(version)
    assert (cluster["title"] or "") == title
    assert title in done.stdout
    modules = {module for node in cluster["nodes"] for module in node["modules"]}
    assert "transport-netty4" in modules
    assert not modules & set(cluster["absent_modules"])
    assert all(task["error_rate"] == 0 for task in race["tasks"])
    snapshot = json.loads((home / "races" / race_id / "snapshot.json").read_text())
    settings = [key.removeprefix("setting.") for key in snapshot["before"]["facts"] if key[:8] == "setting."]
    assert len(settings) > 300
    (installed,) = create_layout(home).installs.glob(f"{name}-{version}-*")
    # None of them would be refused as misspelt.
    check_setting_names(settings, read_setting_names(installed), version)
    (check,) = race["documents"]
    assert (check["counted"], check["acknowledged"]) == (2_500, 2_500)


@EACH
def test_an_engine_is_downloaded_before_a_race(version: str, home: Path) -> None:
    option = f"--distribution-version={version}"
    command = [sys.executable, "-m", "pacenote", "download", option, "--quiet"]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    for offline in ([], ["--offline"]):
        done = subprocess.run(
            [*command, *offline], env=environment, text=True, capture_output=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        assert (Path(json.loads(done.stdout)[implied_distribution(version)]) / "lib").is_dir()
