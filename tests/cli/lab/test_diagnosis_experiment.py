"""The experiment of each advice is one that `pacenote experiment run` accepts."""

from __future__ import annotations

import io
import tomllib

import pytest
from msgspec.structs import replace

from diagnose.test_rules_file_bundled import CASES, RULES, answer
from pacenote.cli.console import Console
from pacenote.cli.lab.diagnosis_experiment import experiment_text
from pacenote.cli.lab.experiment_check import RaceOptionCheck
from pacenote.errors import UsageError
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.model.race_record import RecordedCluster
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.started_node import StartedNode
from support.records import bulk, record

RACE = record(
    "race-a",
    tasks=(bulk(error_rate=0.0, errors=()),),
    cluster=RecordedCluster("opensearch", "3.3.0", started_nodes=(StartedNode(name="n0"),)),
    track=replace(record().track, params={}),
    challenge="append-no-conflicts-index-only",
    options=RecordedOptions(distribution="opensearch"),
)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.options])
def test_the_experiment_of_a_rule_is_accepted(name: str) -> None:
    finding = answer(RULES[name], CASES[name].fires)
    text = experiment_text(finding, finding.advice[0], RACE)
    check = RaceOptionCheck(Console(io.StringIO(), io.StringIO()))
    read = read_experiment(text, name, f"{name}.toml", check)
    assert [each.name for each in read.variants] == ["as-raced", name]
    assert tomllib.loads(text)["primary"] == [finding.metric]


def test_counts_in_options_are_whole_numbers_without_separators() -> None:
    for rule, clients, expected in (("I5", 1_000, "2000"), ("I6", 7, "3"), ("I6", 5_000, "2500")):
        more = {"task.clients": clients, "node.write_threads": 4_000}
        finding = answer(RULES[rule], {**CASES[rule].fires, **more})
        assert finding.advice[0].options == {"track-params": {"bulk_indexing_clients": expected}}


def test_a_search_is_not_repeated_by_an_experiment() -> None:
    """Its options are not those of races."""
    search = replace(RACE, saturation=RecordedSaturation("index-append", "at least 5 ops/s"))
    finding = answer(RULES["I5"], CASES["I5"].fires)
    with pytest.raises(UsageError, match="race race-a is a search by `saturate`"):
        experiment_text(finding, finding.advice[0], search)
