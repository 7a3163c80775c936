"""Injects faults into a real engine, one for each race, and prints which rule comes first.

    python scripts/injected_faults.py --times=3
    python scripts/injected_faults.py --only=heavy-script,healthy --times=1

Each fault is a track of its own with options of `pacenote race`. What counts is the first finding about the
task of the fault; that about an uneven cluster must name the node that indexes. A race that other
programs disturbed is repeated once; if they disturb it again, findings about the machine are left out. A
race without a fault must have no finding. The exit code is 1 if a fault is not found first each time. A run
takes about half a minute for each fault: the machine should do nothing else. A fault with a slow disk needs
root and control groups of version 1, and is left out without them. tests/e2e/test_diagnosis.py has the
other faults, which CI injects. With `--store`, the counts of each fault are also
written to benchmarks/results/injected_faults.json, with the commit and the machine, in the place of earlier
ones of that fault: the table of docs/reference/rules.md has the same rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from machine import describe

from pacenote.diagnose.answers import diagnose
from pacenote.diagnose.facts import Evidence, Window
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.evidence.stored_races import read_evidence
from pacenote.model.diagnosis import Diagnosis
from pacenote.provision.layout import create_layout
from pacenote.provision.node_registry import registered_nodes
from pacenote.store.home import RACES, default_home
from pacenote.store.race_groups import find_group
from pacenote.store.race_store import RaceStore
from support.disk_limit import limited_writes, why_writes_cannot_be_limited

REPOSITORY = Path(__file__).resolve().parents[1]
"""The repository."""

RESULTS = REPOSITORY / "benchmarks" / "results" / "injected_faults.json"
"""Where `--store` writes the table."""

DISTURBED = "V6"
"""The validity rule about other programs on the machine."""

OF_THE_MACHINE = frozenset({"O1", "K1", "K4", "H10", "H11"})
"""Rules that other programs on the machine can make fire, in any race."""

SECONDS = 20
"""How long the task of a fault runs."""

SLOW_REFRESH = "--set=index.refresh_interval=30s"

_TASK = "fault"
"""Name of the task whose findings count."""

_LOGS = {
    "name": "logs",
    "generator": {"name": "http_logs", "documents": 100_000},
    "documents": [
        {
            "source-file": "documents-241998.json.bz2",
            "document-count": 181_463_624,
            "target-index": "logs",
        }
    ],
}

_MAPPINGS: Mapping[str, Any] = {
    "properties": {
        "@timestamp": {"type": "date", "format": "epoch_second"},
        "request": {"type": "text", "fielddata": True},
        "size": {"type": "integer"},
    }
}

_SCRIPT = """double sum = 0;
for (int i = 0; i < params.rounds; ++i) { sum += Math.sin(i * doc['size'].value); }
return Math.abs(sum);"""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, and what the diagnosis must say of it."""

    name: str
    """Its name, in the table and in the ids of races."""

    rules: frozenset[str]
    """The rules of which one must come first; none for a race without a fault."""

    tasks: Sequence[Mapping[str, Any]]
    """The schedule of its track after the index was created; the task that counts has the name `fault`."""

    options: Sequence[str] = (SLOW_REFRESH,)
    """Options of `pacenote race`."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its index beside one shard without replicas."""

    new_fields: int = 0
    """Number of documents with a field of its own, in place of log lines; 0 for log lines."""

    writes_per_s: int = 0
    """How often per second the node can write to its disk after the index was created; 0 for no limit."""

    on_one_node: bool = False
    """Whether the fault is on one node of several, which the diagnosis must name."""


def _bulk(name: str, size: int, clients: int = 4, **changes: Any) -> dict[str, Any]:
    operation = {"name": name, "operation-type": "bulk", "bulk-size": size, "looped": True}
    return {"name": name, "operation": operation, "clients": clients, "time-period": SECONDS, **changes}


def _load(bulk_size: int = 1_000, documents_percent: float = 100) -> tuple[dict[str, Any], ...]:
    """Returns tasks that index the log lines, and make them visible."""
    bulk = {
        "name": "load",
        "operation-type": "bulk",
        "bulk-size": bulk_size,
        "ingest-percentage": documents_percent,
    }
    return (
        {"name": "load", "operation": bulk, "clients": 4},
        {"name": "refresh", "operation": {"name": "refresh", "operation-type": "refresh"}},
    )


def _search(body: Mapping[str, Any], clients: int = 1, **changes: Any) -> dict[str, Any]:
    operation = {
        "name": "query",
        "operation-type": "search",
        "index": "logs",
        "body": dict(body),
        "cache": False,
    }
    return {"name": _TASK, "operation": operation, "clients": clients, "time-period": SECONDS, **changes}


_COUNTED = {"size": 0, "aggs": {"words": {"terms": {"field": "request", "size": 100}}}}
_SCORED = {
    "query": {
        "script_score": {
            "query": {"match_all": {}},
            "script": {"source": " ".join(_SCRIPT.split()), "params": {"rounds": 50}},
        }
    }
}

FAULTS: tuple[Fault, ...] = (
    Fault("healthy", frozenset(), (_bulk(_TASK, 1_000),)),
    Fault("bulk-of-one", frozenset({"I7"}), (_bulk(_TASK, 1),)),
    Fault(
        "durability-request",
        # With a limit of writes, the disk itself is fast: only the waits show.
        frozenset({"D4", "I8"}),
        (_bulk(_TASK, 100),),
        (SLOW_REFRESH, "--set=index.translog.durability=request"),
        writes_per_s=20,
    ),
    Fault(
        "300-shards",
        frozenset({"Q3"}),
        (*_load(documents_percent=9), _search({"query": {"match_all": {}}})),
        (SLOW_REFRESH, "--car-params=heap_size:256m"),
        {"index.number_of_shards": 300},
    ),
    Fault(
        "mapping-explosion",
        frozenset({"O4", "O6"}),
        # Bulks of fewer documents would be a fault of their own.
        (_bulk(_TASK, 100),),
        settings={"index.mapping.total_fields.limit": 1_000_000},
        new_fields=20_000,
    ),
    Fault(
        "heavy-script",
        frozenset({"Q9"}),
        (*_load(), _search(_SCORED, clients=8)),
        (SLOW_REFRESH, "--telemetry=jfr"),
    ),
    Fault(
        "hot-shard",
        frozenset({"O2"}),
        (_bulk(_TASK, 1_000),),
        (SLOW_REFRESH, "--nodes=3", "--car-params=heap_size:512m"),
        on_one_node=True,
    ),
    Fault(
        "two-nodes",
        frozenset({"O2"}),
        (_bulk(_TASK, 1_000),),
        (SLOW_REFRESH, "--nodes=2", "--car-params=heap_size:512m"),
        on_one_node=True,
    ),
    Fault(
        "ordinals-while-indexing",
        frozenset({"Q5"}),
        (
            *_load(),
            {
                "parallel": {
                    "tasks": [
                        _bulk("index", 100, clients=1, **{"target-throughput": 1_000}),
                        _search(_COUNTED),
                    ]
                }
            },
        ),
        ("--set=index.refresh_interval=1s",),
    ),
)


@dataclass(frozen=True, slots=True)
class FaultRace:
    """What one race of a fault found."""

    race_id: str
    """Its id."""

    rules: tuple[str, ...]
    """The rules that fired about the task of the fault, the first one first."""

    text: str
    """What the first one says; empty if none fired."""

    disturbed: bool
    """Whether other programs disturbed it."""

    node: str = ""
    """The node that spends the most time on indexing, of several; empty if it is not known."""

    def holds(self, fault: Fault) -> bool:
        """Returns whether it has found what it must: the rule, and the node that the fault is on."""
        if not self.rules or self.rules[0] not in fault.rules:
            return not self.rules and not fault.rules
        return not fault.on_one_node or self.names_node

    @property
    def names_node(self) -> bool:
        """Whether the first finding names the node that indexes."""
        return bool(self.node) and self.node in re.findall(r"[\w.-]+", self.text)


def write_track(fault: Fault, folder: Path) -> Path:
    """Writes the track of a fault into an empty folder, and returns its file."""
    index = {
        "settings": {"index.number_of_shards": 1, "index.number_of_replicas": 0, **fault.settings},
        "mappings": {} if fault.new_fields else _MAPPINGS,
    }
    (folder / "index.json").write_text(json.dumps(index))
    corpus: Mapping[str, Any] = _LOGS
    if fault.new_fields:
        (folder / "fields.json").write_text("".join(_documents_with_new_fields(fault.new_fields)))
        documents = {"source-file": "fields.json", "document-count": fault.new_fields, "target-index": "logs"}
        corpus = {"name": "fields", "documents": [documents]}
    create = {"operation": {"name": "create", "operation-type": "create-index"}}
    track = {
        "version": 2,
        "description": f"Injects {fault.name}",
        "indices": [{"name": "logs", "body": "index.json"}],
        "corpora": [corpus],
        "schedule": [create, *fault.tasks],
    }
    file = folder / "track.json"
    file.write_text(json.dumps(track, indent=2))
    return file


def _documents_with_new_fields(count: int) -> Iterator[str]:
    for number in range(count):
        yield json.dumps({f"field_{number}": number, f"word_{number}": f"w{number}"}) + "\n"


def raced(fault: Fault, home: Path, suffix: str = "") -> FaultRace:
    """Races a fault once. Whether the results are valid does not matter. Raises RuntimeError if the race
    could not run.
    """
    race_id = f"{fault.name}-{uuid.uuid4().hex[:8]}{suffix}"
    with tempfile.TemporaryDirectory(prefix="pacenote-fault-") as folder:
        track = write_track(fault, Path(folder))
        command = [sys.executable, "-m", "pacenote", "race", f"--race-id={race_id}", f"--track-path={track}"]
        environment = {**os.environ, "PACENOTE_HOME": str(home)}
        with ExitStack() as limits, (Path(folder) / "stderr").open("w+") as stderr:
            race = subprocess.Popen(
                [*command, *fault.options], env=environment, stdout=subprocess.DEVNULL, stderr=stderr
            )
            if fault.writes_per_s:
                _limit_writes(race, home, race_id, fault.writes_per_s, limits)
            code = race.wait()
            stderr.seek(0)
            if code not in (0, 3):
                raise RuntimeError(f"{fault.name}: pacenote race ended with {code}: {stderr.read().strip()}")
    (evidence,) = read_evidence(find_group(RaceStore(home), [race_id]))
    own = tuple(task for task in evidence.tasks if task.name == _TASK)
    race_of_fault = read_race(race_id, diagnose(replace(evidence, tasks=own), bundled_rules()))
    return dataclasses.replace(race_of_fault, node=indexing_node(evidence))


def indexing_node(evidence: Evidence) -> str:
    """Returns the node that spent the most time on indexing in the task of a fault; empty if none did, or if
    it is not known. Until the index is refreshed, no node counts its documents.
    """
    times = {node: evidence.number(Window(_TASK, node), "node.indexing_share") for node in evidence.nodes}
    known = {node: share for node, share in times.items() if share}
    return max(known, key=lambda node: known[node], default="")


def _limit_writes(
    race: subprocess.Popen[bytes], home: Path, race_id: str, per_s: int, limits: ExitStack
) -> None:
    """Waits until a race has created its index, and limits how often per second its node can write to its
    disk. Does nothing if the race ends before.
    """
    journal = home / RACES / race_id / "tasks.jsonl"
    while race.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.02)
    for node in registered_nodes(create_layout(home)):
        if node.owner.pid == race.pid and node.process is not None and race.poll() is None:
            limits.enter_context(limited_writes(node.process.pid, node.folder, per_s))


def read_race(race_id: str, diagnosis: Diagnosis) -> FaultRace:
    """Returns what a diagnosis of the task of a fault says."""
    disturbed = any(answer.id == DISTURBED for answer in diagnosis.warnings)
    fired = [answer for answer in diagnosis.findings if not (disturbed and answer.id in OF_THE_MACHINE)]
    return FaultRace(race_id, tuple(answer.id for answer in fired), fired[0].text if fired else "", disturbed)


def race_of(fault: Fault, home: Path) -> FaultRace:
    """Races a fault, and once more if other programs disturbed the race."""
    race = raced(fault, home)
    return raced(fault, home, "-again") if race.disturbed else race


def row(fault: Fault, races: Sequence[FaultRace]) -> str:
    """Returns the line of the table about a fault."""
    return table_line(stored_row(fault, races))


def table_line(row: Mapping[str, Any]) -> str:
    """Returns the line of the table about the stored counts of a fault."""
    expected = " or ".join(row["expected"]) or "none"
    if "left_out" in row:
        return f"| {row['fault']} | {expected} | | | left out: {row['left_out']} |"
    first = ", ".join(rule or "none" for rule in row["first"])
    elsewhere = 0 if row["named_node"] is None else row["races"] - row["named_node"]
    notes = [f"{elsewhere} without the node"] if elsewhere else []
    notes += [f"{row['disturbed']} disturbed"] if row["disturbed"] else []
    return f"| {row['fault']} | {expected} | {first} | {row['held']} of {row['races']} | {', '.join(notes)} |"


def stored_row(fault: Fault, races: Sequence[FaultRace]) -> dict[str, Any]:
    """Returns what is stored of a fault: the rules that were expected and found, and the counts."""
    return {
        "fault": fault.name,
        "expected": sorted(fault.rules),
        "first": [race.rules[0] if race.rules else None for race in races],
        "held": sum(race.holds(fault) for race in races),
        "races": len(races),
        "named_node": sum(race.names_node for race in races) if fault.on_one_node else None,
        "disturbed": sum(race.disturbed for race in races),
    }


def store(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Writes the counts of faults, each with the commit and the machine, in the place of earlier ones of the
    same faults.
    """
    environment = describe(REPOSITORY)
    stored = json.loads(file.read_text())["faults"] if file.exists() else []
    by_fault = {row["fault"]: row for row in stored}
    by_fault |= {row["fault"]: {**row, "environment": environment} for row in rows}
    faults = [by_fault[fault.name] for fault in FAULTS if fault.name in by_fault]
    file.write_text(json.dumps({"faults": faults}, indent=1) + "\n")


def selected(names: str) -> tuple[Fault, ...]:
    """Returns the faults with these names, separated by commas; all for an empty text. Raises ValueError for
    a name that no fault has.
    """
    wanted = [name for name in names.split(",") if name]
    known = {fault.name: fault for fault in FAULTS}
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"there is no fault {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in wanted) or FAULTS


def run(faults: Iterable[Fault], times: int, home: Path, results: Path | None = None) -> bool:
    """Races faults, prints the table, and returns whether each was found first each time. The table is stored
    in a file of results, too, if there is one.
    """
    _print("| fault | expected | first | found first | |", "| --- | --- | --- | --- | --- |")
    all_hold, details, rows = True, [], list[dict[str, Any]]()
    for fault in faults:
        if fault.writes_per_s and (reason := why_writes_cannot_be_limited(home)):
            rows.append({"fault": fault.name, "expected": sorted(fault.rules), "left_out": reason})
            _print(table_line(rows[-1]))
            continue
        races = [race_of(fault, home) for _ in range(times)]
        _print(row(fault, races))
        rows.append(stored_row(fault, races))
        all_hold = all_hold and all(race.holds(fault) for race in races)
        details += [f"{race.race_id}: {', '.join(race.rules) or 'none'}: {race.text}" for race in races]
    _print("", *details)
    if results is not None:
        store(rows, results)
    return all_hold


def _print(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description="Injects faults into a real engine.")
    parser.add_argument("--times", type=int, default=3, help="races of each fault (default: 3)")
    parser.add_argument("--only", default="", help="names of faults, separated by commas (default: all)")
    parser.add_argument("--store", action="store_true", help=f"write the table to {RESULTS.name}, too")
    arguments = parser.parse_args()
    try:
        faults = selected(arguments.only)
    except ValueError as error:
        parser.error(str(error))
    results = RESULTS if arguments.store else None
    return 0 if run(faults, max(1, arguments.times), default_home(), results) else 1


if __name__ == "__main__":
    sys.exit(main())
