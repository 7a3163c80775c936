"""The progress of a running race is read as it was stored, and nothing else is taken for it."""

import os
import threading

import pytest
from msgspec.structs import replace

from pacenote.model.race_progress import RaceProgress, RetryWait, TaskProgress
from pacenote.store.progress_file import PROGRESS_FILE, ProgressFile, read_progress

TASK = TaskProgress("index", "docs", False, 0.25, 1_234.0, 2.0, 8.0, 500, 1, 30.0)
PROGRESS = RaceProgress(step=2, steps=5, elapsed_s=12.5, tasks=(TASK,))


def test_the_last_progress_is_read(tmp_path):
    file = ProgressFile(tmp_path)
    assert read_progress(tmp_path) is None
    longer = replace(PROGRESS, tasks=(replace(TASK, task="i" * 100), TASK))
    for progress in (longer, PROGRESS):
        file.write(progress)
        stored = read_progress(tmp_path)
        assert stored is not None
        assert stored.progress == progress
        assert stored.stored_at_s == (tmp_path / PROGRESS_FILE).stat().st_mtime
    assert (tmp_path / PROGRESS_FILE).stat().st_mode & 0o777 == 0o600


def test_the_file_is_removed_at_the_end(tmp_path):
    file = ProgressFile(tmp_path)
    file.write(PROGRESS)
    file.close()
    file.write(PROGRESS)
    assert list(tmp_path.iterdir()) == []


def test_secrets_are_not_stored(tmp_path):
    wait = RetryWait("index", "401 for elastic:hunter2secret", 3, 4.0, 60.0)
    ProgressFile(tmp_path, frozenset({"hunter2secret"})).write(replace(PROGRESS, waits=(wait,)))
    assert b"hunter2secret" not in (tmp_path / PROGRESS_FILE).read_bytes()
    stored = read_progress(tmp_path)
    assert stored is not None
    assert stored.progress.waits[0].attempts == 3


@pytest.mark.parametrize("change", [lambda text: text[:40], lambda text: text.replace(b"index", b"Index")])
def test_a_version_that_is_not_whole_is_not_read(tmp_path, change):
    ProgressFile(tmp_path).write(PROGRESS)
    file = tmp_path / PROGRESS_FILE
    file.write_bytes(change(file.read_bytes()))
    assert read_progress(tmp_path) is None


def test_no_version_is_mixed_with_another(tmp_path):
    """A reader beside a fast writer gets one version or none."""
    file = ProgressFile(tmp_path)
    versions = [
        replace(PROGRESS, tasks=(replace(TASK, task=letter * 3_000),) * 3) for letter in ("a", "b" * 2)
    ]
    ended = threading.Event()

    def write():
        while not ended.is_set():
            for version in versions:
                file.write(version)

    writer = threading.Thread(target=write)
    writer.start()
    versions_read = 0
    try:
        while versions_read < 10:
            if (read := read_progress(tmp_path)) is not None:
                versions_read += 1
                assert read.progress in versions
    finally:
        ended.set()
        writer.join()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_regular_file_is_neither_read_nor_written(tmp_path, kind):
    file, other = tmp_path / PROGRESS_FILE, tmp_path / "other"
    other.write_bytes(b"kept")
    if kind == "link":
        file.symlink_to(other)
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    ProgressFile(tmp_path).write(PROGRESS)
    assert read_progress(tmp_path) is None
    assert other.read_bytes() == b"kept"
