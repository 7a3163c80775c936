"""The disk fills up while a race runs: results of finished tasks are stored, or the race does not begin."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pacenote.errors import StoreError
from pacenote.evidence.recover import recover
from pacenote.race.run import race
from pacenote.store.race_store import RaceStore
from race.test_run import Engine, Listener, existing
from support.disks import fill, small_disk
from support.http_server import http_server

pytestmark = pytest.mark.process

TASKS = 4
"""Number of tasks of the track."""


@pytest.fixture
def address() -> Iterator[str]:
    engine = Engine()
    with http_server(engine.respond) as server:
        yield server.address


class FillingListener(Listener):
    """Fills the disk when a number of tasks have ended, as an engine on the same disk could."""

    def __init__(self, disk: Path, after: int, leave_kb: int) -> None:
        super().__init__()
        self.tasks: list[str] = []
        self._disk, self._after, self._leave_kb = disk, after, leave_kb

    def started(self, record: Any) -> None:
        if self._after == 0:
            fill(self._disk, self._leave_kb)

    def task_finished(self, result: Any) -> None:
        self.tasks.append(result.task)
        if len(self.tasks) == self._after:
            fill(self._disk, self._leave_kb)


@pytest.mark.parametrize("leave_kb", [0, 4, 12])
@pytest.mark.parametrize("after", range(TASKS + 1))
def test_the_results_of_finished_tasks_are_always_stored(
    tmp_path: Path, address: str, after: int, leave_kb: int
) -> None:
    operations = [{"path": f"/{number}"} for number in range(TASKS)]
    with small_disk(tmp_path / "disk", 2048) as disk:
        listener = FillingListener(disk, after, leave_kb)
        request = existing(tmp_path, address, *operations)
        request = dataclasses.replace(request, home=disk)
        returned = race(request, listener)
        stored = RaceStore(disk).load("r")
        assert [task.task for task in stored.tasks] == listener.tasks
        assert len(listener.tasks) >= after
        assert stored == returned
        assert stored.verdict is not None
        assert stored.aborted or leave_kb or after == TASKS, "the disk was not full during the race"
        if stored.aborted:
            assert stored.aborted.startswith(("cannot record to", "cannot write"))
        folder = RaceStore(disk).folder("r")
        told = any("`pacenote report r` completes them" in text for text in listener.received)
        assert told == bool(folder.unfinished_files())
        (disk / "filler").unlink()
        recover(folder)
        rows = Counter(pyarrow.parquet.read_table(disk / "races/r/samples.parquet")["task"].to_pylist())
        for task in stored.tasks:
            samples = task.samples
            assert samples.kept == rows[task.task]
            assert samples.kept + samples.lost == task.accounting.succeeded + task.accounting.failed
            assert (samples.from_s is None) == (samples.lost == 0)
        assert stored.driver["samples"] == rows.total()


@pytest.mark.parametrize(
    ("size_kb", "begins"),
    [*((size_kb, False) for size_kb in range(200, 900, 100)), *((size_kb, True) for size_kb in (1000, 1400))],
)
def test_a_race_begins_only_if_there_is_room_for_its_results(
    tmp_path: Path, address: str, size_kb: int, begins: bool
) -> None:
    with small_disk(tmp_path / "disk", size_kb) as disk:
        listener = FillingListener(disk, 0, 0)
        request = existing(tmp_path, address, *({"path": f"/{number}"} for number in range(TASKS)))
        request = dataclasses.replace(request, home=disk)
        if begins:
            race(request, listener)
            assert listener.tasks
            assert [task.task for task in RaceStore(disk).load("r").tasks] == listener.tasks
        else:
            with pytest.raises(StoreError, match=r"cannot reserve .*: the disk is full"):
                race(request, listener)
            assert listener.tasks == []
            assert [path for path in (disk / "races").iterdir() if path.is_dir()] == []
