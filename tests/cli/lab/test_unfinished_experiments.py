"""Comparisons of the races of experiments that have not ended."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from compare.races import index, race, search
from pacenote.cli.compare import comparison_page
from pacenote.cli.lab.stored_experiment import NoOptionCheck
from pacenote.cli.lab.unfinished_experiments import unfinished_experiments
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.planning import error_level
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.model.comparison import ComparedRace
from pacenote.model.experiment import Experiment, ExperimentPlan, JournalEntry
from pacenote.store.experiment_store import ExperimentStore, file_digest
from pacenote.store.race_store import RaceStore

TEXT = """
blocks = 10
looks = [5, 10]
[race]
track = "t"
[variants.a]
car = "1gheap"
[variants.b]
car = "2gheap"
"""
SIDES = ("--baseline=tag:variant=a", "--contender=tag:variant=b")


@pytest.fixture
def experiment():
    """Returns a function that stores an experiment of which so many races have ended."""

    def store(ended: int) -> ExperimentPlan:
        experiments = ExperimentStore()
        folder = experiments.create("heap")
        plan = ExperimentPlan(
            experiment_id=folder.experiment_id,
            created="2026-03-01T12:00:00+00:00",
            seed=7,
            folder="/",
            file_digest=file_digest(TEXT),
            races=plan_races(replace(definition(), seed=7)),
        )
        experiments.write(folder, TEXT, plan)
        draw = random.Random(1)
        for planned in plan.races[:ended]:
            race_id = f"{folder.experiment_id}-{planned.number:03}"
            tags = {"experiment": folder.experiment_id, "block": planned.block, "variant": planned.variant}
            RaceStore().create(
                race(
                    race_id,
                    planned.number,
                    tasks=(index(10_000 * draw.gauss(1, 0.01)), search(2 * draw.gauss(1, 0.01))),
                    user_tags=tags,
                    car=(f"{planned.variant}heap",),
                )
            )
            folder.append(
                JournalEntry(
                    event="ended",
                    at="2026-03-01T12:00:00+00:00",
                    race=planned.number,
                    race_id=race_id,
                    outcome="raced",
                    verdict="valid",
                )
            )
        return plan

    return store


def definition() -> Experiment:
    return read_experiment(TEXT, "heap", "heap.toml", NoOptionCheck())


def confidences(run) -> tuple[set[float], str]:
    """Returns the confidences of metrics as if each decided alone, and the notes."""
    code, out, err = run("compare", *SIDES, "--report-format=json")
    assert code == 0, err
    document = json.loads(out)
    changes = [each["change"] for each in document["metrics"] if each["change"]]
    return {round(each["alone"]["confidence"], 9) for each in changes}, " ".join(document["notes"])


@pytest.mark.parametrize(("ended", "blocks"), [(10, 5), (11, 5), (19, 9)])
def test_races_of_an_unfinished_experiment_have_the_intervals_of_its_looks(run, experiment, ended, blocks):
    """Plain intervals after every block find a difference between identical variants far too often."""
    experiment(ended)
    expected = 1 - error_level(definition(), blocks)(0.05)
    assert expected > 0.99
    levels, notes = confidences(run)
    assert levels == {round(expected, 9)}
    assert f"experiment heap-1 has not ended ({blocks} of 10 blocks)" in notes


def test_races_of_an_experiment_that_has_ended_have_plain_intervals(run, experiment):
    experiment(20)
    levels, notes = confidences(run)
    assert (levels, "has not ended" in notes) == ({0.95}, False)


def test_a_journal_that_cannot_be_read_is_said(run, experiment):
    plan = experiment(20)
    ExperimentStore().exact_folder(plan.experiment_id).journal_file.write_text("[]\n[]\n")
    assert "it is not known whether experiment heap-1 has ended" in confidences(run)[1]


def test_without_its_file_each_block_may_be_a_look(run, experiment):
    plan = experiment(10)
    ExperimentStore().exact_folder(plan.experiment_id).toml.write_text("changed")
    levels, notes = confidences(run)
    assert levels == {0.995}
    assert "has not ended" in notes


def test_tags_of_the_user_and_races_of_other_machines_name_no_experiment(experiment):
    experiment(10)
    for race_id, name in (("heap-1-001", "mine"), ("other-001", "heap-1")):
        own = race(race_id, user_tags={"experiment": name, "block": 1})
        assert unfinished_experiments([ComparedRace(own)], ExperimentStore()) == ()


def test_a_page_of_races_in_another_home_is_about_the_experiments_there(
    experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The server gives its home to the processes that make its pages."""
    plan = experiment(10)
    store = RaceStore()
    sides = [
        [f"heap-1-{planned.number:03}" for planned in plan.races[:10] if planned.variant == side]
        for side in "ab"
    ]
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "elsewhere"))
    assert "experiment heap-1 has not ended (5 of 10 blocks)" in comparison_page(store, *sides)
