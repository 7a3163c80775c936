"""An index that another program has written, and race folders that none of Pacenote's versions writes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.model.race_record import RaceRecord
from pacenote.store import race_index
from pacenote.store.race_index import INDEX_FILES, RaceFilter
from pacenote.store.race_store import RaceStore
from support.records import BEGAN, record

pytestmark = pytest.mark.process

_COLUMNS = (
    "id, timestamp, track, track_revision, challenge, car, distribution, version, revision, user_tags, "
    "verdict, state, headline, search_text, stamp"
)


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> RaceStore:
    store = RaceStore(tmp_path_factory.mktemp("home"))
    for day, name in enumerate(("a", "b"), 1):
        store.create(record(name, timestamp=BEGAN.replace(day=day)))
    return store


@pytest.fixture
def store(races: RaceStore) -> Iterator[RaceStore]:
    """Yields a store of two races with an index."""
    assert _ids(races) == ["b", "a"]
    yield races
    shutil.rmtree(races.races / "odd", ignore_errors=True)
    for name in INDEX_FILES:
        path = races.races / name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def _ids(store: RaceStore) -> list[str]:
    """Returns the ids of all races, after they were listed, searched and filtered by tags."""
    listed = [race.race_id for race in store.list(RaceFilter())]
    assert [race.race_id for race in store.list(RaceFilter(search=("logs",)))] == listed
    assert [race.race_id for race in store.list(RaceFilter(user_tags={"intention": "baseline"}))] == listed
    return listed


def _execute(store: RaceStore, *statements: str) -> None:
    with closing(sqlite3.connect(store.races / INDEX_FILES[0], isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE VIEW other AS SELECT * FROM races"],
        ["CREATE TABLE other (a)"],
        ["CREATE TRIGGER odd AFTER INSERT ON races BEGIN DELETE FROM races; END"],
        ["ALTER TABLE races RENAME TO real", "CREATE VIEW races AS SELECT * FROM real"],
        ["DROP TABLE races", f"CREATE VIEW races AS SELECT {', '.join(['1'] * 15)}"],
        ["DROP TABLE races", "CREATE TABLE races (id)"],
        ["DROP TABLE races", f"CREATE TABLE races ({_COLUMNS})"],
        ["DROP TABLE races"],
        ["ALTER TABLE races ADD COLUMN more"],
        ["DROP INDEX newest"],
        ["UPDATE races SET user_tags = x'00ff'"],
        ["UPDATE races SET user_tags = '[1]'"],
        ["UPDATE races SET user_tags = '{'"],
        [f"UPDATE races SET user_tags = '{'[' * 100_000}'"],
        ["UPDATE races SET timestamp = x'30'"],
        ["UPDATE races SET timestamp = '00010101T000000Z'"],
        ["UPDATE races SET timestamp = 'yesterday'"],
        ["UPDATE races SET state = 'excellent'"],
        ["UPDATE races SET stamp = x'00'"],
        ["UPDATE races SET track = CAST(x'ff' AS TEXT)"],
        ["UPDATE races SET headline = CAST(zeroblob(9000000) AS TEXT)"],
        [f"INSERT INTO races VALUES (x'01', {', '.join(['1'] * 14)})"],
        [f"INSERT INTO races VALUES ({', '.join(['1'] * 14)}, x'01')"],
        ["PRAGMA user_version = 0", "CREATE TABLE other (a)"],
    ],
)
def test_an_index_of_another_program_is_replaced(store: RaceStore, statements: list[str]) -> None:
    _execute(store, *statements)
    assert _ids(store) == ["b", "a"]
    assert [race.track for race in store.list(RaceFilter())] == ["http_logs"] * 2
    # The index is a file of this version again.
    with closing(sqlite3.connect(store.races / INDEX_FILES[0])) as database:
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE sql IS NOT NULL").fetchone() == (3,)


@pytest.mark.parametrize(
    "text", [b"CREATE INDEX newest ON", b"track_revision TEXT", b"newest", b"user_version"]
)
def test_bytes_that_are_not_text_are_damage(store: RaceStore, text: bytes) -> None:
    _execute(store, "PRAGMA journal_mode=delete", "UPDATE races SET track = 'user_version'")
    file = store.races / INDEX_FILES[0]
    content = file.read_bytes()
    assert text in content
    for at in range(len(text)):
        file.write_bytes(content.replace(text, text[:at] + b"\xa6" + text[at + 1 :]))
        assert _ids(store) == ["b", "a"], at


@pytest.mark.parametrize("name", INDEX_FILES)
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_an_index_that_is_not_a_file_is_left_as_it_is(
    store: RaceStore, tmp_path: Path, name: str, kind: str
) -> None:
    target, path = tmp_path / "target", store.races / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    if kind == "link":
        target.write_bytes(b"content")
    assert _ids(store) == ["b", "a"]
    assert target.read_bytes() == b"content" if kind == "link" else not target.exists()


def test_a_journal_that_names_another_file_deletes_none(store: RaceStore, tmp_path: Path) -> None:
    victim, index = tmp_path / "precious", store.races / INDEX_FILES[0]
    victim.write_text("content")
    _execute(store, "PRAGMA journal_mode=DELETE")
    page_bytes, pages = 4096, index.stat().st_size // 4096
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">IIIII", 0, 0, pages, 512, page_bytes)
    lock_page = 0x40000000 // page_bytes + 1
    end = struct.pack(">I", lock_page) + name + struct.pack(">II", len(name), sum(name)) + magic
    (store.races / f"{INDEX_FILES[0]}-journal").write_bytes(header.ljust(512, b"\0") + end)
    assert _ids(store) == ["b", "a"]
    assert victim.read_text() == "content"
    assert not (store.races / f"{INDEX_FILES[0]}-journal").exists()


def _in_json(**changes: object) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        text = (path.parents[1] / "a" / "race.json").read_text()
        path.write_text(
            json.dumps(json.loads(text) | {name.replace("_", "-"): changes[name] for name in changes})
        )

    return write


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


_UNREADABLE: dict[str, Callable[[Path], object]] = {
    "year 1": _in_json(race_timestamp="00010101T000000Z"),
    "year 9999": _in_json(race_timestamp="99991231T235959Z"),
    "overflow": _in_json(race_timestamp="99999999T999999Z"),
    "without zone": _in_json(race_timestamp="20260301T123015"),
    "another form": _in_json(race_timestamp="2026031T123015Z"),
    "number": _in_json(race_timestamp=1e300),
    "deep list": lambda path: path.write_text("[" * 100_000),
    "deep object": lambda path: path.write_text('{"a":' * 100_000),
    "many digits": lambda path: path.write_text(f'{{"a":{"9" * 10_000}}}'),
    "huge": _huge,
    "empty": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "large tag": _in_json(user_tags={"a": "x" * 2_000_000}),
    "link to itself": lambda path: path.symlink_to("race.json"),
}


@pytest.mark.parametrize("kind", _UNREADABLE)
def test_a_record_that_cannot_be_read_is_one_odd_row(store: RaceStore, kind: str) -> None:
    (store.races / "odd").mkdir()
    _UNREADABLE[kind](store.races / "odd" / "race.json")
    races = store.list(RaceFilter())
    assert [(race.race_id, race.state == "unreadable") for race in races[:2]] == [("b", False), ("a", False)]
    assert [(race.race_id, race.state) for race in races[2:]] == [("odd", "unreadable")]
    assert store.folder("latest").path.name == "b"


def test_half_of_a_surrogate_pair_is_replaced(store: RaceStore) -> None:
    (store.races / "odd").mkdir()
    write = _in_json(track="a\ud800", challenge="\udfffb", user_tags={"\udc00": "\ud83d\ude00 \ud83d"})
    write(store.races / "odd" / "race.json")
    odd = next(race for race in store.list(RaceFilter()) if race.race_id == "odd")
    assert (odd.track, odd.challenge, odd.user_tags) == ("a\ufffd", "\ufffdb", {"\ufffd": "😀 \ufffd"})
    assert store.load("odd").track.name == "a\ufffd"


def _add_ghost(store: RaceStore) -> None:
    """Adds a row of a race that does not exist, which the index of stamps lacks."""
    path = store.races / INDEX_FILES[0]
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'stamps'").fetchone()
        (statement,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'stamps'").fetchone()
        database.execute("PRAGMA writable_schema = ON")
        database.execute("DELETE FROM sqlite_master WHERE name = 'stamps'")
        database.commit()
    with closing(sqlite3.connect(path)) as database:
        row = list(database.execute("SELECT * FROM races WHERE id = 'a'").fetchone())
        row[:2] = "ghost", "29990101T000000Z"
        database.execute(f"INSERT INTO races VALUES ({', '.join('?' * len(row))})", row)
        database.execute("PRAGMA writable_schema = ON")
        values = ("index", "stamps", "races", page, statement)
        database.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", values)
        database.commit()


def test_a_row_that_an_index_of_the_database_lacks_is_not_listed(store: RaceStore) -> None:
    _add_ghost(store)
    # A copy of the folder has other inodes.
    os.utime(store.races / "a" / "race.json")
    assert _ids(store) == ["b", "a"]
    assert store.folder("latest").path.name == "b"


def test_the_whole_index_is_checked_again_only_after_another_process_wrote(
    store: RaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = list[str]()
    connect = race_index._connect

    def traced(path: str) -> sqlite3.Connection:
        database = connect(path)
        database.set_trace_callback(statements.append)
        return database

    def checks() -> int:
        count = sum("integrity_check" in statement for statement in statements)
        statements.clear()
        return count

    monkeypatch.setattr(race_index, "_connect", traced)
    monkeypatch.setattr(race_index, "_checked", {})
    for expected in (1, 0, 0):
        os.utime(store.races / "a" / "race.json")
        assert (_ids(store), checks()) == (["b", "a"], expected)
    _add_ghost(store)
    # The damaged one, and the one that replaces it.
    for expected in (2, 0):
        os.utime(store.races / "a" / "race.json")
        assert (_ids(store), checks()) == (["b", "a"], expected)
    # Another file, even with the same rows.
    path = store.races / INDEX_FILES[0]
    copy = path.read_bytes()
    path.unlink()
    path.write_bytes(copy)
    os.utime(store.races / "a" / "race.json")
    assert (_ids(store), checks()) == (["b", "a"], 1)


@pytest.mark.parametrize("version", ["\ud800", "\0"])
@pytest.mark.parametrize("tags", [{}, {"a": 10**400}])
def test_a_row_that_cannot_be_stored_or_read_back_hides_no_other(
    store: RaceStore, monkeypatch: pytest.MonkeyPatch, version: str, tags: dict[str, object]
) -> None:
    reading = race_index._record

    def changed(data: bytes) -> RaceRecord:
        read = reading(data)
        return replace(read, cluster=replace(read.cluster, version=version), user_tags=tags)

    store.create(record("odd", timestamp=BEGAN.replace(day=3)))
    monkeypatch.setattr(race_index, "_record", changed)
    states = {race.race_id: race.state for race in store.list(RaceFilter())}
    assert states.keys() == {"a", "b", "odd"}
    assert (states["odd"] == "unreadable") is ((version, tags) != ("\0", {}))
