"""Reserved room stays usable when the disk is full."""

import os
import stat
import subprocess
import sys
from subprocess import PIPE

import pytest

from pacenote.errors import StoreError
from pacenote.store.race_folder import RECORD_BYTES, RaceFolder
from pacenote.store.reserved_file import ReservedFile, release_abandoned
from support.disks import fill, small_disk
from support.records import bulk, paced, record


def unfinished():
    return record(tasks=(), complete=False)


def test_results_and_the_record_are_stored_on_a_full_disk(tmp_path):
    with small_disk(tmp_path / "disk", 1024) as disk:
        folder = RaceFolder(disk)
        folder.write(unfinished())
        folder.reserve(2)
        fill(disk)
        assert os.statvfs(disk).f_bavail == 0
        folder.append(bulk())
        folder.append(paced())
        assert folder.read().tasks == (bulk(), paced())
        with pytest.raises(StoreError, match="the disk is full"):
            folder.write(unfinished())
        folder.finish(record())
        assert folder.read() == record()
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "race.json"]
        # What was reserved and not needed is free again.
        assert os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize > RECORD_BYTES


def test_a_record_that_does_not_fit_leaves_the_old_one_and_the_results(tmp_path):
    with small_disk(tmp_path / "disk", 1024) as disk:
        folder = RaceFolder(disk)
        folder.write(unfinished())
        folder.reserve(1)
        fill(disk)
        folder.append(bulk())
        aborted = record(aborted="x" * 400_000)
        with pytest.raises(StoreError, match="the disk is full"):
            folder.finish(aborted)
        assert folder.read().tasks == (bulk(),)
        folder.finish(record())
        assert folder.read() == record()


def test_the_record_is_stored_even_if_its_reserved_file_was_deleted(tmp_path):
    folder = RaceFolder(tmp_path)
    folder.reserve(1)
    (tmp_path / ".race.json.reserved").unlink()
    folder.finish(record())
    assert folder.read() == record()


def test_a_race_that_the_disk_has_no_room_for_is_an_error(tmp_path):
    message = r"cannot reserve .* MiB for .*: the disk is full"
    with small_disk(tmp_path / "disk", 1024) as disk, pytest.raises(StoreError, match=message):
        RaceFolder(disk).reserve(1000)


KILLED = """
import os, sys
from pathlib import Path
from pacenote.store.race_folder import RaceFolder
from support.records import bulk
folder = RaceFolder(Path(sys.argv[1]))
folder.reserve(3)
folder.append(bulk())
print("reserved", flush=True)
sys.stdin.read()
"""


def test_room_of_a_killed_race_is_released(tmp_path):
    with small_disk(tmp_path / "disk", 1024) as disk:
        command = [sys.executable, "-c", KILLED, disk]
        path = os.pathsep.join(filter(None, sys.path))
        with subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, env=os.environ | {"PYTHONPATH": path}
        ) as running:
            assert running.stdout.readline() == b"reserved\n"
            free = os.statvfs(disk).f_bfree
            RaceFolder(disk).release_abandoned_room()
            assert os.statvfs(disk).f_bfree == free
            running.kill()
        RaceFolder(disk).release_abandoned_room()
        # Only the block with the result is in use.
        assert os.statvfs(disk).f_bfree * os.statvfs(disk).f_frsize > (1024 - 20) << 10
        assert [path.name for path in disk.iterdir()] == ["tasks.jsonl"]
        assert len((disk / "tasks.jsonl").read_bytes().splitlines()) == 1


def test_reserved_files_are_empty_and_private(tmp_path):
    file = ReservedFile(tmp_path / "file", 100_000)
    status = (tmp_path / "file").stat()
    assert (status.st_size, stat.S_IMODE(status.st_mode)) == (0, 0o600)
    assert not release_abandoned(tmp_path / "file")
    file.become(tmp_path / "target", b"content")
    assert (tmp_path / "target").read_bytes() == b"content"
    assert not release_abandoned(tmp_path / "file")
