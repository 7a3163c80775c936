"""Race folders: private, atomic, readable whatever happened."""

import errno
import json
import os
import stat
from dataclasses import replace

import pytest

from pacenote.errors import StoreError
from pacenote.store import files
from pacenote.store.home import default_home
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore, is_race_id
from support.records import bulk, paced, record, task


@pytest.fixture
def store(tmp_path):
    return RaceStore(tmp_path / "home")


def begun(**changes):
    return record(tasks=(), complete=False, **changes)


def test_a_race_is_stored_and_loaded(store):
    folder = store.create(begun())
    folder.append(bulk())
    folder.finish(record())
    assert store.load("race-1") == record()
    assert sorted(path.name for path in folder.path.iterdir()) == ["artifacts", "race.json"]


def test_everything_is_private(store):
    folder = store.create(begun())
    folder.append(bulk())
    folder.write_plan("{}")
    for path in (store.races, folder.path, folder.artifacts):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (folder.race_json, folder.journal, folder.plan_json):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_id_is_taken_once(store):
    store.create(begun())
    with pytest.raises(StoreError, match="there is a race 'race-1' already") as caught:
        store.create(begun())
    assert caught.value.hint == "choose another --race-id"


@pytest.mark.parametrize("name", ["", "..", "a/b", "latest", "-x", "a b", "x" * 129, "ä"])
def test_an_id_must_name_a_folder(store, name):
    assert not is_race_id(name)
    with pytest.raises(StoreError, match="cannot be a race id"):
        store.create(begun(race_id=name))


def test_a_killed_race_is_readable_up_to_its_last_task(store):
    folder = store.create(begun())
    folder.append(bulk())
    folder.append(paced())
    with folder.journal.open("ab") as file:
        file.write(json.dumps(task().to_document()).encode()[:100])
    found = store.load("race-1")
    assert found.tasks == (bulk(), paced())
    assert not found.complete
    assert found.verdict.state == "void"
    assert "the race has not finished" in found.verdict.reasons


def test_an_interrupted_race_takes_each_task_once(store):
    folder = store.create(begun())
    folder.append(bulk())
    folder.append(paced())
    folder.write(record(tasks=(bulk(),), complete=False, interrupted=True))
    found = store.load("race-1")
    assert found.tasks == (bulk(), paced())
    assert found.interrupted


def test_a_damaged_line_in_the_middle_is_an_error(store):
    folder = store.create(begun())
    folder.journal.write_bytes(b"{nonsense\n")
    folder.append(bulk())
    with pytest.raises(StoreError, match=r"tasks\.jsonl, line 1 is not readable JSON"):
        store.load("race-1")


def test_a_complete_race_ignores_a_left_over_journal(store):
    folder = store.create(begun())
    folder.write(record())
    folder.journal.write_bytes(b"{nonsense\n")
    assert store.load("race-1") == record()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not readable JSON"),
        (b"\xff\xfe\x00", "is not readable JSON"),
        (b"[" * 100_000, "is not readable JSON"),
        (b"[]", "a race must be a JSON object"),
        (b"{}", "race has format None"),
        (b'{"format": 99}', "race has format 99"),
    ],
)
def test_a_damaged_record_is_an_error_that_names_the_file(store, content, message):
    store.create(begun()).race_json.write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        store.load("race-1")
    assert "race.json" in caught.value.message


def test_a_folder_without_a_record_says_so(tmp_path):
    with pytest.raises(StoreError, match=r"no race\.json in"):
        RaceFolder(tmp_path).read()


def test_a_race_is_found_by_a_unique_beginning(store):
    for name in ("abc-1", "abc-2", "xyz"):
        store.create(begun(race_id=name))
    assert store.load("x").race_id == "xyz"
    assert store.load("abc-2").race_id == "abc-2"
    with pytest.raises(StoreError, match="'abc' is the beginning of 2 races: abc-1, abc-2"):
        store.load("abc")
    with pytest.raises(StoreError, match="there is no race 'nope'"):
        store.load("nope")
    with pytest.raises(StoreError, match=r"there is no race .\.\./races/xyz."):
        store.load("../races/xyz")


def test_latest_is_the_newest(store):
    with pytest.raises(StoreError, match="there are no races"):
        store.load("latest")
    for name, year in (("old", 2024), ("new", 2026), ("middle", 2025)):
        store.create(begun(race_id=name, timestamp=record().timestamp.replace(year=year)))
    assert store.load("latest").race_id == "new"


def test_a_full_disk_keeps_what_was_there(store, monkeypatch):
    folder = store.create(begun())
    folder.append(bulk())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(StoreError, match="the disk is full"):
            folder.append(paced())
        with pytest.raises(StoreError, match="the disk is full") as caught:
            folder.finish(record())
    assert caught.value.hint == "free some space or set PACENOTE_HOME"
    assert store.load("race-1").tasks == (bulk(),)
    folder.append(task())
    assert store.load("race-1").tasks == (bulk(), task())
    assert [path.name for path in folder.path.iterdir() if path.suffix == ".tmp"] == []


def test_a_race_that_cannot_begin_leaves_nothing_behind(store, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(StoreError, match="the disk is full"):
            store.create(begun())
    store.create(begun())


def test_a_home_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create"):
        RaceStore(tmp_path / "file").create(begun())


def test_the_home_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path))
    assert default_home() == tmp_path
    monkeypatch.delenv("PACENOTE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    assert default_home() == tmp_path / "user" / ".pacenote"


def test_the_store_itself_makes_nothing(store):
    assert store.list(RaceFilter()) == []
    assert not store.home.exists()


def test_running_races_are_listed(store):
    store.create(begun())
    (found,) = store.list(RaceFilter())
    assert (found.state, found.verdict) == ("unfinished", "void")
    store.folder("race-1").finish(replace(record(), race_id="race-1"))
    (found,) = store.list(RaceFilter())
    assert (found.state, found.verdict) == ("complete", "valid")
