"""Faults in a real engine: the rule about each of them fires first, and none without a fault.

Faults of the configuration have a race each. Those that can begin and end while the engine runs are in one
race, in a task each: what the rules find is then that of the task. Other programs on the machine are found,
too: a race that they disturbed is repeated once. If they disturb that one as well, findings about the machine
are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import Evidence
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.errors import EngineError
from pacenote.evidence.stored_races import read_evidence
from pacenote.model.diagnosis import diagnoses_document
from pacenote.model.node_options import NodeLimits
from pacenote.model.output_text import json_text
from pacenote.provision.control_groups import check_limits
from pacenote.provision.layout import create_layout
from pacenote.provision.node_registry import NodeEntry, registered_nodes
from pacenote.store.race_groups import find_group
from pacenote.store.race_store import RaceStore
from support.disk_limit import limited_writes, why_writes_cannot_be_limited

pytestmark = [pytest.mark.engine, pytest.mark.alone]

RUN = uuid.uuid4().hex[:8]

DISTURBED = "V6"
"""The validity rule about other programs on the machine."""

OF_THE_MACHINE = frozenset({"O1", "K1", "H10", "H11"})
"""Rules that other programs on the machine of the tests can make fire, in any race."""

SECONDS = 10
"""How long the engine indexes in a task."""

SLOW_WRITES_PER_S = 20
"""How often per second the engine can write to a slow disk: each bulk syncs the transaction log."""

SLOW_REFRESH = "--set=index.refresh_interval=30s"

QUICKLY_COMPILED = "--jvm=-XX:TieredStopAtLevel=1"
"""Otherwise a slow machine compiles Java for a minute, and has no idle core meanwhile."""

HTTP_LOGS = (
    "--track=http_logs",
    "--track-repository=bundled",
    "--challenge=append-no-conflicts-index-only",
    "--track-params=docs:500000,bulk_indexing_clients:64,bulk_size:5000",
)
"""A track with several indices, and more clients than the engine can serve."""

CORPUS = """{
    "name": "http_logs",
    "generator": {"name": "http_logs", "documents": 100000},
    "documents": [
      {"source-file": "documents-241998.json.bz2", "document-count": 181463624, "target-index": "logs"}
    ]
  }"""

TRACK = """
{
  "version": 2,
  "description": "Indexes log lines for a while, again and again",
  "indices": [{"name": "logs", "body": "index.json"}],
  "corpora": [CORPUS],
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
""".replace("CORPUS", CORPUS)

PHASES = """
{
  "version": 2,
  "description": "Indexes log lines in several tasks, during which something else differs",
  "indices": [{"name": "logs", "body": "index.json"}],
  "corpora": [CORPUS],
  "schedule": [
    {"operation": {"name": "create", "operation-type": "create-index"}}
    {% for name, clients in (("healthy", 4), ("few-clients", 1), ("slow-disk", 4), ("busy-cores", 4)) %},
    {"name": "before-{{ name }}", "operation": {"operation-type": "sleep", "duration": 1}},
    {
      "name": "{{ name }}",
      "operation": {
        "name": "append-{{ name }}",
        "operation-type": "bulk",
        "bulk-size": {{ 1000 if clients > 1 else 100 }},
        "looped": true
      },
      "clients": {{ clients }},
      "time-period": {{ seconds }}
    }
    {% endfor %}
  ]
}
""".replace("CORPUS", CORPUS)

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
        fired = [each["id"] for each in self.diagnosis["findings"]]
        return [rule for rule in fired if rule not in OF_THE_MACHINE] if self.disturbed else fired

    def answer(self, rule: str) -> dict[str, Any]:
        lists = ("findings", "ruled_out", "not_applicable")
        answers = (each for name in lists for each in self.diagnosis[name])
        answer: dict[str, Any] = next(each for each in answers if each["id"] == rule)
        return answer

    def value(self, rule: str, figure: str) -> float:
        """A figure that a rule quotes as its evidence."""
        (item,) = (each for each in self.answer(rule)["evidence"] if each["name"] == figure)
        return float(item["value"])


class Racer:
    """Races the tracks with options of `pacenote race`."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        (folder / "index.json").write_text(json.dumps(INDEX))
        for name, text in (("track.json", TRACK), ("phases.json", PHASES)):
            (folder / name).write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "pacenote", *arguments]
        environment = {**os.environ, "PACENOTE_HOME": str(self.home)}
        return subprocess.Popen(command, env=environment, text=True, stdout=pipe, stderr=pipe)

    def pacenote(self, *arguments: str, codes: Sequence[int] = (0,)) -> tuple[str, str]:
        process = self.start(*arguments)
        out, err = process.communicate()
        assert process.returncode in codes, err
        return out, err

    def race(self, name: str, *options: str, params: str = "") -> Found:
        """Races once. Whether its results are valid does not matter."""
        race_id = f"{name}-{RUN}"
        track = self.folder / "track.json"
        own = (f"--track-path={track}", f"--track-params=seconds:{SECONDS}{params and f',{params}'}")
        track_options = () if set(HTTP_LOGS) <= set(options) else own
        _, printed = self.pacenote("race", f"--race-id={race_id}", *track_options, *options, codes=(0, 3))
        text, _ = self.pacenote("diagnose", race_id, "--report-format=json")
        (diagnosis,) = json.loads(text)["diagnoses"]
        return Found(race_id, diagnosis, printed)

    def quiet_race(self, name: str, *options: str, params: str = "") -> Found:
        """Races, and once more if other programs disturbed the race."""
        race = self.race(name, *options, params=params)
        if race.disturbed:
            race = self.race(f"{name}-again", *options, params=params)
        return race

    def race_phases(self, name: str) -> dict[str, Found]:
        """Races once with a fault in each task but the first one; returns what is found for each task."""
        race_id = f"{name}-{RUN}"
        options = (
            f"--track-path={self.folder / 'phases.json'}",
            f"--track-params=seconds:{SECONDS}",
            SLOW_REFRESH,
            QUICKLY_COMPILED,
        )
        process = self.start("race", f"--race-id={race_id}", *options)
        try:
            ended = Ended(self.home / "races" / race_id / "tasks.jsonl", process)
            ended.wait_for("before-slow-disk")
            if not why_writes_cannot_be_limited(self.home):
                (node,) = self.nodes(process.pid)
                assert node.process is not None
                with limited_writes(node.process.pid, node.folder, SLOW_WRITES_PER_S):
                    ended.wait_for("slow-disk")
            ended.wait_for("before-busy-cores")
            with burners(sorted(os.sched_getaffinity(0))):
                ended.wait_for("busy-cores")
            _, printed = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode in (0, 3), printed
        (evidence,) = read_evidence(find_group(RaceStore(self.home), [race_id]))
        return {
            task.name: Found(race_id, one_diagnosis(replace(evidence, tasks=(task,))), printed)
            for task in evidence.tasks
        }

    def nodes(self, owner: int) -> list[NodeEntry]:
        return [each for each in registered_nodes(create_layout(self.home)) if each.owner.pid == owner]


def one_diagnosis(evidence: Evidence) -> dict[str, Any]:
    """Returns the diagnosis as `pacenote diagnose --report-format=json` prints it."""
    (document,) = diagnoses_document([diagnose(evidence, bundled_rules())])["diagnoses"]
    return json.loads(json_text(document))


@dataclass(frozen=True)
class Ended:
    """The tasks of a race that have ended."""

    file: Path
    process: subprocess.Popen[str]

    def wait_for(self, task: str) -> None:
        deadline = time.monotonic() + 120
        while not (self.file.exists() and f'"{task}"' in self.file.read_text()):
            assert time.monotonic() < deadline, f"waited 120 s for {task}"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.02)


@pytest.fixture(scope="module")
def racer(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Racer:
    return Racer(home, tmp_path_factory.mktemp("tracks"))


@pytest.fixture(scope="module")
def phases(racer: Racer) -> dict[str, Found]:
    """What is found for each task of a race, which is repeated once if other programs disturbed it."""
    races = racer.race_phases("phases")
    if any(each.disturbed for task, each in races.items() if task != "busy-cores"):
        races = racer.race_phases("phases-again")
    return races


def test_a_small_heap_is_named_first_and_its_experiment_is_valid(racer: Racer, tmp_path: Path) -> None:
    options = ("--car-params=heap_size:192m", SLOW_REFRESH)
    race = racer.quiet_race("heap", *options, params="bulk_size:5000,bulk_indexing_clients:8")
    assert race.rules[0] == "H1", race.diagnosis
    heap = race.answer("H1")
    assert heap["bound"] > 0.05
    assert heap["advice"][0]["options"] == {"car-params": {"heap_size": "384m"}}
    # Pauses and concurrent phases together are above the limit of 5 %; on some machines, pauses are not.
    assert race.value("H1", "gc.stop_share") > 0.02
    assert race.value("H1", "gc.young_interval_s") < 1
    assert f"pacenote diagnose {race.race_id}" in race.printed
    if not race.disturbed:
        first = next(line for line in race.printed.splitlines() if ": " in line and "(at most" in line)
        assert first.startswith("H1: ")

    file = tmp_path / "heap.toml"
    racer.pacenote("diagnose", race.race_id, f"--write-experiment={file}", "--only=H1")
    racer.pacenote("experiment", "run", str(file), "--dry-run")
    assert "384m" in file.read_text()


def test_frequent_refreshes_are_named_first(racer: Racer) -> None:
    race = racer.quiet_race("refresh", "--set=index.refresh_interval=100ms")
    assert race.rules[:1] == ["I4"], race.diagnosis


def test_too_many_clients_are_named_first(racer: Racer) -> None:
    options = ("--car-params=heap_size:512m", SLOW_REFRESH, *HTTP_LOGS)
    race = racer.quiet_race("clients", *options)
    assert race.rules[:1] == ["I6"], race.diagnosis


def test_a_cpu_quota_is_named_first(racer: Racer) -> None:
    quota = 1.0 if len(os.sched_getaffinity(0)) > 1 else 0.5
    try:
        check_limits(NodeLimits(cpus=quota))
    except EngineError as error:
        pytest.skip(f"no CPU quota is possible here: {error}")
    race = racer.quiet_race("quota", f"--node-cpu-limit={quota}", SLOW_REFRESH)
    assert race.rules[:1] == ["K2"], race.diagnosis
    assert race.answer("K2")["advice"][0]["options"] == {"node-cpu-limit": f"{quota * 2:g}"}


def test_a_small_indexing_buffer_is_named_first(racer: Racer) -> None:
    # So small, and refreshed so rarely, that a slow machine fills it several times a second, too.
    option = "--set=engine.indices.memory.index_buffer_size=256kb"
    race = racer.quiet_race("buffer", option, SLOW_REFRESH)
    assert race.rules[:1] == ["I1"], race.diagnosis
    assert race.answer("I1")["advice"][0]["options"] == {
        "set": ["engine.indices.memory.index_buffer_size=10%"]
    }


def test_a_task_without_a_fault_has_no_finding(phases: dict[str, Found]) -> None:
    assert phases["healthy"].rules == [], phases["healthy"].diagnosis


def test_a_single_client_is_named_first(phases: dict[str, Found]) -> None:
    race = phases["few-clients"]
    assert race.rules[:1] == ["I5"], race.diagnosis
    assert race.answer("I5")["advice"][0]["options"] == {"track-params": {"bulk_indexing_clients": "2"}}


def test_a_slow_disk_is_named_first(phases: dict[str, Found], home: Path) -> None:
    if reason := why_writes_cannot_be_limited(home):
        pytest.skip(reason)
    race = phases["slow-disk"]
    assert race.rules[:1] == ["D4"], race.diagnosis
    assert race.value("D4", "disk.wait_share") > 0.1


def test_programs_that_take_the_cores_of_the_engine_are_named_first(phases: dict[str, Found]) -> None:
    race = phases["busy-cores"]
    assert race.diagnosis["findings"][0]["id"] == "O1", race.diagnosis
    # Each core is shared by at least one burner, which gets about half of it.
    # A kernel that does not say how it counts interrupts leaves open how much more it is.
    names = {each["name"] for each in race.answer("O1")["evidence"]}
    share = "cpu.other_share" if "cpu.other_share" in names else "cpu.other_least_share"
    assert race.value("O1", share) > 0.2
    assert race.disturbed


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
