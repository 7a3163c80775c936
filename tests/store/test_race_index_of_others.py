"""An index where another user could exchange it: it is neither opened, nor written, nor removed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pacenote.store.race_index import INDEX_FILE, RaceFilter
from pacenote.store.race_store import RaceStore
from support.access_lists import let_write, let_write_new
from support.records import record

OTHER = 54321

NAMES = sorted((INDEX_FILE, f"{INDEX_FILE}-journal"))


@pytest.fixture
def store(tmp_path: Path) -> RaceStore:
    store = RaceStore(tmp_path / "above" / "home")
    store.create(record("a"))
    return store


def _given(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give folders to other users")
    os.lchown(path, OTHER, OTHER)


def _moved(path: Path, *, gives_link: bool = False) -> None:
    """Puts a link in the place of a folder."""
    target = path.with_name("moved")
    path.rename(target)
    path.symlink_to(target)
    if gives_link:
        _given(path)


_EXCHANGEABLE: dict[str, Callable[[RaceStore], object]] = {
    "home of another user": lambda store: _given(store.home),
    "folder above of another user": lambda store: _given(store.home.parent),
    "races of another user": lambda store: _given(store.races),
    "home that all may write": lambda store: store.home.chmod(0o777),
    "races that all may write": lambda store: store.races.chmod(0o777),
    "races as /tmp": lambda store: store.races.chmod(0o1777),
    "home with a list": lambda store: let_write(store.home, users={OTHER}),
    "races with a list": lambda store: let_write(store.races, users={OTHER}),
    "races as a link": lambda store: _moved(store.races),
    "home as a link of another user": lambda store: _moved(store.home, gives_link=True),
}

_OWN: dict[str, Callable[[RaceStore], object]] = {
    "own home": lambda store: None,
    "own home below one as /tmp": lambda store: store.home.parent.chmod(0o1777),
    "home as /tmp": lambda store: store.home.chmod(0o1777),
    "home as an own link": lambda store: _moved(store.home),
    "home with a default list": lambda store: let_write_new(store.home, users={OTHER}),
    "home that all may read": lambda store: store.home.chmod(0o755),
    "home of the own group": lambda store: store.home.chmod(0o2775),
}


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("kind", _EXCHANGEABLE)
@pytest.mark.parametrize("is_there", [True, False])
def test_an_index_that_others_could_exchange_is_not_touched(
    store: RaceStore, kind: str, is_there: bool
) -> None:
    if is_there:
        with closing(sqlite3.connect(store.races / INDEX_FILE)) as database:
            database.execute("CREATE TABLE precious (a)")
        (store.races / f"{INDEX_FILE}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7"))
    before = _contents(store.races)
    assert sorted(before) == (NAMES if is_there else [])
    _EXCHANGEABLE[kind](store)
    assert [race.race_id for race in store.list(RaceFilter())] == ["a"]
    assert store.folder("latest").path.name == "a"
    assert _contents(store.races) == before


@pytest.mark.parametrize("kind", _OWN)
def test_an_own_index_is_kept_in_its_file(store: RaceStore, kind: str) -> None:
    _OWN[kind](store)
    assert [race.race_id for race in store.list(RaceFilter())] == ["a"]
    with closing(sqlite3.connect(store.races / INDEX_FILE)) as database:
        assert database.execute("SELECT id FROM races").fetchall() == [("a",)]
