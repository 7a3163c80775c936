"""The race index matches the race folders, even if it is damaged or several processes use it."""

import multiprocessing
import os
import shutil
import sqlite3
from datetime import date

import pytest
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore
from support.records import BEGAN, record


@pytest.fixture
def store(tmp_path):
    return RaceStore(tmp_path)


def ids(store, **criteria):
    return [race.race_id for race in store.list(RaceFilter(**criteria))]


def fill(store, *names):
    for day, name in enumerate(names, start=1):
        store.create(record(name, timestamp=BEGAN.replace(day=day)))


def test_races_are_listed_newest_first_up_to_a_limit(store):
    fill(store, "a", "b", "c")
    assert ids(store) == ["c", "b", "a"]
    assert ids(store, limit=2) == ["c", "b"]
    assert ids(store, limit=0) == []


def test_a_summary_describes_a_race(store):
    fill(store, "a")
    (summary,) = store.list(RaceFilter())
    assert (summary.track, summary.challenge, summary.car) == ("http_logs", "append-no-conflicts", "defaults")
    assert (summary.distribution, summary.version, summary.revision) == ("opensearch", "3.3.0", "deadbeef")
    assert summary.user_tags == {"intention": "baseline"}
    assert summary.timestamp == "20260301T123015Z"
    assert summary.headline == "12,346 docs/s"


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_a_race(store, kind):
    fill(store, "a")
    record_file = store.races / "b" / "race.json"
    record_file.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(record_file)
    elif kind == "device":
        record_file.symlink_to("/dev/zero")
    else:
        record_file.mkdir()
    assert ids(store) == ["a"]
    assert store.load("latest").race_id == "a"
    with pytest.raises(StoreError, match=r"cannot read .*race\.json"):
        store.load("b")


@pytest.mark.parametrize("name", ["tasks.jsonl", "recovery.json"])
def test_a_pipe_in_a_race_folder_is_not_read(store, name):
    store.create(record("a", complete=False))
    folder = store.folder("a")
    (folder.path / name).unlink(missing_ok=True)
    os.mkfifo(folder.path / name)
    if name == "tasks.jsonl":
        assert "it is not a regular file, so results are missing" in folder.read().verdict.reasons[-1]
    else:
        (loss,) = folder.losses()
        assert "is not readable" in loss


def test_races_are_filtered(store):
    fill(store, "a", "b", "c")
    store.create(record("d", challenge=None, user_tags={"name": "nightly", "disk": "ssd"}))
    assert ids(store, track="geonames") == []
    assert ids(store, challenge="append-no-conflicts") == ["c", "b", "a"]
    assert ids(store, from_date=date(2026, 3, 2)) == ["c", "b"]
    assert ids(store, to_date=date(2026, 3, 2), challenge="append-no-conflicts") == ["b", "a"]
    assert ids(store, user_tags={"disk": "ssd"}) == ["d"]
    assert ids(store, user_tags={"disk": "ssd", "name": "weekly"}) == []
    assert ids(store, benchmark_name="nightly") == ["d"]


def test_races_are_searched(store):
    fill(store, "a", "b")
    store.create(record("ABC", challenge="Straße", user_tags={"disk": "local SSD", "run": 4, "\ud800": "%_"}))
    assert ids(store, search=("HTTP_LOGS",)) == ["b", "ABC", "a"]
    for text in ("abc", "STRASSE", "disk=local ssd", "run=4", "%_", "\ud800=%"):
        assert ids(store, search=(text,)) == ["ABC"]
    assert ids(store, search=("intention=baseline", "opensearch", "3.3", "valid")) == ["b", "a"]
    assert ids(store, search=("opensearch", "run=4", "b")) == ["ABC"]
    assert ids(store, search=("http%",)) == []
    file = store.races / "a" / "race.json"
    file.write_text("{")
    assert ids(store, search=("unreadable",)) == ["a"]


def test_races_are_searched_by_the_state_that_lists_show(store):
    running = store.create(replace(record("now"), complete=False))
    store.create(replace(record("then"), complete=False))._final_record.close()
    assert ids(store, search=("running",)) == ["now"]
    assert ids(store, search=("http", "KILLED")) == ["then"]
    running._final_record.close()
    assert ids(store, search=("running",)) == []


def test_a_page_of_the_list_has_the_number_of_all_that_match(store):
    fill(store, "a", "b", "c", "d")
    for criteria in ({}, {"search": ("http",)}, {"user_tags": {"intention": "baseline"}}):
        page = store.find(RaceFilter(limit=2, offset=1, **criteria))
        assert [race.race_id for race in page.races] == ["c", "b"]
        assert page.total == 4
    assert store.find(RaceFilter(limit=2, offset=9)).races == ()


def test_the_newest_races_are_found_without_sorting(store):
    fill(store, "a")
    assert ids(store) == ["a"]
    with sqlite3.connect(store.races / "index.sqlite") as database:
        query = "EXPLAIN QUERY PLAN SELECT id FROM races ORDER BY timestamp DESC, id LIMIT 50"
        plan = " ".join(row[3] for row in database.execute(query))
    assert "newest" in plan
    assert "TEMP B-TREE" not in plan


def test_tags_keep_their_types_and_are_filtered_as_text(store):
    tags = {"run": 4, "cold": True, "disks": ["a", "b"], "share": 0.5, "none": None}
    store.create(record("d", user_tags=tags))
    store.create(record("older", user_tags={"run": "4"}))
    assert store.load("d").user_tags == tags
    assert store.list(RaceFilter(track="http_logs", user_tags={"cold": True}))[0].user_tags == tags
    assert (
        sorted(ids(store, user_tags={"run": 4}))
        == sorted(ids(store, user_tags={"run": "4"}))
        == ["d", "older"]
    )
    assert ids(store, user_tags={"cold": "true", "share": 0.5, "disks": '["a", "b"]'}) == ["d"]
    assert ids(store, user_tags={"cold": False}) == []


def test_the_limit_applies_to_matching_races_only(store):
    store.create(record("old", user_tags={"disk": "ssd"}))
    for number in range(3):
        store.create(record(f"new-{number}", timestamp=BEGAN.replace(year=2027)))
    assert ids(store, user_tags={"disk": "ssd"}, limit=1) == ["old"]


def test_added_and_deleted_folders_are_noticed(store, tmp_path):
    fill(store, "a", "b")
    assert ids(store) == ["b", "a"]
    shutil.copytree(store.races / "a", store.races / "copied")
    shutil.rmtree(store.races / "b")
    assert sorted(ids(store)) == ["a", "copied"]


@pytest.mark.parametrize("damage", [lambda text: "{", lambda text: text[:-1] + ', "n": Infinity}'])
def test_a_damaged_record_is_listed_as_unreadable(store, damage):
    fill(store, "a", "b")
    file = store.races / "a" / "race.json"
    file.write_text(damage(file.read_text().rstrip()))
    assert [(race.race_id, race.state) for race in store.list(RaceFilter())] == [
        ("b", "complete"),
        ("a", "unreadable"),
    ]


@pytest.mark.parametrize("damage", [b"not a database" * 100, b"", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_damaged_index_is_rebuilt(store, damage):
    fill(store, "a", "b")
    assert ids(store) == ["b", "a"]
    index = store.races / "index.sqlite"
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    index.write_bytes(damage)
    assert ids(store) == ["b", "a"]
    with sqlite3.connect(index) as database:
        assert database.execute("SELECT count(*) FROM races").fetchone() == (2,)


def test_an_index_of_a_different_version_is_rebuilt(store):
    fill(store, "a")
    with sqlite3.connect(store.races / "index.sqlite") as database:
        database.execute("CREATE TABLE races (id TEXT, colour TEXT)")
        database.execute("PRAGMA user_version = 99")
    assert ids(store) == ["a"]


def test_the_index_is_built_in_memory_if_it_cannot_be_written(store):
    fill(store, "a")
    (store.races / "index.sqlite").mkdir()
    assert ids(store) == ["a"]


def test_the_index_is_accessible_only_to_its_owner(store):
    fill(store, "a")
    ids(store)
    assert (store.races / "index.sqlite").stat().st_mode & 0o077 == 0


def _write_and_list(home, number, barrier, results):
    store = RaceStore(home)
    barrier.wait()
    for turn in range(5):
        store.create(record(f"{number}-{turn}"))
        store.list(RaceFilter(limit=100))
    results.put(len(store.list(RaceFilter(limit=100))))


@pytest.mark.process
def test_several_processes_may_use_the_index(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(4), context.Queue()
    workers = [
        context.Process(target=_write_and_list, args=(tmp_path, number, barrier, results))
        for number in range(4)
    ]
    for worker in workers:
        worker.start()
    seen = [results.get(timeout=20) for _ in workers]
    for worker in workers:
        worker.join()
    assert max(seen) == 20
    assert len(ids(RaceStore(tmp_path), limit=100)) == 20
    with sqlite3.connect(tmp_path / "races" / "index.sqlite") as database:
        assert database.execute("SELECT count(*) FROM races").fetchone() == (20,)


def test_a_folder_that_cannot_be_read_hides_no_other_race(store, tmp_path):
    fill(store, "a", "b")
    huge, loop = tmp_path / "races" / "huge", tmp_path / "races" / "loop"
    for folder in (huge, loop, tmp_path / "races" / os.fsdecode(b"\xff\xfe"), tmp_path / "races" / "li\nne"):
        folder.mkdir()
    (huge / "race.json").write_bytes(b"{")
    os.truncate(huge / "race.json", 1 << 30)
    # As if the folder were not readable, which root would be able to read.
    (loop / "race.json").symlink_to(loop / "race.json")
    for name in (b"\xff\xfe", b"li\nne"):
        shutil.copy(tmp_path / "races" / "a" / "race.json", tmp_path / "races" / os.fsdecode(name))
    for _ in range(2):
        assert ids(store) == ["b", "a", "huge", "loop"]
    assert [race.state for race in store.list(RaceFilter())][2:] == ["unreadable", "unreadable"]


def test_a_linked_race_folder_is_a_race(store, tmp_path):
    fill(store, "a")
    (tmp_path / "races" / "a").rename(tmp_path / "elsewhere")
    (tmp_path / "races" / "b").symlink_to(tmp_path / "elsewhere")
    assert ids(store) == ["b"]
    assert store.load("b") == record("b", timestamp=BEGAN.replace(day=1))
