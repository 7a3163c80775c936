"""What is at a path is answered without errors, whatever is there."""

from __future__ import annotations

import os
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pacenote.system.paths import (
    exists,
    is_dir,
    is_file,
    is_link,
    is_missing,
    paths_in,
    real_path,
    written_at,
)
from support.unreadable_paths import UNREADABLE, bound_by_permissions, unlock


@pytest.fixture(autouse=True)
def _permissions(tmp_path: Path) -> Generator[None, None, None]:
    with bound_by_permissions():
        yield
    unlock(tmp_path)


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_looked_at_does_not_exist(tmp_path: Path, name: str) -> None:
    path = tmp_path / "path"
    UNREADABLE[name](path)
    is_folder = name == "folder without permission"
    assert (exists(path), is_dir(path), is_link(path)) == (is_folder, is_folder, not is_folder)
    assert not is_file(path)
    assert paths_in(path) == ()
    for check in (exists, is_file, is_dir, is_link):
        assert not check(path / "inner")
    # What is removed unless something exists must not be removed for want of permissions.
    assert not is_missing(path)
    assert not is_missing(path / "inner")
    assert path in paths_in(tmp_path)
    assert real_path(path).is_absolute()


def test_other_paths_are_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert [path.name for path in paths_in(tmp_path)] == ["file", "link", "pipe"]
    assert [is_file(path) for path in paths_in(tmp_path)] == [True, True, False]
    assert [is_link(path) for path in paths_in(tmp_path)] == [False, True, False]
    assert is_dir(tmp_path)
    assert is_missing(tmp_path / "none")
    assert is_missing(tmp_path / "file/inner")
    for odd in (tmp_path / "none", Path("a" * 300), Path("a\0b"), Path("\ud800")):
        assert not any(check(odd) for check in (exists, is_file, is_dir, is_link))
        assert paths_in(odd) == ()
    assert real_path(tmp_path / "link") == real_path(tmp_path) / "file"
    assert real_path(Path("a\0b")) == Path("a\0b")
    for number in range(1500):
        (tmp_path / f"chain{number}").symlink_to(f"chain{number + 1}")
    assert real_path(tmp_path / "chain0").parent == tmp_path


@pytest.mark.parametrize("seconds", [10**12, 10**17, -(10**12)])
def test_a_time_that_no_date_can_have_is_replaced_by_when_it_was_set(tmp_path: Path, seconds: int) -> None:
    kept = tmp_path.stat()
    status = os.stat_result((*kept[:8], seconds, int(kept.st_ctime)))
    assert written_at(status) == datetime.fromtimestamp(int(kept.st_ctime), UTC)
    assert written_at(kept) == datetime.fromtimestamp(kept.st_mtime, UTC)
