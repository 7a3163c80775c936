"""Faults in a real engine: the rule about each of them fires first among those about the engine."""

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

RUN = uuid.uuid4().hex[:8]

OF_THE_MACHINE = frozenset({"O1", "K1", "K2", "H10", "H11"})
"""Rules that other programs on the machine of the tests can make fire, in any race."""

SLOW_REFRESH = "--set=index.refresh_interval=30s"


def pacenote(home: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    command = [sys.executable, "-m", "pacenote", *arguments]
    done = subprocess.run(command, env=environment, check=False, text=True, capture_output=True)
    assert done.returncode in codes, done.stderr
    return done


def raced(home: Path, name: str, *options: str, params: str = "docs:300000") -> tuple[dict[str, Any], str]:
    """Races http_logs and returns its diagnosis, and what the race printed besides its report."""
    race_id = f"{name}-{RUN}"
    done = pacenote(
        home,
        *("race", "--track=http_logs", "--challenge=append-no-conflicts-index-only"),
        *(f"--race-id={race_id}", f"--track-params={params}", "--max-error-rate=1", *options),
        codes=(0, 3),
    )
    printed = pacenote(home, "diagnose", race_id, "--report-format=json").stdout
    (found,) = json.loads(printed)["diagnoses"]
    return found, done.stderr


def of_the_engine(diagnosis: dict[str, Any]) -> list[str]:
    return [each["id"] for each in diagnosis["findings"] if each["id"] not in OF_THE_MACHINE]


def test_a_small_heap_is_named_first_and_its_experiment_is_valid(home: Path, tmp_path: Path) -> None:
    found, printed = raced(home, "heap", "--car-params=heap_size:192m", SLOW_REFRESH)
    assert of_the_engine(found)[0] == "H1"
    (heap,) = (each for each in found["findings"] if each["id"] == "H1")
    assert heap["bound"] > 0.05
    assert {each["name"] for each in heap["evidence"]} >= {"gc.stop_share", "gc.young_interval_s"}
    assert heap["advice"][0]["options"] == {"car-params": {"heap_size": "384m"}}
    assert f"pacenote diagnose heap-{RUN}" in printed

    file = tmp_path / "heap.toml"
    pacenote(home, "diagnose", f"heap-{RUN}", f"--write-experiment={file}", "--only=H1")
    planned = pacenote(home, "experiment", "run", str(file), "--dry-run").stdout
    assert "384m" in planned or "384m" in file.read_text()


def test_too_many_clients_are_named_first(home: Path) -> None:
    params = "docs:500000,bulk_indexing_clients:64,bulk_size:5000"
    found, _ = raced(home, "clients", "--car-params=heap_size:512m", SLOW_REFRESH, params=params)
    assert of_the_engine(found)[:1] == ["I6"]


def test_a_healthy_race_has_no_finding_about_the_engine(home: Path) -> None:
    found, _ = raced(home, "healthy", params="docs:200000")
    assert of_the_engine(found) in ([], ["I5"]), "a machine with many cores is idle"
