"""The disk fills up while a corpus is unpacked: no part of it is taken for the whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pacenote.errors import CorpusError, PacenoteError
from pacenote.fetch.disk import check_free_space
from pacenote.model.track import Documents
from pacenote.race import data_files
from pacenote.race.data_files import DataDirs, open_data_file, write_excerpt
from support.disks import fill, small_disk

pytestmark = pytest.mark.process

LINE = b'{"text": "' + b"x" * 1000 + b'"}\n'
LINES = 30_000
"""Lines of the corpus, which has 30 MB."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "docs.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.writelines(LINE for _ in range(LINES))
    return path


def documents(*, declared: bool) -> Documents:
    return Documents(
        source_file="docs.json.gz",
        document_count=LINES,
        uncompressed_bytes=LINES * len(LINE) if declared else None,
    )


def files(folder: Path) -> list[str]:
    return [
        path.name for path in folder.rglob("*") if path.is_file() and path.name not in (".lock", "filler")
    ]


@pytest.mark.parametrize(("leave_mb", "declared"), [(0, False), (75, True), (100, False), (128, True)])
def test_an_archive_is_unpacked_whole_or_not_at_all(
    tmp_path: Path, archive: Path, leave_mb: int, *, declared: bool
) -> None:
    with small_disk(tmp_path / "home", 160 << 10) as disk:
        filler = fill(disk, leave_mb << 10)
        dirs = DataDirs(disk / "corpora")
        message = ""
        try:
            opened = open_data_file(
                archive, documents(declared=declared), dirs, lambda *_: None, checked=declared
            )
        except PacenoteError as error:
            message = error.message
        if message:
            assert "free" in message or "left" in message or "No space" in message
            assert files(disk) == []
        else:
            assert opened.path.stat().st_size == LINES * len(LINE)
        assert leave_mb == 100 or bool(message) == (leave_mb < 100)
        filler.unlink()
        opened = open_data_file(
            archive, documents(declared=declared), dirs, lambda *_: None, checked=declared
        )
        assert (opened.path.stat().st_size, opened.documents) == (LINES * len(LINE), LINES)


def test_the_disk_is_filled_by_others_meanwhile(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_then_fill(folder: Path, needed: int, name: str) -> None:
        check_free_space(folder, needed, name)
        fill(folder.parent.parent)

    with small_disk(tmp_path / "home", 160 << 10) as disk:
        dirs = DataDirs(disk / "corpora")
        monkeypatch.setattr(data_files, "check_free_space", check_then_fill)
        with pytest.raises(CorpusError, match=r"docs\.json.*(the disk has .* left|No space left)"):
            open_data_file(archive, documents(declared=True), dirs, lambda *_: None, checked=True)
        monkeypatch.undo()
        assert files(disk) == []
        (disk / "filler").unlink()
        opened = open_data_file(archive, documents(declared=True), dirs, lambda *_: None, checked=True)
        assert opened.documents == LINES


def test_an_excerpt_is_written_whole_or_not_at_all(tmp_path: Path, archive: Path) -> None:
    few = Documents(source_file="docs.json.gz", document_count=1000)
    with small_disk(tmp_path / "home", 4096) as disk:
        filler = fill(disk, 400)
        dirs = DataDirs(disk / "corpora")
        with pytest.raises(CorpusError, match=r"cannot write .*: No space left on device"):
            write_excerpt(archive, few, dirs, lambda *_: None)
        assert files(disk) == []
        filler.unlink()
        assert write_excerpt(archive, few, dirs, lambda *_: None).read_bytes() == LINE * 1000
