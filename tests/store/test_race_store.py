"""The races in a home folder are created, found and listed."""

import contextlib
import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.store import atomic_files
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore, is_race_id
from support.records import BEGAN, bulk, record, task


@pytest.fixture
def store(tmp_path):
    return RaceStore(tmp_path / "home")


def unfinished(**changes):
    return record(tasks=(), complete=False, **changes)


def test_a_race_is_stored_and_loaded(store):
    folder = store.create(unfinished())
    folder.append(bulk())
    folder.finish(record())
    assert store.load("race-1") == record()
    assert sorted(path.name for path in folder.path.iterdir()) == ["artifacts", "race.json"]


def test_folders_and_files_are_accessible_only_to_their_owner(store):
    folder = store.create(unfinished())
    folder.append(bulk())
    folder.write_plan("{}")
    for path in (store.races, folder.path, folder.artifacts):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (folder.race_json, folder.journal, folder.plan_json):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_id_is_rejected(store):
    store.create(unfinished())
    with pytest.raises(StoreError, match="race 'race-1' already exists") as caught:
        store.create(unfinished())
    assert caught.value.hint == "choose another --race-id"


def test_only_one_of_several_races_gets_an_id(store):
    def create(number):
        with contextlib.suppress(StoreError):
            return store.create(unfinished(user_tags={"number": str(number)}))
        return None

    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(create, range(8)))
    ((number, folder),) = [(number, folder) for number, folder in enumerate(folders) if folder]
    assert folder.read().user_tags == {"number": str(number)}


def test_the_names_of_new_folders_are_on_the_disk(store, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        atomic_files.os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), fsync(file))
    )
    folder = store.create(unfinished())
    for path in (store.home, store.races, folder.path, folder.race_json):
        assert path.stat().st_ino in synced


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "latest", "-x", "a b", "x" * 129, "ä", "index.sqlite", "Index.SQLite-wal"]
)
def test_an_invalid_id_is_rejected(store, name):
    assert not is_race_id(name)
    with pytest.raises(StoreError, match="is not a valid race id"):
        store.create(unfinished(race_id=name))


def test_a_race_is_found_by_a_unique_prefix(store):
    for name in ("abc-1", "abc-2", "xyz"):
        store.create(unfinished(race_id=name))
    assert store.load("x").race_id == "xyz"
    assert store.load("abc-2").race_id == "abc-2"
    with pytest.raises(StoreError, match="'abc' matches 2 races: abc-1, abc-2"):
        store.load("abc")
    with pytest.raises(StoreError, match="no race 'nope'"):
        store.load("nope")
    with pytest.raises(StoreError, match=r"no race .\.\./races/xyz."):
        store.load("../races/xyz")


def test_short_ids_are_unique_among_stored_and_shortened_races(store):
    first, second, third = (
        f"01234567-89ab-4def-8123-4567{end}" for end in ("00000000", "00001000", "a0000000")
    )
    other = "01234568-89ab-4def-8123-456700000000"
    store.create(record(first))
    store.create(record("chosen"))
    assert store.short_ids([first, other, "chosen"]) == {
        first: first[:8],
        other: other[:8],
        "chosen": "chosen",
    }
    short = store.short_id_maker()
    assert [short(race_id) for race_id in (first, second, third, first)] == [
        first[:8],
        second[:33],
        third[:29],
        first[:33],
    ]
    store.create(record(second))
    assert store.folder(store.short_ids([first])[first]).path.name == first


def test_latest_is_the_newest_race(store):
    with pytest.raises(StoreError, match="does not contain any races"):
        store.load("latest")
    for name, year in (("old", 2024), ("new", 2026), ("middle", 2025)):
        store.create(unfinished(race_id=name, timestamp=BEGAN.replace(year=year)))
    assert store.load("latest").race_id == "new"


def test_races_without_a_readable_record_are_named(store):
    store.create(unfinished(race_id="left")).append(task())
    (store.races / "left/race.json").unlink()
    (store.races / "left/race.json").mkdir()
    with pytest.raises(StoreError) as caught:
        store.load("latest")
    expected = f"no race in {store.races} can be read: race.json is missing or is not a file in left"
    assert caught.value.message == expected
    assert caught.value.hint.startswith("tasks.jsonl and .race.json.reserved")


def test_a_race_that_cannot_be_stored_leaves_no_folder(store, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files.os, "fsync", full)
        with pytest.raises(StoreError, match="the disk is full"):
            store.create(unfinished())
    store.create(unfinished())


def test_a_race_whose_creation_is_interrupted_leaves_no_folder(store, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.create(unfinished())
    assert list(store.races.iterdir()) == []


def test_a_home_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create"):
        RaceStore(tmp_path / "file").create(unfinished())


def test_listing_creates_no_folders(store):
    assert store.list(RaceFilter()) == []
    assert not store.home.exists()


def test_unfinished_races_are_listed(store):
    running = store.create(unfinished())
    (summary,) = store.list(RaceFilter())
    assert (summary.state, summary.verdict) == ("running", "void")
    running.finish(replace(record(), race_id="race-1"))
    (summary,) = store.list(RaceFilter())
    assert (summary.state, summary.verdict) == ("complete", "valid")


def test_a_race_is_deleted_with_all_its_files(store):
    folder = store.create(unfinished())
    folder.finish(record())
    store.delete(folder)
    assert not folder.path.exists()
    assert store.list(RaceFilter()) == []


def test_nothing_is_deleted_if_one_of_the_races_is_running(store):
    ended = store.create(unfinished(race_id="ended"))
    ended.finish(record("ended"))
    folder = store.create(unfinished())
    with pytest.raises(StoreError, match="race 'race-1' is running"):
        store.delete(ended, folder)
    assert ended.read().race_id == "ended"
    assert folder.read().race_id == "race-1"
    folder.finish(record())


def test_of_a_race_that_is_a_link_only_the_link_is_deleted(store, tmp_path):
    folder = store.create(unfinished())
    folder.finish(record())
    folder.path.rename(tmp_path / "elsewhere")
    folder.path.symlink_to(tmp_path / "elsewhere")
    store.delete(folder)
    assert not folder.path.is_symlink()
    assert (tmp_path / "elsewhere" / "race.json").exists()


def test_a_race_that_cannot_be_deleted_completely_is_not_listed(store, monkeypatch):
    folder = store.create(unfinished())
    folder.finish(record())

    def fail(*_: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr("pacenote.store.race_store.delete_tree", fail)
        with pytest.raises(StoreError, match=r"cannot delete .*: permission denied"):
            store.delete(folder)
    assert store.list(RaceFilter()) == []
    store.delete(store.folder("race-1"))
    assert not folder.path.exists()


@pytest.mark.parametrize(
    "race_id",
    ["", ".", "..", "../home", "races/a", "a/../a", "a\0", "\ud800", "x" * 300, "latest", "index.sqlite"],
)
def test_an_exact_id_is_the_name_of_a_stored_race(store, race_id):
    store.create(record("a"))
    assert store.exact_folder("a").path == store.races / "a"
    with pytest.raises(StoreError, match="no race"):
        store.exact_folder(race_id)
