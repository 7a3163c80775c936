"""The files of a killed race are completed, or kept as they are, wherever that is interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from pacenote.evidence.recover import missing_files, recover
from pacenote.store.race_folder import RaceFolder
from race.test_drive import plan
from support.disks import fill, small_disk
from support.http_server import HttpResponse, http_server
from support.records import record

pytestmark = pytest.mark.process

OTHER = 54321
"""Another user."""

TASKS = 12
"""Finished tasks of the killed race, each with a row group."""

ITERATIONS = 20
"""Operations of each of these tasks."""

DRIVE = """
import sys
from pathlib import Path
from pacenote.race.drive import drive
from pacenote.store.race_folder import RaceFolder
class Listener:
    def __getattr__(self, name):
        return lambda *_: None
drive(sys.stdin.read(), RaceFolder(Path(sys.argv[1])), None, Listener())
"""

RECOVER = """
import resource, signal, sys
from pacenote import _core
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if len(sys.argv) > 2:
    # The kernel kills the process in the write that exceeds the limit; Python ignores this signal by default.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
print("begins", flush=True)
_core.recover_files(sys.argv[1])
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a race that was killed in its last task."""
    folder = tmp_path_factory.mktemp("killed")
    with http_server(lambda _: HttpResponse(body=b"{}")) as server:
        document = plan(server.port, *[ITERATIONS] * TASKS, 10_000_000)
        process = subprocess.Popen([sys.executable, "-c", DRIVE, folder], stdin=subprocess.PIPE, text=True)
        assert process.stdin is not None
        process.stdin.write(document)
        process.stdin.close()
        journal = folder / "tasks.jsonl"
        index = folder / "samples.directory"
        while not journal.exists() or journal.read_bytes().count(b"\n") < TASKS:
            assert process.poll() is None
            time.sleep(0.01)
        while index.read_bytes().count(b"\n") < TASKS:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
    return folder


def copy(killed: Path, target: Path) -> RaceFolder:
    return RaceFolder(Path(shutil.copytree(killed, target, dirs_exist_ok=True)))


def rows(folder: RaceFolder) -> int:
    return int(pyarrow.parquet.read_metadata(folder.samples).num_rows)


def is_recovered(folder: RaceFolder) -> bool:
    """Checks that a later recovery completes everything."""
    assert recover(folder) == ()
    assert folder.unfinished_files() == ()
    assert pyarrow.parquet.read_table(folder.samples)["task"].to_pylist().count("task3") == ITERATIONS
    return rows(folder) == TASKS * ITERATIONS


def test_a_killed_race_is_completed(killed: Path, tmp_path: Path) -> None:
    folder = copy(killed, tmp_path / "race")
    assert len(folder.unfinished_files()) == 2
    assert is_recovered(folder)


def _given(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give folders to other users")
    os.chown(path, OTHER, OTHER)


def _linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


@pytest.mark.parametrize(
    ("exchangeable", "reason"),
    [
        (lambda path: _given(path), f"could exchange it, because {{path}} belongs to user {OTHER}"),
        (
            lambda path: _given(path.parent),
            f"could exchange it, because {{path.parent}} belongs to user {OTHER}",
        ),
        (lambda path: path.parent.chmod(0o777), "because {path.parent} can be written by other users"),
        (lambda path: path.chmod(0o1777), "because {path} is a folder in which all users may create files"),
        (_linked, "it is a symbolic link"),
    ],
)
def test_nothing_is_written_where_another_user_could_exchange_the_folder(
    killed: Path, tmp_path: Path, exchangeable: Callable[[Path], None], reason: str
) -> None:
    folder = copy(killed, tmp_path / "races" / "race")
    (folder.path / ".race.json.reserved").write_bytes(b"{")
    (folder.path / ".race.json.1000000000.tmp").write_bytes(b"{")
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    exchangeable(folder.path)
    (problem,) = recover(folder)
    assert problem.startswith(f"samples, statistics or telemetry in {folder.path} are not completed: ")
    assert reason.format(path=folder.path) in problem
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before
    # A copy of this user's is completed.
    own = copy(folder.path, tmp_path / "copy")
    own.path.chmod(0o700)
    assert is_recovered(own)


def test_a_probe_that_another_user_could_exchange_is_left_as_it_is(killed: Path, tmp_path: Path) -> None:
    probes = [copy(killed, tmp_path / "race" / "probes" / name) for name in ("001", "002")]
    probes[0].path.chmod(0o777)
    before = {path.name: path.read_bytes() for path in probes[0].path.iterdir()}
    (problem,) = recover(RaceFolder(tmp_path / "race"))
    assert f"in {probes[0].path} are not completed: " in problem
    assert {path.name: path.read_bytes() for path in probes[0].path.iterdir()} == before
    assert is_recovered(probes[1])


def test_a_recovery_on_a_full_disk_destroys_nothing(killed: Path, tmp_path: Path) -> None:
    size_kb = sum(path.stat().st_size for path in killed.iterdir()) // 1024 + 200
    completed = 0
    for leave_kb in range(0, 80, 4):
        with small_disk(tmp_path / "disk", size_kb) as disk:
            folder = copy(killed, disk / "race")
            filler = fill(disk, leave_kb)
            problems = recover(folder)
            assert all("could not be completed" in problem for problem in problems)
            completed += not problems
            filler.unlink()
            assert is_recovered(folder)
    assert 0 < completed < 20, "the disk was always or never full"


def test_a_recovery_that_is_killed_at_any_write_can_be_repeated(killed: Path, tmp_path: Path) -> None:
    largest = max(path.stat().st_size for path in killed.iterdir())
    killed_count = 0
    for number, limit in enumerate(range(0, largest, largest // 12)):
        folder = copy(killed, tmp_path / str(number))
        command = [sys.executable, "-c", RECOVER, folder.path, str(limit)]
        code = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
        assert code in (0, -signal.SIGXFSZ)
        killed_count += code != 0
        assert is_recovered(folder), limit
    assert killed_count > 3


def test_a_recovery_that_is_killed_at_any_time_can_be_repeated(killed: Path, tmp_path: Path) -> None:
    for number in range(8):
        folder = copy(killed, tmp_path / str(number))
        with subprocess.Popen(
            [sys.executable, "-c", RECOVER, folder.path], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begins\n"
            time.sleep(number / 1000)
            process.kill()
        assert is_recovered(folder)


def test_a_damaged_index_keeps_the_samples_and_is_reported_every_time(killed: Path, tmp_path: Path) -> None:
    folder = copy(killed, tmp_path / "race")
    index = folder.path / "samples.directory"
    index.write_bytes(index.read_bytes()[:40] + b"\n")
    before = folder.samples.read_bytes()
    for _ in range(2):
        (problem,) = recover(folder)
        assert problem.startswith(f"{folder.path}: samples.parquet cannot be completed")
        assert (folder.path / "samples.parquet.damaged").read_bytes() == before


@pytest.mark.parametrize("name", ["samples.directory", "samples.parquet", "series.jsonl"])
@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_no_byte_of_a_damaged_file_is_lost(killed: Path, tmp_path: Path, name: str, damage: str) -> None:
    size = (killed / name).stat().st_size
    for number, position in enumerate([0, 9, 14, 40, size // 3, size // 2, size - 2]):
        folder = copy(killed, tmp_path / str(number))
        content = bytearray((folder.path / name).read_bytes())
        if damage == "truncated":
            del content[position:]
        else:
            content[position] ^= 1
        (folder.path / name).write_bytes(content)
        samples, series = folder.samples.read_bytes(), (folder.path / "series.jsonl").read_bytes()
        losses = recover(folder)
        kept = {path.name: path.read_bytes() for path in folder.path.iterdir()}
        end = kept.get("samples.parquet.unreadable", b"")
        readable = samples[: len(samples) - len(end)]
        assert kept.get("samples.parquet.damaged", samples) == samples
        assert "samples.parquet.damaged" in kept or kept["samples.parquet"].startswith(readable)
        assert samples.endswith(end)
        # A journal of the series that has lost whole lines, or another value, is a readable one.
        if any("series.jsonl" in loss for loss in losses):
            assert kept["series.jsonl.damaged"] == series
        assert losses or name == "series.jsonl"
        # A second report changes nothing.
        assert recover(folder) == losses
        assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == kept


def test_the_files_of_probes_are_completed(killed: Path, tmp_path: Path) -> None:
    probe = copy(killed, tmp_path / "race" / "probes" / "001")
    assert recover(RaceFolder(tmp_path / "race")) == ()
    assert is_recovered(probe)


@pytest.mark.parametrize("name", ["samples.parquet", "samples.directory", "series.jsonl"])
def test_links_and_pipes_are_reported_and_left_as_they_are(killed: Path, tmp_path: Path, name: str) -> None:
    folder = copy(killed, tmp_path / "race")
    path, outside = folder.path / name, tmp_path / "outside"
    content = path.read_bytes()
    path.rename(outside)
    for make, expected in (
        (lambda: path.symlink_to(outside), "it is a symbolic link; replace it with the file"),
        (lambda: os.mkfifo(path), "it is not a regular file"),
        (lambda: path.mkdir(), "it is not a regular file"),
    ):
        make()
        (problem,) = recover(folder)
        assert problem.endswith(f"cannot record to {path}: {expected}")
        assert outside.read_bytes() == content
        path.rmdir() if path.is_dir() else path.unlink()
    outside.rename(path)
    assert recover(folder) == ()
    assert rows(folder) == TASKS * ITERATIONS


def test_a_pipe_instead_of_the_losses_is_reported(killed: Path, tmp_path: Path) -> None:
    folder = copy(killed, tmp_path / "race")
    assert is_recovered(folder)
    os.mkfifo(folder.path / "recovery.json")
    (problem,) = recover(folder)
    assert "recovery.json is not readable" in problem


def test_files_that_cannot_be_written_are_reported(killed: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        folder = copy(killed, tmp_path / "race")
        folder.path.chmod(0o500)
        (problem,) = recover(folder)
        folder.path.chmod(0o700)
    else:
        with small_disk(tmp_path / "disk", 4096) as disk:
            folder = copy(killed, disk / "race")
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            (problem,) = recover(folder)
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
            assert is_recovered(folder)
    assert "samples, statistics or telemetry could not be completed: cannot record to" in problem


def test_what_a_killed_race_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    left = [tmp_path / f".race.json.{number}.tmp" for number in (ended.pid, 10**18)]
    others = [tmp_path / f".race.json.{os.getpid()}.tmp", tmp_path / f".other.{ended.pid}.tmp"]
    for path in (*left, *others):
        path.write_bytes(b"{")
    assert recover(RaceFolder(tmp_path)) == ()
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_missing_files_of_a_killed_race_are_stated(killed: Path, tmp_path: Path) -> None:
    folder = copy(killed, tmp_path / "race")
    unfinished = record(complete=False)
    assert list(missing_files(folder, unfinished)) == []
    folder.journal.unlink()
    (folder.path / "series.jsonl").unlink()
    assert list(missing_files(folder, unfinished)) == [
        f"{folder.journal} is missing, so the results of finished tasks are lost",
        f"{folder.path / 'series.jsonl'} is missing, so the per-second statistics are lost",
    ]
    for finished in (record(), record(complete=False, interrupted=True)):
        assert list(missing_files(folder, finished)) == []
