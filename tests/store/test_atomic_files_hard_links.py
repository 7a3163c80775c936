"""A stored file that was unpacked as a hard link to another one: the content of that stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.fetch.http_file import FileVersion
from pacenote.fetch.partial_file import FileSegment, PartialFile
from pacenote.lab.child_command import _new_log
from pacenote.model.experiment import JournalEntry
from pacenote.model.race_progress import RaceProgress
from pacenote.model.tune import TuneEvent
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.journal import Journal
from pacenote.store.progress_file import ProgressFile
from pacenote.store.race_folder import ExpectedResult
from pacenote.store.race_index import INDEX_FILES, RaceFilter
from pacenote.store.race_store import RaceStore
from pacenote.store.reserved_file import ReservedFile, release_rest
from pacenote.store.tune_store import TuneFolder, create_tune
from support.records import bulk, paced, record

CONTENT = b"PAR1 and\nno end of the last line"


def _writing(path: Path) -> None:
    ReservedFile(path, 100).become(path.with_name("target"), b"{}")


def _progress(path: Path) -> None:
    ProgressFile(path.parent).write(RaceProgress(1, 1, 0.5, ()))


REFUSED: tuple[tuple[str, Callable[[Path], object]], ...] = (
    ("journal", lambda path: Journal(path, dict).repair()),  # type: ignore[arg-type]
    (".race.json.reserved", _writing),
)
"""What writes to a file of a race, an experiment or a search which exists, with its name."""

WITHOUT_IT: tuple[tuple[str, Callable[[Path], object]], ...] = (
    ("tasks.jsonl", release_rest),
    (".progress", _progress),
    ("log", lambda path: _new_log(path).close()),
)
"""The same for files that do not matter, or are replaced."""


def _linked(tmp_path: Path, name: str) -> tuple[Path, Path]:
    """Returns a file of a race, and one of another folder that is the same."""
    (precious := tmp_path / "samples.parquet").write_bytes(CONTENT)
    os.utime(precious, (1, 1))
    (folder := tmp_path / "gift").mkdir()
    (folder / name).hardlink_to(precious)
    return precious, folder / name


@pytest.mark.parametrize(("name", "write"), REFUSED)
def test_no_other_name_gets_a_different_content(
    tmp_path: Path, name: str, write: Callable[[Path], object]
) -> None:
    precious, path = _linked(tmp_path, name)
    with pytest.raises(StoreError, match=r"it has other names, too \(hard links\); put a copy in its place"):
        write(path)
    assert (precious.read_bytes(), precious.stat().st_mtime) == (CONTENT, 1)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("name", "write"), WITHOUT_IT)
def test_what_can_do_without_the_file_leaves_it_as_it_is(
    tmp_path: Path, name: str, write: Callable[[Path], object]
) -> None:
    precious, path = _linked(tmp_path, name)
    write(path)
    assert (precious.read_bytes(), precious.stat().st_mtime) == (CONTENT, 1)


@pytest.mark.parametrize("name", ["samples.parquet", "race.json"])
def test_an_experiment_is_deleted_whatever_its_journal_is(tmp_path: Path, name: str) -> None:
    folder = RaceStore(tmp_path).create(record("a-race"))
    folder.finish(record("a-race"))
    precious = folder.path / name
    precious.write_bytes(CONTENT)
    experiment = ExperimentStore(tmp_path).create("gift")
    (experiment.path / "plan.json").write_text("{}")
    experiment.journal_file.hardlink_to(precious)
    with pytest.raises(StoreError, match="put a copy in its place"), experiment.locked():
        pass
    ExperimentStore(tmp_path).delete(experiment)
    assert not experiment.path.exists()
    assert precious.read_bytes() == CONTENT
    assert sorted(path.name for path in folder.path.parent.iterdir()) == ["a-race"]


@pytest.mark.parametrize("content", [CONTENT, b"{}\n", b"{}", b""])
@pytest.mark.parametrize("kind", ["experiment", "search"])
def test_nothing_is_continued_whose_journal_has_other_names(
    tmp_path: Path, kind: str, content: bytes
) -> None:
    """Also with lines that can all be read: others would be appended to the file of a race."""
    (precious := tmp_path / "precious").write_bytes(content)
    store = ExperimentStore(tmp_path)
    folder: ExperimentFolder | TuneFolder
    folder = store.create("gift") if kind == "experiment" else create_tune(store)
    (folder.path / "journal.jsonl").hardlink_to(precious)
    with pytest.raises(StoreError, match="put a copy in its place"), folder.locked():
        pass
    assert precious.read_bytes() == content
    # The copy that the message asks for.
    (folder.path / "journal.jsonl").unlink()
    (folder.path / "journal.jsonl").write_bytes(content)
    with folder.locked():
        pass


def _back_up(folder: Path, to: Path) -> None:
    """Does what `cp -al` does."""
    shutil.copytree(folder, to, copy_function=os.link)


def test_a_backup_by_links_does_not_end_a_race(tmp_path: Path) -> None:
    store = RaceStore(tmp_path / "home")
    folder = store.create(record("a-race", tasks=(), complete=False), [ExpectedResult("index", "bulk")])
    _back_up(store.home, tmp_path / "before")
    folder.append(bulk())
    _back_up(store.home, tmp_path / "after")
    folder.append(paced())
    assert folder.read().tasks == (bulk(), paced())
    folder.finish(record("a-race"))
    assert folder.read() == record("a-race")
    assert sorted(path.name for path in folder.path.iterdir()) == ["artifacts", "race.json"]
    for name in ("before", "after"):
        assert RaceStore(tmp_path / name).load("a-race").race_id == "a-race"


_Begun = tuple[Callable[[], AbstractContextManager[None]], Callable[[], None], Callable[[], Sequence[object]]]


def _experiment(store: ExperimentStore) -> _Begun:
    folder = store.create("heap")
    return folder.locked, lambda: folder.append(JournalEntry(event="stopped", at="t")), folder.journal


def _search(store: ExperimentStore) -> _Begun:
    folder = create_tune(store)
    return folder.locked, lambda: folder.append(TuneEvent(event="stopped", at="t")), folder.journal


@pytest.mark.parametrize("begun", [_experiment, _search])
def test_a_backup_by_links_does_not_end_an_experiment(
    tmp_path: Path, begun: Callable[[ExperimentStore], _Begun]
) -> None:
    store = ExperimentStore(tmp_path / "home")
    locked, append, journal = begun(store)
    for number in range(2):
        with locked():
            append()
            _back_up(store.home, tmp_path / f"backup-{number}")
            append()
        shutil.rmtree(tmp_path / f"backup-{number}")
    assert len(journal()) == 4


@pytest.mark.parametrize("name", INDEX_FILES)
def test_an_index_with_other_names_is_not_written(tmp_path: Path, name: str) -> None:
    """SQLite writes in place, also to a database of another program before it is found to be none of ours."""
    store = RaceStore(tmp_path)
    store.create(record("a-race")).finish(record("a-race"))
    precious = tmp_path / "precious"
    with contextlib.closing(sqlite3.connect(precious)) as database, database:
        database.execute("CREATE TABLE passwords (site)")
    content = precious.read_bytes()
    (store.races / name).unlink(missing_ok=True)
    (store.races / name).hardlink_to(precious)
    assert [race.race_id for race in store.list(RaceFilter())] == ["a-race"]
    assert precious.read_bytes() == content
    assert precious.stat().st_nlink == 2


def test_a_download_is_not_continued_in_a_file_with_other_names(tmp_path: Path) -> None:
    partial = PartialFile(tmp_path / "a.json", "http://127.0.0.1/a.json")
    partial.create(FileVersion(9, '"tag"', ranges=True), [segment := FileSegment(0, 9, 0)])
    partial.write(segment, b"[")
    partial.save()
    partial.close()
    (precious := tmp_path / "precious").write_bytes(CONTENT)
    assert PartialFile(tmp_path / "a.json", "http://127.0.0.1/a.json").resume()
    partial.path.unlink()
    partial.path.hardlink_to(precious)
    assert not PartialFile(tmp_path / "a.json", "http://127.0.0.1/a.json").resume()
    assert precious.read_bytes() == CONTENT
