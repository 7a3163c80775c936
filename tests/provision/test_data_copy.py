"""The data of a stopped node is copied; only what engines never change is shared with the original."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from pacenote.errors import DiskError
from pacenote.fetch import disk as disk_module
from pacenote.provision import data_copy
from pacenote.provision.data_copy import copy_data, data_size, move_data, unshared_bytes
from pacenote.system.child_process import ProcessUser
from pacenote.system.folder_trees import remove_tree
from provision.nested import nested
from support.disks import small_disk

SEGMENT = "nodes/0/indices/abc/0/index/_0.cfs"
OTHERS = {
    "nodes/0/node.lock": b"",
    "nodes/0/_state/_1.st": b"state",
    "nodes/0/indices/abc/0/index/segments_2": b"commit",
    "nodes/0/indices/abc/0/index/write.lock": b"",
    "nodes/0/indices/abc/0/translog/translog-3.tlog": b"operations",
    "nodes/0/indices/abc/0/translog/_0.cfs": b"not a segment",
}


def write_data(folder: Path) -> Path:
    for name, content in {**OTHERS, SEGMENT: b"x" * 5000}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    (folder / "nodes").chmod(0o755)
    return folder


def give(folder: Path, user: ProcessUser) -> None:
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user.uid, user.gid)


@pytest.mark.parametrize("name", ["_0.cfs", "_1a_2.liv", "_z_Lucene90_0.dvd", "_0_Lucene912_0.doc", "_3.si"])
def test_files_of_segments_are_recognized(name: str) -> None:
    assert data_copy._SEGMENT_FILE.fullmatch(name)


@pytest.mark.parametrize("name", ["segments_2", "write.lock", "_0", "pending_segments_3", "_state", "0.cfs"])
def test_other_files_are_not_files_of_segments(name: str) -> None:
    assert not data_copy._SEGMENT_FILE.fullmatch(name)


def test_holes_are_neither_read_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's user can make holes of any size."""
    monkeypatch.setattr(data_copy, "_can_clone", lambda _: False)
    source = write_data(tmp_path / "a")
    sparse = source / "nodes" / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"x" * 5000)
    if sparse.stat().st_blocks * 512 >= 1 << 20:
        pytest.skip("the file system has no holes")
    other_disk = Path("/proc")
    assert unshared_bytes(source, tmp_path) < 1 << 20
    assert unshared_bytes(source, other_disk) < 1 << 20
    copy_data(source, tmp_path / "b", None)
    copy = tmp_path / "b" / "nodes" / "sparse"
    assert (copy.stat().st_size, copy.stat().st_blocks) == (1 << 40, sparse.stat().st_blocks)
    with copy.open("rb") as file:
        file.seek(1 << 30)
        assert file.read(5001) == b"x" * 5000 + b"\0"


def test_a_file_needs_room_for_its_content_whatever_it_takes_on_its_disk(tmp_path: Path) -> None:
    """A file system that compresses states fewer blocks than a copy may need; sysfs states none."""
    source = Path("/sys/kernel/mm/transparent_hugepage")
    files = [path.stat() for path in source.glob("*") if path.is_file()]
    if not any(status.st_size for status in files) or any(status.st_blocks for status in files):
        pytest.skip("sysfs has no such files here")
    assert unshared_bytes(source, tmp_path) >= sum(status.st_size for status in files)


def test_a_copy_has_the_same_content_and_times(tmp_path: Path) -> None:
    source = write_data(tmp_path / "a")
    (source / "link").symlink_to("/etc/passwd")
    size = copy_data(source, tmp_path / "b", None)
    assert size == data_size(source) == data_size(tmp_path / "b")
    assert (size.files, size.bytes) == (7, 5034)
    assert size.newest_ns == 1_700_000_000_123_456_789
    for name, content in OTHERS.items():
        assert (tmp_path / "b" / name).read_bytes() == content
    assert not (tmp_path / "b" / "link").exists()
    assert (tmp_path / "b" / "nodes").stat().st_mode & 0o777 == 0o755


def test_only_files_of_segments_share_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_copy, "_can_clone", lambda folder: False)
    source = write_data(tmp_path / "a")
    assert unshared_bytes(source, tmp_path) == 34
    copy_data(source, tmp_path / "b", None)
    assert (tmp_path / "b" / SEGMENT).samefile(source / SEGMENT)
    for name in OTHERS:
        assert not (tmp_path / "b" / name).samefile(source / name), name
    # What an engine does with such a file is delete it.
    (tmp_path / "b" / SEGMENT).unlink()
    assert (source / SEGMENT).stat().st_size == 5000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_the_copy_belongs_to_the_user_of_the_node(tmp_path: Path) -> None:
    source, user = write_data(tmp_path / "a"), ProcessUser("nobody", 65534, 65534)
    give(source, user)
    copy_data(source, tmp_path / "b", user)
    copied = [tmp_path / "b", *(tmp_path / "b").rglob("*")]
    assert {path.lstat().st_uid for path in copied} == {65534}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("name", ["_9.cfs", "node.lock"])
def test_a_file_of_another_user_is_not_given_to_the_node(tmp_path: Path, name: str) -> None:
    source, user = write_data(tmp_path / "a"), ProcessUser("nobody", 65534, 65534)
    give(source, user)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret").chmod(0o600)
    # A kernel without fs.protected_hardlinks lets the user of the node make this link.
    (source / SEGMENT).with_name(name).hardlink_to(tmp_path / "secret")
    with pytest.raises(DiskError, match=f"its file {name} belongs to user 0"):
        copy_data(source, tmp_path / "b", user)
    assert not list((tmp_path / "b").rglob(name))
    assert (tmp_path / "secret").stat().st_uid == 0


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    nested(tmp_path / "a", 70)
    for read in (partial(copy_data, owner=None), unshared_bytes):
        with pytest.raises(DiskError, match="folders are nested more than 64 times"):
            read(tmp_path / "a", tmp_path)
    with pytest.raises(DiskError, match="folders are nested more than 64 times"):
        data_size(tmp_path / "a")
    for path in (tmp_path / "a", tmp_path / "d"):
        remove_tree(path)


def test_data_is_moved_or_copied_to_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_module, "KEEP_FREE", 0)
    moved = move_data(write_data(tmp_path / "a"), tmp_path / "b")
    assert not (tmp_path / "a").exists()
    with small_disk(tmp_path / "disk", 400) as disk:
        assert unshared_bytes(tmp_path / "b", disk) == 5034
        assert move_data(tmp_path / "b", disk / "c") == moved
        assert data_size(disk / "c") == moved


def test_data_for_which_a_disk_has_no_room_is_not_copied(tmp_path: Path) -> None:
    source = write_data(tmp_path / "a")
    with small_disk(tmp_path / "disk", 400) as disk:
        for copy in (move_data, partial(copy_data, owner=None)):
            with pytest.raises(DiskError, match="no room for a copy of the data of the node"):
                copy(source, disk / "b")
            assert list((disk / "b").iterdir()) == []


def test_a_full_disk_is_reported_and_keeps_no_part_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may fill it meanwhile."""
    monkeypatch.setattr(data_copy, "check_free_space", lambda *_: None)
    source = write_data(tmp_path / "a")
    (source / SEGMENT).write_bytes(b"x" * 600_000)
    with small_disk(tmp_path / "disk", 400) as disk:
        with pytest.raises(DiskError, match="no space left on the disk"):
            copy_data(source, disk / "b", None)
        assert not (disk / "b" / SEGMENT).exists()


def test_a_copy_does_not_run_as_its_owner(tmp_path: Path) -> None:
    source = write_data(tmp_path / "a")
    (source / "program").write_bytes(b"x")
    (source / "program").chmod(0o6755)
    (source / "nodes").chmod(0o7755)
    copy_data(source, tmp_path / "b", None)
    for name in ("program", "nodes"):
        assert (tmp_path / "b" / name).stat().st_mode & 0o7777 == 0o755
