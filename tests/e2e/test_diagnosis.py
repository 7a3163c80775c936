"""Faults in a real engine: the rule about each of them fires first, and none in a healthy race.

Other programs on the machine are found, too: a race that they disturbed is repeated once. If they disturb
that one as well, findings about the machine are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import EngineError
from pacenote.model.node_options import NodeLimits
from pacenote.provision.control_groups import check_limits

pytestmark = pytest.mark.engine

RUN = uuid.uuid4().hex[:8]

DISTURBED = "V6"
"""The validity rule about other programs on the machine."""

OF_THE_MACHINE = frozenset({"O1", "K1", "H10", "H11"})
"""Rules that other programs on the machine of the tests can make fire, in any race."""

SECONDS = 12
"""How long the engine indexes."""

SLOW_REFRESH = "--set=index.refresh_interval=30s"

HTTP_LOGS = (
    "--track=http_logs",
    "--track-repository=bundled",
    "--challenge=append-no-conflicts-index-only",
    "--track-params=docs:500000,bulk_indexing_clients:64,bulk_size:5000",
)
"""A track with several indices, and more clients than the engine can serve."""

TRACK = """
{
  "version": 2,
  "description": "Indexes log lines for a while, again and again",
  "indices": [{"name": "logs", "body": "index.json"}],
  "corpora": [{
    "name": "http_logs",
    "generator": {"name": "http_logs", "documents": 100000},
    "documents": [
      {"source-file": "documents-241998.json.bz2", "document-count": 181463624, "target-index": "logs"}
    ]
  }],
  "schedule": [
    {"operation": {"name": "create", "operation-type": "create-index"}},
    {
      "name": "index",
      "operation": {
        "name": "append",
        "operation-type": "bulk",
        "bulk-size": {{ bulk_size | default(1000) }},
        "looped": true
      },
      "clients": {{ bulk_indexing_clients | default(4) }},
      "time-period": {{ seconds }}
    }
  ]
}
"""

INDEX = {
    "settings": {"index.number_of_shards": 1, "index.number_of_replicas": 0},
    "mappings": {"properties": {"@timestamp": {"type": "date", "format": "epoch_second"}}},
}


@dataclass(frozen=True)
class Found:
    """What is known after a race."""

    race_id: str
    diagnosis: dict[str, Any]
    printed: str
    """What the race printed besides its report."""

    @property
    def disturbed(self) -> str:
        """What other programs did; empty if they did not disturb the race."""
        fired = (each for each in self.diagnosis["validity"] if each["state"] == "fired")
        return next((each["text"] for each in fired if each["id"] == DISTURBED), "")

    @property
    def rules(self) -> list[str]:
        """The rules that fired, the most important one first."""
        found = [each["id"] for each in self.diagnosis["findings"]]
        return [rule for rule in found if rule not in OF_THE_MACHINE] if self.disturbed else found

    def answer(self, rule: str) -> dict[str, Any]:
        lists = ("findings", "ruled_out", "not_applicable")
        answers = (each for name in lists for each in self.diagnosis[name])
        found: dict[str, Any] = next(each for each in answers if each["id"] == rule)
        return found

    def value(self, rule: str, figure: str) -> float:
        """A figure that a rule quotes as its evidence."""
        (item,) = (each for each in self.answer(rule)["evidence"] if each["name"] == figure)
        return float(item["value"])


class Racer:
    """Races the track with options of `pacenote race`."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.track = folder / "track.json"
        self.track.write_text(TRACK)
        (folder / "index.json").write_text(json.dumps(INDEX))

    def pacenote(self, *arguments: str, codes: Sequence[int] = (0,)) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pacenote", *arguments],
            env={**os.environ, "PACENOTE_HOME": str(self.home)},
            check=False,
            text=True,
            capture_output=True,
        )
        assert done.returncode in codes, done.stderr
        return done.stdout, done.stderr

    def race(self, name: str, *options: str, params: str = "") -> Found:
        """Races once. Whether its results are valid does not matter."""
        race_id = f"{name}-{RUN}"
        own = (f"--track-path={self.track}", f"--track-params=seconds:{SECONDS}{params and f',{params}'}")
        track = () if set(HTTP_LOGS) <= set(options) else own
        _, printed = self.pacenote("race", f"--race-id={race_id}", *track, *options, codes=(0, 3))
        text, _ = self.pacenote("diagnose", race_id, "--report-format=json")
        (diagnosis,) = json.loads(text)["diagnoses"]
        return Found(race_id, diagnosis, printed)

    def quiet_race(self, name: str, *options: str, params: str = "") -> Found:
        """Races, and once more if other programs disturbed the race."""
        found = self.race(name, *options, params=params)
        if found.disturbed:
            found = self.race(f"{name}-again", *options, params=params)
        return found


@pytest.fixture
def racer(home: Path, tmp_path: Path) -> Racer:
    return Racer(home, tmp_path)


def test_a_small_heap_is_named_first_and_its_experiment_is_valid(racer: Racer, tmp_path: Path) -> None:
    options = ("--car-params=heap_size:192m", SLOW_REFRESH)
    found = racer.quiet_race("heap", *options, params="bulk_size:5000,bulk_indexing_clients:8")
    assert found.rules[0] == "H1", found.diagnosis
    heap = found.answer("H1")
    assert heap["bound"] > 0.05
    assert heap["advice"][0]["options"] == {"car-params": {"heap_size": "384m"}}
    assert found.value("H1", "gc.stop_share") > 0.05
    assert found.value("H1", "gc.young_interval_s") < 1
    assert f"pacenote diagnose {found.race_id}" in found.printed
    if not found.disturbed:
        first = next(line for line in found.printed.splitlines() if ": " in line and "(at most" in line)
        assert first.startswith("H1: ")

    file = tmp_path / "heap.toml"
    racer.pacenote("diagnose", found.race_id, f"--write-experiment={file}", "--only=H1")
    racer.pacenote("experiment", "run", str(file), "--dry-run")
    assert "384m" in file.read_text()


def test_frequent_refreshes_are_named_first(racer: Racer) -> None:
    found = racer.quiet_race("refresh", "--set=index.refresh_interval=100ms")
    assert found.rules[:1] == ["I4"], found.diagnosis


def test_too_many_clients_are_named_first(racer: Racer) -> None:
    options = ("--car-params=heap_size:512m", SLOW_REFRESH, *HTTP_LOGS)
    found = racer.quiet_race("clients", *options)
    assert found.rules[:1] == ["I6"], found.diagnosis


def test_a_cpu_quota_is_named_first(racer: Racer) -> None:
    quota = 1.0 if len(os.sched_getaffinity(0)) > 1 else 0.5
    try:
        check_limits(NodeLimits(cpus=quota))
    except EngineError as error:
        pytest.skip(f"no CPU quota is possible here: {error}")
    found = racer.quiet_race("quota", f"--node-cpu-limit={quota}", SLOW_REFRESH)
    assert found.rules[:1] == ["K2"], found.diagnosis
    assert found.answer("K2")["advice"][0]["options"] == {"node-cpu-limit": f"{quota * 2:g}"}


def test_a_program_that_takes_the_cores_of_the_engine_is_named_first(racer: Racer) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    with burners(cpus):
        found = racer.race("burner", SLOW_REFRESH)
    assert found.diagnosis["findings"][0]["id"] == "O1", found.diagnosis
    # Each core is shared by at least one burner, which gets about half of it.
    assert found.value("O1", "cpu.other_share") > 0.2
    assert found.disturbed


@contextlib.contextmanager
def burners(cpus: Sequence[int]) -> Iterator[None]:
    """Keeps these CPUs busy, with a process on each."""
    code = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass"
    started = []
    try:
        for cpu in cpus:
            command = [sys.executable, "-c", code, str(cpu)]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == b"\n"
        yield
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_a_healthy_race_has_no_finding(racer: Racer) -> None:
    found = racer.quiet_race("healthy")
    assert found.rules == [], found.diagnosis
