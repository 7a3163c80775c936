"""Files of an engine that every user can read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.provision.public_files import copy_file, link_file, write_public


def test_a_copy_does_not_run_as_its_owner(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("x")
    program.chmod(0o6754)
    copy_file(program, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "x"
    assert (tmp_path / "copy").stat().st_mode & 0o7777 == 0o754


def test_a_copy_has_the_holes_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 512 << 20)
    copy_file(tmp_path / "sparse", tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_size == 512 << 20
    assert (tmp_path / "copy").stat().st_blocks == 0


@pytest.mark.parametrize("can_link", [True, False])
def test_nothing_is_written_to_a_file_that_is_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    cached, other, placed = tmp_path / "cached", tmp_path / "other", tmp_path / "placed"
    cached.write_text("cached")
    other.write_text("other")
    os.link(cached, placed)
    if not can_link:

        def no_links(*_: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr("os.link", no_links)
    with pytest.raises(FileExistsError):
        link_file(other, placed)
    write_public(placed, "text")
    assert (placed.read_text(), cached.read_text()) == ("text", "cached")
