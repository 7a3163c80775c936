"""Which changes of a data file are noticed, and what its status cannot tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.race.data_file_states import FileChange, FileState, changes

LARGE = 9 * 2**20
"""Size of a file that is too large to be compared completely."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "docs.json"
    path.write_text('{"n": 1}\n' * 10)
    return path


def write_at(path: Path, position: int) -> None:
    """Changes a byte of a file, but neither its size nor its time."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(position)
        file.write(b"2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def change_after(path: Path, act: Callable[[Path], object]) -> FileChange | None:
    """Returns what is noticed of an act that changes the status of a file."""
    state = FileState.of(path)
    act(path)
    while path.stat().st_ctime_ns == state.status.changed_ns:
        # The clock of the file system is coarse.
        path.chmod(path.stat().st_mode)
    return state.change()


def rewritten_and_linked(path: Path) -> None:
    write_at(path, 50)
    (path.parent / "link.json").hardlink_to(path)


def linked_for_a_while(path: Path) -> None:
    (path.parent / "link.json").hardlink_to(path)
    (path.parent / "link.json").unlink()


def test_a_change_of_the_mode_or_the_names_does_not_hide_one_of_the_content(path: Path) -> None:
    expected = FileChange(f"{path} was modified and its time set back")
    assert change_after(path, rewritten_and_linked) == expected
    path.chmod(0o600)
    assert change_after(path, lambda path: (write_at(path, 5), path.chmod(0o640))) == expected


@pytest.mark.parametrize("act", [linked_for_a_while, lambda path: path.chmod(0o640), Path.read_bytes])
def test_a_file_whose_content_is_the_same_is_not_changed(path: Path, act: Callable[[Path], object]) -> None:
    assert change_after(path, act) is None


def test_a_file_is_read_again_only_if_its_status_has_changed(path: Path) -> None:
    state = replace(FileState.of(path), checksum=0)
    assert state.change() is None
    changed = replace(state.status, changed_ns=0)
    assert replace(state, status=changed).change() is not None


def test_a_large_file_whose_blocks_are_the_same_may_have_been_modified(path: Path) -> None:
    os.truncate(path, LARGE)
    for position in (0, LARGE - 1):
        change = change_after(path, partial(write_at, position=position))
        assert change is not None
        assert change.certain
    possible = FileChange(f"{path} may have been modified (128 blocks of it are the same)", certain=False)
    assert change_after(path, linked_for_a_while) == possible
    # No block contains the byte in the middle.
    assert change_after(path, partial(write_at, position=LARGE // 2)) == possible
    os.truncate(path, 2**23)
    assert change_after(path, linked_for_a_while) is None


def test_a_file_that_cannot_be_read_may_have_been_modified(path: Path) -> None:
    state = replace(FileState.of(path), checksum=None)
    assert changes([state]) == ()
    status = replace(state.status, changed_ns=0)
    (change,) = changes([replace(state, status=status)])
    assert change == FileChange(f"{path} may have been modified (it cannot be read)", certain=False)
