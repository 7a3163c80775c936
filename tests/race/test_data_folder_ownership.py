"""Data is neither read, written nor removed in folders that other users could replace meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.errors import CorpusError
from pacenote.model.track import Documents
from pacenote.race.data_files import DataDirs, open_data_file
from pacenote.race.generated_corpora import (
    MANIFEST,
    GeneratedCorpus,
    ensure_generated,
    generate,
    remove_generated,
)

Change = Callable[[Path], None]


def progress(*_: object) -> None:
    """Shows nothing."""


def open_to_all(path: Path) -> None:
    path.chmod(0o777)


def of_another_user(path: Path) -> None:
    os.lchown(path, 65534, 65534)


CHANGES = [
    open_to_all,
    pytest.param(
        of_another_user, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")
    ),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["cache", "cache/notes", "cache/notes/docs.json"])
def test_documents_of_a_shared_cache_are_not_read(tmp_path: Path, change: Change, name: str) -> None:
    folder = tmp_path / "cache" / "notes"
    folder.mkdir(parents=True)
    (folder / "docs.json").write_text("{}\n")
    dirs, documents = DataDirs(folder), Documents("docs.json", 1)
    path = dirs.find(documents)
    assert path is not None
    assert open_data_file(path, documents, dirs, progress, checked=True).documents == 1
    change(tmp_path / name)
    with pytest.raises(CorpusError, match=f"replaced by others while it is used: {tmp_path / name} "):
        dirs.find(documents)
    with pytest.raises(CorpusError, match="could be replaced by others"):
        open_data_file(path, documents, dirs, progress, checked=True)


@pytest.mark.parametrize("change", CHANGES)
def test_documents_are_not_generated_in_a_shared_cache(tmp_path: Path, change: Change) -> None:
    folder, corpus = tmp_path / "cache" / "notes", GeneratedCorpus("notes", {"docs.json": 1}, 1)
    folder.mkdir(parents=True)
    change(folder.parent)
    with pytest.raises(CorpusError, match=f"{folder} could be replaced by others"):
        ensure_generated(corpus, folder, progress)
    with pytest.raises(CorpusError, match=f"{folder} could be replaced by others"):
        generate("geonames", 1, 1, folder, progress)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("change", CHANGES)
def test_generated_documents_are_not_removed_from_a_shared_cache(tmp_path: Path, change: Change) -> None:
    folders = [tmp_path / name / "generated-1-seed-7-x" for name in ("own", "shared")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / MANIFEST).touch()
    change(folders[1].parent)
    remove_generated(tmp_path, 7)
    assert [folder.exists() for folder in folders] == [False, True]
