"""Bytes that nodes wrote to disks, and the size of their data."""

import os
from pathlib import Path

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


def test_an_existing_cluster_has_neither(tmp_path):
    for device in (DiskIo, IndexSize):
        result = run_device(device, {}).result
        assert (result.values, result.errors) == ({}, ())
        assert (result.system.bytes_written, result.system.index_size) == (None, None)
