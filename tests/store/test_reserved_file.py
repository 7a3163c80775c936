"""Reserved room stays usable when the disk is full."""

import fcntl
import os
import resource
import stat
import subprocess
import sys
import threading
from subprocess import PIPE

import pytest
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.model.failure_group import FailureGroup
from pacenote.model.result import SubOperationResult
from pacenote.store import reserved_file
from pacenote.store.race_folder import RECORD_BYTES, ExpectedResult, RaceFolder
from pacenote.store.reserved_file import ReservedFile, is_locked, release_abandoned
from pacenote.system import locks
from report.test_saturation import FOUND, PROBE
from support.disks import fill, small_disk
from support.records import bulk, paced, record


def unfinished():
    return record(tasks=(), complete=False)


def results(count):
    return [ExpectedResult("task", "operation")] * count


def test_results_and_the_record_are_stored_on_a_full_disk(tmp_path):
    with small_disk(tmp_path / "disk", 1024) as disk:
        folder = RaceFolder(disk)
        folder.write(unfinished())
        folder.reserve(results(2))
        fill(disk)
        assert os.statvfs(disk).f_bavail == 0
        folder.append(bulk())
        folder.append(paced())
        assert folder.read().tasks == (bulk(), paced())
        with pytest.raises(StoreError, match="the disk is full"):
            folder.write(unfinished())
        folder.finish(record())
        assert folder.read() == record(folder.path.name)
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "race.json"]
        # What was reserved and not needed is free again.
        assert os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize > RECORD_BYTES


def test_room_that_a_file_must_not_have_is_not_reserved(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_240, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"may have at most 10\.0 KiB") as caught:
            RaceFolder(tmp_path).reserve(results(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.hint == "raise the limit (`ulimit -f`)"


def test_the_result_of_a_saturation_is_stored_on_a_full_disk(tmp_path):
    ended = replace(FOUND, probes=(PROBE,) * 20, ended_early="the disk is full")
    with small_disk(tmp_path / "disk", 1024) as disk:
        folder = RaceFolder(disk)
        folder.reserve_saturation()
        folder.write_saturation(FOUND)
        fill(disk)
        with pytest.raises(StoreError, match="the disk is full"):
            folder.write_saturation(replace(FOUND, notes=("x" * 200_000,)))
        assert folder.read_saturation() == replace(FOUND, race_id="disk")
        folder.finish_saturation(ended)
        assert folder.read_saturation() == replace(ended, race_id="disk")
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "saturation.json"]


def test_room_for_the_result_of_a_saturation_is_released_after_a_kill(tmp_path):
    folder = RaceFolder(tmp_path)
    folder.reserve_saturation()
    RaceFolder(tmp_path).release_abandoned_room()
    assert (tmp_path / ".saturation.json.reserved").exists()
    folder._final_saturation.close()
    RaceFolder(tmp_path).release_abandoned_room()
    assert not any(tmp_path.iterdir())


def test_a_record_that_does_not_fit_leaves_the_old_one_and_the_results(tmp_path):
    with small_disk(tmp_path / "disk", 1024) as disk:
        folder = RaceFolder(disk)
        folder.write(unfinished())
        folder.reserve(results(1))
        fill(disk)
        folder.append(bulk())
        aborted = record(aborted="x" * 400_000)
        with pytest.raises(StoreError, match="the disk is full"):
            folder.finish(aborted)
        assert folder.read().tasks == (bulk(),)
        folder.finish(record())
        assert folder.read() == record(folder.path.name)


def test_the_record_is_stored_even_if_its_reserved_file_was_deleted(tmp_path):
    folder = RaceFolder(tmp_path)
    folder.reserve(results(1))
    (tmp_path / ".race.json.reserved").unlink()
    folder.finish(record())
    assert folder.read() == record(folder.path.name)


def test_a_race_that_the_disk_has_no_room_for_is_an_error(tmp_path):
    message = r"cannot reserve .* MiB for .*: the disk is full"
    with small_disk(tmp_path / "disk", 1024) as disk, pytest.raises(StoreError, match=message):
        RaceFolder(disk).reserve(results(1000))


KILLED = """
import os, sys
from pathlib import Path
from pacenote.store.race_folder import ExpectedResult, RaceFolder
from support.records import bulk
folder = RaceFolder(Path(sys.argv[1]))
folder.reserve([ExpectedResult("task", "operation")] * 3)
folder.append(bulk())
print("reserved", flush=True)
sys.stdin.read()
"""


@pytest.mark.process
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
            assert RaceFolder(disk).is_in_use()
            running.kill()
        assert not RaceFolder(disk).is_in_use()
        RaceFolder(disk).release_abandoned_room()
        # Only the block with the result is in use.
        assert os.statvfs(disk).f_bfree * os.statvfs(disk).f_frsize > (1024 - 20) << 10
        assert [path.name for path in disk.iterdir()] == ["tasks.jsonl"]
        assert len((disk / "tasks.jsonl").read_bytes().splitlines()) == 1


def test_a_process_that_asks_is_not_taken_for_one_that_uses_the_file(tmp_path):
    path = tmp_path / "reserved"
    reserved = ReservedFile(path, 1)
    assert is_locked(path)
    reserved.close()
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)  # As `is_locked` does for a moment.
        assert not is_locked(path)


def test_a_file_is_locked_although_a_process_asks_at_the_same_moment(tmp_path):
    path = tmp_path / "reserved"
    path.touch()
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        threading.Timer(0.1, fcntl.flock, (asking, fcntl.LOCK_UN)).start()
        reserved = ReservedFile(path, 1)
        assert is_locked(path)
        reserved.close()


def test_a_file_that_is_released_before_it_is_locked_is_created_again(tmp_path, monkeypatch):
    path = tmp_path / "reserved"

    def lock_later(descriptor):
        monkeypatch.setattr(reserved_file, "lock_own", locks.lock_own)
        assert release_abandoned(path)
        return locks.lock_own(descriptor)

    monkeypatch.setattr(reserved_file, "lock_own", lock_later)
    reserved = ReservedFile(path, 1)
    assert is_locked(path)
    reserved.close()


def test_a_file_that_another_process_keeps_locked_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_TEST_S", 0.05)
    path = tmp_path / "reserved"
    path.touch()
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        with pytest.raises(StoreError, match=r"another process keeps .*reserved locked"):
            ReservedFile(path, 1)


def test_reserved_files_are_empty_and_private(tmp_path):
    file = ReservedFile(tmp_path / "file", 100_000)
    status = (tmp_path / "file").stat()
    assert (status.st_size, stat.S_IMODE(status.st_mode)) == (0, 0o600)
    assert not release_abandoned(tmp_path / "file")
    file.become(tmp_path / "target", b"content")
    assert (tmp_path / "target").read_bytes() == b"content"
    assert not release_abandoned(tmp_path / "file")


def largest(name):
    """Returns the largest result: every figure is long, and every group of errors has a long reason."""
    errors = tuple(
        FailureGroup("http-status", f"{group:02}" + 'é"' * 299, 599, 10**18, 1 / 3, 10**6 / 3)
        for group in range(33)
    )
    distribution = paced().latency
    part = SubOperationResult(
        operation=name,
        operation_type="search",
        service_time=distribution,
        failed_service_time=distribution,
        operations=10**18,
        failed=10**18,
        retried=10**18,
        requests=10**18,
        error_rate=1 / 3,
        errors=errors,
    )
    return replace(paced(), task=name, operation=name, errors=errors, parts=(part, part))


def test_the_room_is_enough_for_the_largest_results_with_long_names(tmp_path):
    names = ["短い" * 500, *(f"task {number}" for number in range(9))]
    tasks = tuple(largest(name) for name in names)
    expected = [ExpectedResult(name, name, (name, name)) for name in names]
    params = {f"parameter-{number}": "x" * 1000 for number in range(200)}
    tags = replace(unfinished(), user_tags=params)
    with small_disk(tmp_path / "disk", 16 << 10) as disk:
        folder = RaceFolder(disk)
        folder.reserve(expected)
        folder.write(tags)
        fill(disk)
        for task in tasks:
            folder.append(task)
        folder.finish(replace(tags, tasks=tasks, complete=True))
        assert len(folder.read().tasks) == len(tasks)


def test_links_with_the_names_of_reserved_files_are_not_followed(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"content")
    for name in ("tasks.jsonl", ".race.json.reserved"):
        folder = RaceFolder(tmp_path / name.strip("."))
        folder.path.mkdir()
        (folder.path / name).symlink_to(target)
        with pytest.raises(StoreError, match="it is a symbolic link"):
            folder.reserve(results(1))
        folder.release_abandoned_room()
    with pytest.raises(StoreError, match="it is a symbolic link"):
        RaceFolder(tmp_path / "tasks.jsonl").append(bulk())
    assert target.read_bytes() == b"content"


def test_room_that_another_process_has_removed_is_not_needed(tmp_path):
    folder = RaceFolder(tmp_path)
    folder.reserve(results(1))
    reserved = tmp_path / ".race.json.reserved"
    reserved.unlink()
    reserved.write_bytes(b"another file")
    folder.finish(record())
    assert folder.read() == record(folder.path.name)


def test_what_a_killed_race_had_written_of_its_final_record_is_kept(tmp_path):
    (tmp_path / ".race.json.reserved").write_bytes(b'{"format": 2, "race')
    RaceFolder(tmp_path).release_abandoned_room()
    assert [path.name for path in tmp_path.iterdir()] == ["race.json.unreadable"]
    assert (tmp_path / "race.json.unreadable").read_bytes() == b'{"format": 2, "race'
