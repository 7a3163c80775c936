"""Journals and plans that no experiment has: folders of others may have them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import MACHINE, pair
from pacenote.errors import PacenoteError
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.progress import MAX_RACES, MAX_RESUMED, ExperimentProgress
from pacenote.lab.machine_changes import MAX_CHANGES
from pacenote.model.experiment import ExperimentPlan, JournalEntry, PlannedRace
from pacenote.store.race_store import RaceStore
from support.records import record

AT = "2026-03-01T12:00:00+00:00"
EXPERIMENT = pair(seed=1)
PLAN = ExperimentPlan(
    experiment_id="heap-1", created=AT, seed=1, folder="/", machine=MACHINE, races=plan_races(EXPERIMENT)
)


def test_work_does_not_grow_with_the_square_of_a_journal() -> None:
    repeated = JournalEntry(event="repeated", at=AT, block=1)
    longest = ExperimentProgress.of(PLAN, [repeated] * MAX_RESUMED)
    # What is written is checked by the same limits.
    assert "repeats races more than" in longest.problem(repeated)
    assert not longest.problem(JournalEntry(event="started", at=AT, race=1))
    for entry in (repeated, JournalEntry(event="retried", at=AT)):
        with pytest.raises(PacenoteError, match="the journal of heap-1 repeats races more than"):
            ExperimentProgress.of(PLAN, [entry] * (MAX_RESUMED + 1))
    with pytest.raises(PacenoteError, match="has more than 20,000 races"):
        ExperimentProgress.of(replace(PLAN, races=PLAN.races[:1] * (MAX_RACES + 1)), [])
    changes = (JournalEntry(event="machine", at=AT, text=f"cores {at}") for at in range(2 * MAX_CHANGES))
    assert len(ExperimentProgress.of(PLAN, changes).machine_changes) == MAX_CHANGES


@pytest.mark.parametrize("outcome", ["raced", "failed"])
@pytest.mark.parametrize("race_id", ["{other}/races/r", "../../other/races/r", "a\0b", "x" * 5_000])
def test_a_race_of_a_journal_is_one_of_the_store(tmp_path: Path, race_id: str, outcome: str) -> None:
    other = RaceStore(tmp_path / "other")
    other.create(record("r")).finish(record("r"))
    name = race_id.format(other=tmp_path / "other")
    entries = [
        JournalEntry(event="ended", at=AT, race=race.number, race_id=name, outcome=outcome, verdict="valid")
        for race in PLAN.races
    ]
    result = Evaluation(EXPERIMENT, RaceStore(tmp_path / "home")).result(ExperimentProgress.of(PLAN, entries))
    assert not result.has_races or all(one.comparison is None for one in result.variants)
    assert all(not one.failed_race for one in result.variants)
    if outcome == "raced":
        assert "is not the id of a race" in result.notes[0]


def test_a_disturbed_race_that_no_plan_has_is_not_told(tmp_path: Path) -> None:
    unknown = JournalEntry(event="ended", at=AT, race=99, race_id="heap-1-099", outcome="disturbed", text="x")
    result = Evaluation(EXPERIMENT, RaceStore(tmp_path)).result(ExperimentProgress.of(PLAN, [unknown]))
    assert result.repeated == ()


@pytest.mark.parametrize("steps", [1, 100, MAX_RACES])
@pytest.mark.parametrize("is_left_out", [False, True])
def test_work_does_not_grow_with_the_square_of_a_plan(steps: int, is_left_out: bool) -> None:
    """Steps of a ladder that have as many variants as races, or few of them, of which one failed or none."""
    races = tuple(
        PlannedRace(number, 1, "best" if number < steps else f"v{number}", 1, stage=1 + number % steps)
        for number in range(MAX_RACES - 2)
    )
    races = (*races, *(PlannedRace(MAX_RACES + at, 2, "last", 1) for at in range(2)))
    failed = (
        JournalEntry(event="ended", at=AT, race=race.number, race_id="r", outcome="failed")
        for race in races[-2:]
        if is_left_out
    )
    adopted = (JournalEntry(event="adopted", at=AT, stage=2 + at) for at in range(50))
    journal = [*failed, *adopted, JournalEntry(event="retried", at=AT)]
    before = time.process_time()
    progress = ExperimentProgress.of(replace(PLAN, races=races), journal)
    progress.left()
    progress.blocks_done()
    progress.blocks_done(None)
    assert time.process_time() - before < 2.0
