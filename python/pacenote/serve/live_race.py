"""A running race as its folder shows it: what has ended, what runs, what is to come."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from pathlib import Path

from msgspec import Struct, field

from pacenote.model.race_progress import RaceProgress
from pacenote.model.race_record import RaceRecord
from pacenote.store.progress_file import read_progress
from pacenote.store.race_folder import RaceFolder, reached_step

KEPT_RATES = 60
"""Rates of a task that are kept, one a second."""


class LiveRace(Struct, frozen=True):
    """A race at one moment."""

    record: RaceRecord
    """Its record, with the results of the tasks that have ended."""

    is_running: bool
    """Whether a process runs it."""

    progress: RaceProgress | None
    """How far the running tasks are; None before the first and after the last one."""

    age_s: float
    """How old this progress is, in seconds."""

    steps: int
    """Number of steps of the plan, or 0 if it is not known yet."""

    to_come: tuple[str, ...]
    """Tasks that have not begun."""

    rates: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """The last rates of each running task, one a second."""


class LiveReader:
    """Reads a race again and again. Files that have not changed are not read again."""

    def __init__(self, folder: RaceFolder) -> None:
        self._folder = folder
        self._results = (folder.race_json, folder.journal)
        self._plan = folder.plan_json
        self._record: RaceRecord | None = None
        self._steps: tuple[tuple[str, ...], ...] = ()
        self._stamps: dict[Path, object] = {}
        self._rates: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=KEPT_RATES))
        self._stored_at_s = 0.0

    def read(self, now_s: float) -> LiveRace:
        """Returns the race now, in seconds since 1970. Raises StoreError."""
        folder = self._folder
        # First of all: a race that ends meanwhile is complete when it is read.
        is_running = folder.is_in_use()
        changed = [self._has_changed(file) for file in self._results]
        if self._record is None or any(changed):
            self._record = folder.read()
        if self._has_changed(self._plan):
            self._steps = folder.planned_steps()
        stored = read_progress(folder.path) if is_running else None
        if stored is not None and stored.stored_at_s != self._stored_at_s:
            self._stored_at_s = stored.stored_at_s
            self._add_rates(stored.progress)
        progress = None if stored is None else stored.progress
        return LiveRace(
            self._record,
            is_running,
            progress,
            0.0 if stored is None else max(0.0, now_s - stored.stored_at_s),
            len(self._steps),
            self._to_come(self._record, progress),
            {name: tuple(rates) for name, rates in self._rates.items()},
        )

    def _to_come(self, record: RaceRecord, progress: RaceProgress | None) -> tuple[str, ...]:
        if not self._steps:
            return ()
        running = {task.task for task in progress.tasks} if progress else set()
        reached = reached_step(record, self._steps)
        begun = running.union(result.task for result in record.tasks)
        return tuple(name for name in (*reached.tasks, *reached.not_run) if name not in begun)

    def _add_rates(self, progress: RaceProgress) -> None:
        names = {task.task for task in progress.tasks}
        for ended in self._rates.keys() - names:
            del self._rates[ended]
        for task in progress.tasks:
            self._rates[task.task].append(task.rate)

    def _has_changed(self, file: Path) -> bool:
        """Returns whether a file is another one than at the last call."""
        try:
            status = os.lstat(file)  # as fast as possible: once a second while a race runs
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            stamp = None
        previous = self._stamps.get(file)
        self._stamps[file] = stamp
        return stamp != previous
