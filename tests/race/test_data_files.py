"""An excerpt of a data file, for test mode, has limits of size."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from pacenote.errors import CorpusError
from pacenote.model.progress import no_progress
from pacenote.model.track import Documents
from pacenote.race import data_files
from pacenote.race.data_files import DataDirs, write_excerpt


@pytest.mark.parametrize(
    ("name", "limit", "message"),
    [
        ("_MAX_LINE_BYTES", 99, "line 2 of .* is longer than 99 B"),
        ("_MAX_EXCERPT_BYTES", 109, "the first 2 lines of .* have more than 109 B"),
    ],
)
def test_lines_that_are_too_large_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int, message: str
) -> None:
    archive = tmp_path / "docs.json.bz2"
    archive.write_bytes(bz2.compress(b"a" * 9 + b"\n" + b"b" * 99 + b"\n" + b"c\n"))
    documents = Documents(source_file=archive.name, document_count=2)
    dirs = DataDirs(tmp_path / "cache")
    monkeypatch.setattr(data_files, name, limit)
    with pytest.raises(CorpusError, match=message):
        write_excerpt(archive, documents, dirs, no_progress)
    assert [path.name for path in dirs.cache.glob("*/*") if path.name != ".lock"] == []
    monkeypatch.setattr(data_files, name, limit + 1)
    excerpt = write_excerpt(archive, documents, dirs, no_progress)
    assert excerpt.read_bytes() == b"a" * 9 + b"\n" + b"b" * 99 + b"\n"
