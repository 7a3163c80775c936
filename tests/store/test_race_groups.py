"""Finding the races of a comparison."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta

import pytest
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.store.race_groups import each_race, find_group, read_compared_race
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore
from pacenote.store.track_races import find_track_races
from support.records import record


@pytest.fixture
def store(tmp_path):
    store = RaceStore(tmp_path / "home")
    for name, variant in (("aa-1", "a"), ("aa-2", "a"), ("bb-1", "b")):
        store.create(record(name, user_tags={"variant": variant}))
    return store


def names(group):
    return sorted(race.record.race_id for race in group.races)


def test_races_are_found_by_id_prefix_tag_and_folder(store, tmp_path):
    assert names(find_group(store, ["aa-1", "bb"])) == ["aa-1", "bb-1"]
    assert names(find_group(store, ["tag:variant=a"])) == ["aa-1", "aa-2"]
    assert names(find_group(store, [str(store.races)])) == ["aa-1", "aa-2", "bb-1"]
    assert names(find_group(store, [str(store.races / "aa-2")])) == ["aa-2"]


def test_a_race_that_is_named_twice_counts_once(store):
    assert names(find_group(store, ["aa-1", "tag:variant=a", str(store.races / "aa-1")])) == ["aa-1", "aa-2"]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("tag:variant=z", "has the tag variant=z"),
        ("tag:variant", "'tag:variant' must have the form tag:KEY=VALUE"),
        ("./nowhere", "there is no folder nowhere"),
        ("zz", "no race 'zz' in "),
        ("aa", "'aa' matches 2 races: aa-1, aa-2"),
    ],
)
def test_references_to_no_race_are_errors(store, reference, problem):
    with pytest.raises(StoreError, match=problem):
        find_group(store, [reference])


def test_a_folder_without_races_is_an_error(store, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"no race\.json in "):
        find_group(store, [str(tmp_path / "empty")])


def test_races_that_cannot_be_compared_do_not_end_the_comparison_of_a_group(store, tmp_path):
    """Only those that are named themselves do."""
    saturation = RecordedSaturation("term", "100 to 110 ops/s")
    store.create(record("sat", user_tags={"variant": "a"}, saturation=saturation))
    store.folder("bb-1").race_json.write_text("{")
    group = find_group(store, ["tag:variant=a"])
    assert names(group) == ["aa-1", "aa-2"]
    assert "race sat is a search of `pacenote saturate`" in group.left_out[0]
    assert "bb-1/race.json cannot be read, so that its tags are not known" in group.left_out[1]
    group = find_group(store, [str(store.races)])
    assert (names(group), len(group.left_out)) == (["aa-1", "aa-2"], 2)
    for reference in ("sat", "bb-1", str(store.races / "bb-1")):
        with pytest.raises(StoreError, match=r"saturate|race\.json"):
            find_group(store, ["aa-1", reference])
    store.folder("aa-1").race_json.write_text("{")
    store.folder("aa-2").race_json.write_text("{")
    with pytest.raises(StoreError, match="no race of tag:variant=a can be compared") as caught:
        find_group(store, ["tag:variant=a"])
    assert caught.value.hint.startswith("not compared: ")


def test_a_damaged_race_is_named_if_it_may_have_the_tag(store):
    path = store.folder("bb-1").race_json
    path.write_text(path.read_text()[:-9])
    assert find_group(store, ["tag:variant=a"]).left_out == ()
    store.create(record("bb-2", user_tags={"variant": "b"}))
    assert "bb-1/race.json cannot be read" in find_group(store, ["tag:variant=b"]).left_out[0]


def test_a_race_of_rally_in_a_folder_is_to_be_imported(store, tmp_path):
    (tmp_path / "rally").mkdir()
    (tmp_path / "rally" / "race.json").write_text('{"rally-version": "2.7.1", "race-id": "x"}')
    with pytest.raises(StoreError, match="one of Rally or OpenSearch Benchmark: import it first"):
        find_group(store, [str(tmp_path / "rally")])


def test_a_race_whose_folder_was_copied_counts_once(store, tmp_path):
    shutil.copytree(store.races, tmp_path / "copies" / "1")
    shutil.copytree(store.races, tmp_path / "copies" / "2")
    group = find_group(store, [str(tmp_path / "copies" / name) for name in "12"])
    assert names(group) == ["aa-1", "aa-2", "bb-1"]
    assert len(group.left_out) == 3
    assert "is a copy of race aa-1" in group.left_out[0]


def test_another_race_with_the_same_id_is_no_copy(store, tmp_path):
    """It is of an experiment with the same name on another machine."""
    other = RaceStore(tmp_path / "other")
    first = record("aa-1", user_tags={"variant": "a"})
    other.create(replace(first, timestamp=first.timestamp + timedelta(hours=1)))
    group = find_group(store, ["aa-1", str(other.races)])
    assert (names(group), group.left_out) == (["aa-1", "aa-1"], ())
    assert {group.folders[race.key] for race in group.races} == {store.races / "aa-1", other.races / "aa-1"}


def test_of_many_races_that_are_left_out_three_are_named(store):
    for number in range(5):
        store.create(record(f"c{number}")).race_json.write_text("{")
    assert find_group(store, [str(store.races)]).left_out[3:] == ("2 more races are not compared",)


def test_the_state_of_an_unfinished_race_is_read(store):
    running = store.create(record("running", complete=False))
    assert read_compared_race(store.folder("running")).state == "running"
    running.finish(record("running", complete=False))
    assert read_compared_race(store.folder("running")).state == "killed"


def test_a_saturation_is_refused(store):
    store.create(record("sat", saturation=RecordedSaturation("term", "100 to 110 ops/s")))
    with pytest.raises(StoreError, match="race sat is a search of `pacenote saturate`"):
        read_compared_race(store.folder("sat"))


def test_a_damaged_race_is_an_error_that_names_its_file(store):
    store.folder("bb-1").race_json.write_text("{")
    with pytest.raises(StoreError, match=r"bb-1/race\.json"):
        read_compared_race(store.folder("bb-1"))


def test_plans_are_equal_although_their_data_is_in_other_folders(store):
    """Only what a task sends, when and how counts; a missing or damaged plan has no tasks."""
    plans = []
    for name, folder, rate in (("aa-1", "/a", 1), ("aa-2", "/b", 1), ("bb-1", "/a", 2)):
        work = {"kind": "bulk", "files": [{"path": f"{folder}/documents.json", "documents": 3}]}
        store.folder(name).write_plan(json.dumps({"tasks": [{"name": "index", "work": work, "rate": rate}]}))
        plans.append(read_compared_race(store.folder(name)).plan["index"])
    assert plans[0] == plans[1] != plans[2]
    store.folder("bb-1").write_plan("[")
    assert read_compared_race(store.folder("bb-1")).plan == {}


def test_a_damaged_snapshot_does_not_prevent_a_comparison(store):
    store.folder("aa-1").snapshot.write_text("{")
    assert read_compared_race(store.folder("aa-1")).snapshot is None


def test_a_race_that_claims_to_be_another_one_does_not_take_its_place(store):
    shutil.copytree(store.races / "aa-1", store.races / "aa-0")
    for references in (["aa-0"], [str(store.races / "aa-0")]):
        with pytest.raises(StoreError, match="aa-0 is a copy of race aa-1, or says so"):
            find_group(store, references)
        with pytest.raises(StoreError, match="aa-0 is a copy of race aa-1, or says so"):
            list(each_race(store, references, pytest.fail))
    left_out = list[str]()
    for references in (["tag:variant=a"], [str(store.races)]):
        paths = {race.folder.path.name for race in each_race(store, references, left_out.append)}
        assert paths >= {"aa-1", "aa-2"}
        assert "aa-0" not in paths
        assert {path.name for path in find_group(store, references).folders.values()} == paths
    assert all("aa-0 is a copy of race aa-1" in text for text in left_out)
    assert len(left_out) == 2
    trend = find_track_races(store, RaceFilter(limit=9))
    assert {path.name for path in trend.folders.values()} == {"aa-1", "aa-2", "bb-1"}


def test_races_of_different_times_may_have_the_same_id(store, tmp_path):
    other = RaceStore(tmp_path / "other").create(record("aa-1", timestamp=record().timestamp + timedelta(1)))
    shutil.copytree(other.path, store.races / "from-another-machine")
    group = find_group(store, ["aa-1", "from-another-machine"])
    assert [path.name for path in group.folders.values()] == ["aa-1", "from-another-machine"]


@pytest.mark.parametrize("reference", ["latest", "bb", "bb-1"])
def test_a_folder_of_the_working_folder_is_never_taken_for_a_stored_race(
    store, tmp_path, monkeypatch, reference
):
    planted = tmp_path / "work" / reference
    shutil.copytree(store.races / "aa-1", planted)
    monkeypatch.chdir(planted.parent)
    stored = find_group(store, [reference])
    assert [path.parent for path in stored.folders.values()] == [store.races]
    own = find_group(store, [f"./{reference}"])
    assert [path.resolve() for path in own.folders.values()] == [planted]
    shutil.rmtree(store.races)
    with pytest.raises(StoreError) as caught:
        find_group(store, [reference])
    assert caught.value.hint == f"./{reference} names the folder that is here"
