"""The state of a download is written only to new files, and read only from regular ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.fetch.disk import replace_text
from pacenote.fetch.http_file import FileVersion
from pacenote.fetch.partial_file import FileSegment, PartialFile


def replace_by_link(target: Path) -> Callable[..., None]:
    """Returns a method that removes a path and, as another user might at once, puts a link there."""
    unlink = Path.unlink

    def unlink_and_link(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        path.symlink_to(target)

    return unlink_and_link


def test_the_state_is_not_written_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (target := tmp_path / "target").write_text("precious")
    file = PartialFile(tmp_path / "a.json", "http://127.0.0.1/a.json")
    file.create(FileVersion(9, '"tag"', ranges=True), [FileSegment(0, 9, 0)])
    monkeypatch.setattr(Path, "unlink", replace_by_link(target))
    with pytest.raises(FileExistsError):
        file.save()
    assert target.read_text() == "precious"


def test_text_is_not_written_through_a_link(tmp_path: Path) -> None:
    (target := tmp_path / "target").write_text("precious")
    (tmp_path / f".names.{os.getpid()}.part").symlink_to(target)
    replace_text(tmp_path / "names", "new")
    assert target.read_text() == "precious"
    assert (tmp_path / "names").read_text() == "new"


def test_a_pipe_instead_of_the_state_does_not_block(tmp_path: Path) -> None:
    file = PartialFile(tmp_path / "a.json", "http://127.0.0.1/a.json")
    os.mkfifo(f"{file.path}.json")
    assert not file.resume()


@pytest.mark.parametrize("resumable", [True, False])
def test_nothing_remains_of_a_download_that_is_given_up(tmp_path: Path, resumable: bool) -> None:
    partial = PartialFile(tmp_path / "a.jar", "http://h/a.jar")
    partial.create(FileVersion(9, '"tag"', ranges=resumable), [FileSegment(0, 9, 0)])
    partial.save()
    # A killed process leaves it while it writes a state.
    partial.path.with_name(f"{partial.path.name}.json.new").touch()
    partial.discard()
    assert list(tmp_path.iterdir()) == []
