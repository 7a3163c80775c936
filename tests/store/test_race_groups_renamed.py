"""What a copied folder says about its own id does not make it another race, experiment or search."""

from __future__ import annotations

import json
import shutil

import pytest
from msgspec.structs import replace

from lab.tune.searches import search_plan
from pacenote.errors import StoreError
from pacenote.model.experiment import ExperimentPlan
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_groups import each_race, find_group
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore
from pacenote.store.track_races import find_track_races
from pacenote.store.tune_store import TuneFolder, write_tune
from report.test_saturation import FOUND
from support.records import BEGAN, record

SENTENCE = "{path} is race gift by its name, but says that it is race victim"


@pytest.fixture(name="store")
def store_with_a_gift(tmp_path):
    """A home with a race, and with a folder that says that it is the same race at another time."""
    store = RaceStore(tmp_path / "home")
    for race in (record("victim"), record("gift", timestamp=BEGAN.replace(day=9))):
        store.create(race).finish(race)
    file = store.races / "gift" / "race.json"
    file.write_text(file.read_text().replace('"race-id": "gift"', '"race-id": "victim"'))
    assert json.loads(file.read_text())["race-id"] == "victim"
    return store


def test_a_race_has_the_name_of_its_folder(store):
    folder = store.folder("gift")
    assert (folder.read().race_id, folder.stated_id) == ("gift", "victim")
    assert folder.other_name == SENTENCE.format(path=folder.path)
    own = store.folder("victim")
    assert (own.read().race_id, own.stated_id, own.other_name) == ("victim", "", "")


def test_groups_and_exports_say_that_a_race_has_another_name(store):
    group = find_group(store, ["victim", "gift"])
    sentence = SENTENCE.format(path=store.races / "gift")
    assert [race.record.race_id for race in group.races] == ["victim", "gift"]
    assert (group.left_out, group.renamed) == ((), (sentence,))
    assert find_track_races(store, RaceFilter(limit=10)).renamed == (sentence,)
    races = list(each_race(store, ["victim", "gift"], pytest.fail))
    assert [race.folder.other_name for race in races] == ["", sentence]


@pytest.mark.parametrize(
    "command", [("report", "gift"), ("diagnose", "gift"), ("export", "gift"), ("trend",)]
)
def test_commands_name_the_folder_and_say_so(store, command, monkeypatch, capsys):
    from pacenote.cli.main import main

    monkeypatch.setenv("PACENOTE_HOME", str(store.home))
    main([*command, *(["--format=csv"] if command[0] == "export" else [])])
    printed = capsys.readouterr()
    assert SENTENCE.format(path=store.races / "gift") in printed.err
    assert "victim" not in printed.out or command[0] == "trend"


def test_copies_are_still_found_whatever_their_folders_are_called(store, tmp_path):
    kept = tmp_path / "kept"
    shutil.copytree(store.races / "victim", kept / "first")
    shutil.copytree(store.races / "victim", kept / "second")
    group = find_group(store, ["victim", str(kept)])
    assert [race.record.race_id for race in group.races] == ["victim"]
    assert len(group.left_out) == 2
    seen: list[str] = []
    assert len(list(each_race(store, ["victim", str(kept)], seen.append))) == 1
    assert len(seen) == 2
    shutil.copytree(store.races / "victim", store.races / "backup")
    with pytest.raises(StoreError, match="backup is a copy of race victim, or says so"):
        find_group(store, ["backup"])


def test_a_race_outside_the_home_has_the_id_that_it_states(store, tmp_path, monkeypatch, capsys):
    """In an archive of CI, for example, the name of its folder says nothing."""
    from pacenote.cli.main import main

    path = shutil.copytree(store.races / "victim", tmp_path / "artifact" / "race")
    group = find_group(store, [str(path)])
    assert [race.record.race_id for race in group.races] == ["victim"]
    assert (group.left_out, group.renamed) == ((), ())
    (race,) = each_race(store, [str(path.parent)], pytest.fail)
    assert (race.record.race_id, race.folder.path, race.folder.other_name) == ("victim", path, "")
    # It is a copy of the race that it says to be.
    assert [race.folder.path for race in each_race(store, ["victim", str(path)], lambda _: None)] == [
        store.races / "victim"
    ]
    monkeypatch.setenv("PACENOTE_HOME", str(store.home))
    monkeypatch.chdir(path.parent)
    for given in ("./race", ".", f"{path}/../race"):
        assert main(["export", given, "--format=csv"]) == 0
        printed = capsys.readouterr()
        assert {line.partition(",")[0] for line in printed.out.splitlines()[1:]} == {"victim"}
        assert "by its name" not in printed.err


def test_a_saturation_outside_the_home_has_the_id_that_it_states(tmp_path):
    folder = RaceFolder(tmp_path / "race", is_outside=True)
    folder.path.mkdir()
    folder.write_saturation(replace(FOUND, race_id="victim"))
    assert folder.read_saturation() == replace(FOUND, race_id="victim")


@pytest.mark.parametrize(
    "given", ["races/gift", "races/../races/gift", "link", "link/../gift", "linked/gift", "."]
)
def test_a_race_of_the_home_has_the_name_of_its_folder_by_any_path(store, given, monkeypatch):
    (store.home / "link").symlink_to(store.races / "gift")
    (store.home / "linked").symlink_to(store.races)
    monkeypatch.chdir(store.races / "gift" if given == "." else store.home)
    (race,) = each_race(store, [f"./{given}"], pytest.fail)
    assert (race.record.race_id, race.folder.stated_id) == ("gift", "victim")
    assert "is race gift by its name, but says that it is race victim" in race.folder.other_name
    # Also where the folder of all races is a link, and for a link in it.
    store.races.rename(store.home / "elsewhere")
    store.races.symlink_to(store.home / "elsewhere")
    (store.races / "alias").symlink_to(store.races / "gift")
    for path, name in ((store.races / "gift", "gift"), (store.races / "alias", "alias")):
        (race,) = each_race(store, [str(path)], pytest.fail)
        assert (race.record.race_id, race.folder.stated_id) == (name, "victim")


def test_a_renamed_race_is_shown_by_its_new_name(store):
    (store.races / "victim").rename(store.races / "best-run")
    assert store.load("best-run").race_id == "best-run"
    assert RaceFolder(store.races / "best-run").read().timestamp == BEGAN


@pytest.mark.parametrize("kind", ["experiment", "search"])
def test_a_plan_in_the_folder_of_another_one_is_refused(tmp_path, kind):
    store = ExperimentStore(tmp_path)
    own, other = (store.create("heap").path for _ in range(2))
    if kind == "experiment":
        plan = ExperimentPlan(experiment_id=own.name, created="", seed=1, folder="/", races=())
        store.write(ExperimentFolder(own), "", plan)
        read = lambda path: ExperimentFolder(path).plan().experiment_id  # noqa: E731
    else:
        write_tune(TuneFolder(own), search_plan(tune_id=own.name))
        read = lambda path: TuneFolder(path).plan().tune_id  # noqa: E731
    assert read(own) == own.name
    shutil.copytree(own, other, dirs_exist_ok=True)
    with pytest.raises(StoreError, match=f"it says that it is that of {own.name}") as caught:
        read(other)
    assert f"rename the folder to {own.name}" in (caught.value.hint or "")


def test_a_saturation_has_the_name_of_its_folder(tmp_path):
    folder = RaceFolder(tmp_path / "gift")
    folder.path.mkdir()
    folder.write_saturation(replace(FOUND, race_id="victim"))
    assert folder.read_saturation() == replace(FOUND, race_id="gift")
