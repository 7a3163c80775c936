"""The faults that are injected into a real engine: their tracks are valid, and their table counts rightly."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.rules_file import bundled_rules
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track

SCRIPT = Path(__file__).parents[2] / "scripts" / "injected_faults.py"


def imported() -> ModuleType:
    spec = importlib.util.spec_from_file_location("injected_faults", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


injected = imported()
FAULTS = {fault.name: fault for fault in injected.FAULTS}


@pytest.mark.parametrize("name", FAULTS)
def test_the_track_of_a_fault_is_valid_and_has_the_task_that_counts(name: str, tmp_path: Path) -> None:
    file = injected.write_track(FAULTS[name], tmp_path)
    track = load_track(open_track(file), {}, RenderOptions(now=0))
    (challenge,) = track.challenges
    names = [task.name for task in challenge.tasks()]
    assert names.count("fault") == 1
    assert len(names) >= 2


def test_rules_that_must_come_first_exist_and_only_the_healthy_race_has_none() -> None:
    rules = {rule.id for rule in bundled_rules() if rule.kind == "diagnosis"}
    assert all(fault.rules <= rules for fault in FAULTS.values())
    assert [name for name, fault in FAULTS.items() if not fault.rules] == ["healthy"]


def test_each_document_of_a_mapping_explosion_has_fields_of_its_own(tmp_path: Path) -> None:
    injected.write_track(FAULTS["mapping-explosion"], tmp_path)
    documents = [json.loads(line) for line in (tmp_path / "fields.json").read_text().splitlines()]
    names = [name for document in documents for name in document]
    assert len(names) == len(set(names)) == 40_000


def race(*rules: str, disturbed: bool = False) -> object:
    return injected.FaultRace("id", rules, "text", disturbed)


def test_the_table_counts_the_races_in_which_the_right_rule_came_first() -> None:
    fault = FAULTS["mapping-explosion"]
    races = [race("O4", "I7"), race("O6"), race("I7", "O4", disturbed=True)]
    assert injected.row(fault, races) == (
        "| mapping-explosion | O4 or O6 | O4, O6, I7 | 2 of 3 | 1 disturbed |"
    )
    healthy = FAULTS["healthy"]
    assert injected.row(healthy, [race(), race("I4")]) == "| healthy | none | none, I4 | 1 of 2 |  |"


@pytest.mark.parametrize("name", ["hot-shard", "two-nodes"])
def test_a_fault_of_one_node_is_found_only_if_that_node_is_named(name: str) -> None:
    text = "of 3 nodes, n-1 used 1.8 times the mean processor time"
    races = [injected.FaultRace("id", ("O2",), text, False, node) for node in ("n-1", "n", "n-2", "")]
    assert [one.holds(FAULTS[name]) for one in races] == [True, False, False, False]
    line = f"| {name} | O2 | O2, O2, O2, O2 | 1 of 4 | 3 without the node |"
    assert injected.row(FAULTS[name], races) == line


def test_the_node_of_a_fault_is_that_which_indexes() -> None:
    builder = EvidenceBuilder("r1", [TaskFacts("fault", "indexing")])
    assert injected.indexing_node(builder.build()) == ""
    for node, share in (("n0", 0.0), ("n1", 0.0), ("n2", 0.0)):
        builder.set(Window("fault", node), "node.indexing_share", share)
    assert injected.indexing_node(builder.build()) == ""
    builder.set(Window("fault", "n1"), "node.indexing_share", 0.7)
    assert injected.indexing_node(builder.build()) == "n1"


def test_the_stored_table_has_the_commit_the_machine_and_the_counts(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    fault = FAULTS["hot-shard"]
    named = injected.FaultRace("id", ("O2",), "n1 used", False, "n1")
    injected.store([injected.stored_row(fault, [named])], file)
    injected.store([injected.stored_row(FAULTS["healthy"], [race()])], file)
    injected.store([injected.stored_row(fault, [named, race("I7", disturbed=True)])], file)
    healthy, hot = json.loads(file.read_text())["faults"]
    for row in (healthy, hot):
        assert {"commit", "pacenote"} <= row.pop("environment").keys()
    assert (healthy["fault"], healthy["held"], healthy["races"]) == ("healthy", 1, 1)
    assert hot == {
        **{"fault": "hot-shard", "expected": ["O2"], "first": ["O2", "I7"]},
        **{"held": 1, "races": 2, "named_node": 1, "disturbed": 1},
    }


def test_the_table_of_the_rules_has_the_stored_rows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "rules.md").read_text()
    lines = [line for line in page.splitlines() if line.count("|") == 6]
    for row in json.loads(injected.RESULTS.read_text())["faults"]:
        assert injected.table_line(row) in lines


def test_a_fault_that_does_not_exist_is_named() -> None:
    command = [sys.executable, str(SCRIPT), "--only=healthy,no-such-fault"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is no fault no-such-fault; there are healthy, bulk-of-one" in done.stderr
