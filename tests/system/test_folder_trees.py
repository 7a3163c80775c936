"""Folders of any depth are walked and removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.system import folder_trees
from pacenote.system.folder_trees import delete_tree, discard_tree, remove_tree, walk_files, walk_folders
from provision.nested import DEEP, nested, shallow_stack


@pytest.mark.parametrize("remove", [delete_tree, discard_tree, remove_tree])
@pytest.mark.parametrize("depth", [3, DEEP])
def test_a_folder_of_any_depth_is_removed(tmp_path: Path, remove: Callable[[Path], None], depth: int) -> None:
    (tmp_path / "kept").write_text("kept")
    nested(tmp_path / "tree", depth)
    with shallow_stack():
        remove(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_cannot_be_removed_is_an_error_unless_it_is_discarded(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        delete_tree(tmp_path / "missing")
    discard_tree(tmp_path / "missing")


def test_folders_of_any_depth_are_walked(tmp_path: Path) -> None:
    nested(tmp_path / "tree", DEEP)
    with shallow_stack():
        walked = [(folders, files) for _, folders, files in walk_folders(tmp_path / "tree")]
    assert len(walked) == DEEP + 1
    assert walked[0] == (["d"], ["file"])
    discard_tree(tmp_path / "tree")


def test_only_some_names_of_a_large_folder_are_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_trees, "_NAMES_AT_A_TIME", 10)
    names = {f"file-{number}" for number in range(25)}
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "inner").mkdir()
    parts = [files for _, files, _ in walk_files(tmp_path)]
    assert [len(part) for part in parts] == [10, 10, 5, 0]
    assert {name for part in parts for name in part} == names


@pytest.mark.parametrize(("limit", "kind"), [("MAX_NAMES", Path.touch), ("_MAX_FOLDERS", Path.mkdir)])
def test_a_tree_with_too_many_names_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, kind: Callable[[Path], None]
) -> None:
    for number in range(12):
        kind(tmp_path / str(number))
    assert list(walk_files(tmp_path))
    monkeypatch.setattr(folder_trees, limit, 10)
    with pytest.raises(OSError, match="folders have more than"):
        list(walk_files(tmp_path))


def test_a_large_folder_is_removed_without_a_list_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "listdir", None)
    for name in ("tree/inner/deeper", "tree/other"):
        (tmp_path / name).mkdir(parents=True)
        for number in range(100):
            (tmp_path / name / str(number)).touch()
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_folders_are_walked_as_by_python(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "e")
    (tmp_path / "dangling").symlink_to("nothing")
    for left_out in ("", "b"):
        walks = []
        for walk in (os.walk, walk_folders):
            walked = []
            for path, folders, files in walk(tmp_path):
                folders[:] = sorted(name for name in folders if name != left_out)
                walked.append((path, folders, sorted(files)))
            walks.append(walked)
        assert walks[0] == walks[1]
    assert list(walk_folders(tmp_path / "missing")) == []
