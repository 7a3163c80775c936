"""A race that says that it began in the future is not the newest one for ever."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from importers.samples import race_document
from lab.tune.searches import search_plan
from pacenote.errors import StoreError
from pacenote.model.experiment import ExperimentPlan
from pacenote.model.race_time import TIMESTAMP_FORMAT
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore
from pacenote.store.track_races import find_track_races
from pacenote.store.tune_store import create_tune, find_tune, write_tune
from support.records import record


@pytest.fixture(name="gift")
def imported_gift(run, tmp_path):
    """A race of Rally of the year 2999, beside one of Pacenote."""
    own = record("own")
    RaceStore().create(own).finish(own)
    path = tmp_path / "race.json"
    path.write_text(json.dumps(race_document(**{"race-id": "gift", "race-timestamp": "29991231T235959Z"})))
    assert run("import", path)[0] == 0


def test_latest_is_not_a_race_of_the_future(run, gift):
    assert RaceStore().load("latest").race_id == "own"
    assert "own" in run("report", "latest", "--report-format=markdown")[1]
    # It is listed first, where it says, and by name.
    rows = run("list", "races")[1].splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["gift", "own"]
    assert "in future" in rows[0]
    assert run("report", "gift")[0] == 0


def test_a_trend_does_not_judge_a_race_of_the_future(gift):
    group = find_track_races(RaceStore(), RaceFilter(limit=10))
    assert [race.record.race_id for race in group.races] == ["own"]
    assert "1 race says to have begun in the future: gift" in group.left_out
    # A trend of this race itself is asked for by name.
    assert [
        race.record.race_id for race in find_track_races(RaceStore(), RaceFilter(), like="gift").races
    ] == ["gift"]


def test_clocks_may_differ_and_the_only_race_is_the_latest(run, gift):
    store = RaceStore()
    soon = datetime.now(UTC) + timedelta(hours=20)
    race = record("soon", timestamp=datetime.strptime(soon.strftime(TIMESTAMP_FORMAT), TIMESTAMP_FORMAT))
    race = record("soon", timestamp=race.timestamp.replace(tzinfo=UTC))
    store.create(race).finish(race)
    assert store.load("latest").race_id == "soon"
    for race_id in ("soon", "own"):
        store.delete(store.exact_folder(race_id))
    assert store.load("latest").race_id == "gift"


def test_latest_is_not_an_experiment_or_a_search_of_the_future(tmp_path):
    store = ExperimentStore(tmp_path)
    own, gift = (store.create("heap").path for _ in range(2))
    for path in (own, gift):
        plan = ExperimentPlan(experiment_id=path.name, created="", seed=1, folder="/", races=())
        store.write(ExperimentFolder(path), "", plan)
    os.utime(gift / "plan.json", (2**33, 2**33))
    assert store.folder("latest").path == own
    searches = [create_tune(store) for _ in range(2)]
    for folder in searches:
        write_tune(folder, search_plan(tune_id=folder.tune_id))
    os.utime(searches[0].path / "tune.json", (2**33, 2**33))
    assert find_tune(store, "latest").path == searches[1].path
    with pytest.raises(StoreError):
        find_tune(store, "late")
