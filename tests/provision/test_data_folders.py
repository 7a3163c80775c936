"""Folders for data outside of the home: created for one node, and only those are removed."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import DiskError, EngineError, UsageError
from pacenote.provision.data_folders import (
    check_data_paths,
    create_data_folder,
    data_folder,
    indices_folder,
    remove_data_folder,
)
from pacenote.provision.layout import EngineLayout
from pacenote.system.child_process import ProcessUser


@pytest.fixture
def folder(layout: EngineLayout, tmp_path: Path) -> Path:
    """The folder of the node `n-1` below a data path."""
    folder = data_folder(tmp_path, "n-1")
    create_data_folder(folder, "n-1", layout)
    (indices_folder(folder) / "index").write_text("documents")
    return folder


def test_a_folder_is_created_for_one_node(layout: EngineLayout, folder: Path) -> None:
    assert folder.name == "pacenote-n-1"
    assert indices_folder(folder).stat().st_mode & 0o777 == 0o700
    assert json.loads((folder / "pacenote-node.json").read_text()) == {
        "node": "n-1",
        "home": str(layout.home),
    }
    with pytest.raises(DiskError):
        create_data_folder(folder, "n-1", layout)


def test_an_existing_folder_is_kept_on_request(layout: EngineLayout, folder: Path) -> None:
    create_data_folder(folder, "n-1", layout, kept=True)
    assert (indices_folder(folder) / "index").read_text() == "documents"


def test_the_folder_is_removed_with_its_content(layout: EngineLayout, folder: Path) -> None:
    remove_data_folder(folder, "n-1", layout)
    assert not folder.exists()
    remove_data_folder(folder, "n-1", layout)


def test_a_folder_without_the_file_is_removed_only_if_it_is_empty(layout: EngineLayout, folder: Path) -> None:
    (folder / "pacenote-node.json").unlink()
    remove_data_folder(folder, "n-1", layout)
    assert (indices_folder(folder) / "index").exists()
    (indices_folder(folder) / "index").unlink()
    indices_folder(folder).rmdir()
    remove_data_folder(folder, "n-1", layout)
    assert not folder.exists()


@pytest.mark.parametrize("change", ["node", "home", "name", "link"])
def test_a_folder_that_was_not_made_for_the_node_is_left_alone(
    layout: EngineLayout, folder: Path, tmp_path: Path, change: str
) -> None:
    kept, node_id = folder, "n-1"
    if change == "node":
        node_id = "n-2"
        folder = folder.rename(tmp_path / "pacenote-n-2")
        kept = folder
    elif change == "home":
        layout = replace(layout, home=tmp_path / "other")
    elif change == "name":
        folder = kept = folder.rename(tmp_path / "precious")
    else:
        kept = folder.rename(tmp_path / "precious")
        folder.symlink_to(kept)
    remove_data_folder(folder, node_id, layout)
    assert (indices_folder(kept) / "index").read_text() == "documents"


def test_the_users_folder_itself_is_never_removed(layout: EngineLayout, tmp_path: Path) -> None:
    own = tmp_path / "disk"
    own.mkdir()
    for path in (own, own / "missing", Path("/")):
        remove_data_folder(path, "n-1", layout)
    assert own.is_dir()


def test_a_data_path_must_be_a_folder(layout: EngineLayout, tmp_path: Path) -> None:
    check_data_paths((tmp_path, tmp_path), layout)
    with pytest.raises(UsageError, match="missing is not a folder"):
        check_data_paths((tmp_path / "missing",), layout)


def test_the_disk_of_a_data_path_is_checked(
    layout: EngineLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.statvfs_result((4096, 4096, 10, 0, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(EngineError, match="too little disk") as caught:
        check_data_paths((tmp_path,), layout)
    assert "another folder for --data-paths" in caught.value.hint


def test_the_user_of_the_node_must_be_able_to_enter(layout: EngineLayout, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    nobody = replace(layout, user=ProcessUser("nobody", 65534, 65534))
    with pytest.raises(EngineError, match=f"the user nobody, .* cannot enter {closed}"):
        check_data_paths((closed,), nobody)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts nodes as another user")
@pytest.mark.parametrize("change", ["owner", "mode"])
def test_root_uses_no_data_path_in_which_others_replace_folders(layout: EngineLayout, change: str) -> None:
    # Other users may pass through it, unlike through the folder of the tests.
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        disk = Path(name)
        disk.chmod(0o755)
        nobody = replace(layout, user=ProcessUser("nobody", 65534, 65534))
        check_data_paths((disk,), nobody)
        if change == "owner":
            os.chown(disk, 65534, 65534)
        else:
            disk.chmod(0o777)
        with pytest.raises(EngineError, match="who could lead Pacenote, which is root, to other folders"):
            check_data_paths((disk,), nobody)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a folder")
def test_a_folder_of_another_user_with_a_forged_marker_is_left_alone(
    layout: EngineLayout, folder: Path
) -> None:
    os.chown(folder, 65534, 65534)
    remove_data_folder(folder, "n-1", layout)
    assert (indices_folder(folder) / "index").exists()
    with pytest.raises(DiskError):
        create_data_folder(folder, "n-1", layout, kept=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_the_user_of_the_node_gets_only_the_folder_of_its_data(layout: EngineLayout, tmp_path: Path) -> None:
    nobody = replace(layout, user=ProcessUser("nobody", 65534, 65534))
    folder = data_folder(tmp_path, "n-1")
    create_data_folder(folder, "n-1", nobody)
    assert (folder.stat().st_uid, indices_folder(folder).stat().st_uid) == (0, 65534)
    copied = data_folder(tmp_path, "n-2")
    # Its data is copied by root before the user of the node may write there.
    create_data_folder(copied, "n-2", nobody, give=False)
    assert indices_folder(copied).stat().st_uid == 0


def test_a_folder_that_is_replaced_meanwhile_does_not_lead_elsewhere(
    layout: EngineLayout, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    (precious / "data").mkdir(parents=True)
    (precious / "data" / "file").touch()

    def replaced(*_: object, **__: object) -> object:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(precious)
        return {"node": "n-1", "home": str(layout.home)}

    for name in ("load", "loads"):
        monkeypatch.setattr(json, name, replaced)
    remove_data_folder(folder, "n-1", layout)
    assert (precious / "data" / "file").exists()


def test_files_of_others_in_the_folder_are_kept(layout: EngineLayout, folder: Path) -> None:
    (folder / "notes").write_text("mine")
    remove_data_folder(folder, "n-1", layout)
    assert [each.name for each in folder.iterdir()] == ["notes"]
