"""Bytes that nodes wrote to disks, and the size of their data."""

import os
from pathlib import Path

import pytest

from pacenote.telemetry.device import ObservedNode
from pacenote.telemetry.node_disk import DiskIo, IndexSize
from telemetry.sampling import run_device


def node(folder: Path, pid: int = os.getpid()) -> ObservedNode:
    return ObservedNode("node-0", pid, (folder / "a", folder / "b"), folder / "logs")


def test_the_bytes_of_a_process_are_differences_of_what_the_kernel_counts(tmp_path):
    run = run_device(DiskIo, {}, nodes=(node(tmp_path),))
    assert run.result.errors == ()
    values = run.result.values
    assert set(values) == {"node.node-0.disk_io_write_bytes", "node.node-0.disk_io_read_bytes"}
    # This process has written for weeks or for a second: only what it writes meanwhile may count.
    whole = int(next(line for line in Path("/proc/self/io").read_text().splitlines()
                     if line.startswith("write_bytes")).split(":")[1])  # fmt: skip
    assert 0 <= values["node.node-0.disk_io_write_bytes"] <= whole
    assert run.result.system.bytes_written == values["node.node-0.disk_io_write_bytes"]


def test_a_process_that_does_not_run_is_a_problem(tmp_path):
    (error,) = run_device(DiskIo, {}, nodes=(node(tmp_path, pid=2**22 + 1),)).result.errors
    assert "of node node-0 cannot be read: No such file or directory" in error


def test_the_size_of_all_data_folders_is_added_up(tmp_path):
    (tmp_path / "a" / "indices" / "0").mkdir(parents=True)
    (tmp_path / "a" / "indices" / "0" / "_0.cfs").write_bytes(b"x" * 1000)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "state").write_bytes(b"x" * 24)
    (tmp_path / "b" / "link").symlink_to(tmp_path / "a" / "indices" / "0" / "_0.cfs")
    run = run_device(IndexSize, {}, nodes=(node(tmp_path),))
    assert run.result.system.index_size == 1024
    assert run.result.values == {"node.node-0.final_index_size_bytes": 1024}


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_takes_the_place_of_a_folder_meanwhile_is_not_followed(tmp_path, monkeypatch, kind):
    """The user of the engine exchanges it after it was listed, and before it is opened. `os.scandir` is
    replaced, because only so does the exchange always happen in between.
    """
    folder, private = tmp_path / "a" / "indices", tmp_path / "private"
    folder.mkdir(parents=True)
    (tmp_path / "a" / "state").write_bytes(b"x" * 24)
    private.mkdir(mode=0o700)
    (private / "large").write_bytes(b"x" * 1000)
    list_folder = os.scandir

    class Exchanging:
        def __init__(self, path):
            self.entries = list_folder(path)

        def __enter__(self):
            return self.entries

        def __exit__(self, *_):
            self.entries.close()
            if folder.is_dir() and not folder.is_symlink():
                folder.rename(tmp_path / "moved")
                folder.symlink_to(private) if kind == "link" else os.mkfifo(folder)
                if os.geteuid() == 0:
                    os.lchown(folder, 54321, 54321)

    monkeypatch.setattr(os, "scandir", Exchanging)
    run = run_device(IndexSize, {}, nodes=(node(tmp_path),))
    assert (tmp_path / "moved").exists()
    assert (run.result.errors, run.result.system.index_size) == ((), 24)


def test_a_link_in_the_place_of_the_data_folder_is_not_followed(tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "a").symlink_to(tmp_path / "private")
    result = run_device(IndexSize, {}, nodes=(node(tmp_path),)).result
    assert result.system.index_size is None
    assert f"{tmp_path / 'a'} cannot be read: Not a directory" in result.errors[0]


def test_folders_that_are_nested_without_end_are_an_error(tmp_path):
    (tmp_path / "a" / "/".join("d" * 70)).mkdir(parents=True)
    (error,) = run_device(IndexSize, {}, nodes=(node(tmp_path),)).result.errors
    assert f"{tmp_path / 'a'} cannot be read: folders are nested more than 64 times" in error


def test_an_existing_cluster_has_neither(tmp_path):
    for device in (DiskIo, IndexSize):
        result = run_device(device, {}).result
        assert (result.values, result.errors) == ({}, ())
        assert (result.system.bytes_written, result.system.index_size) == (None, None)
