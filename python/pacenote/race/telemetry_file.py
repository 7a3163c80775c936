"""`telemetry.parquet` of a race: devices and the sampler of the host write to it while the race runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from pacenote import _core
from pacenote.model.race_listener import DriveListener
from pacenote.model.race_progress import RaceProgress
from pacenote.model.result import TaskResult
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import ObservedHost
from pacenote.race.public_names import PublicNames
from pacenote.store.race_folder import RaceFolder

SAMPLE_INTERVAL_S = 1.0
"""Seconds between two readings of the host's counters."""

_LEAST_STEP_NS = 10_000_000
"""Difference of two clocks, which are read one after the other, from which on one of them was set."""


class RaceTelemetry:
    """The samples of a running race: a `TelemetrySink`, and the sampler of the host.

    No method raises: a race is worth more than its telemetry. `close` returns what went wrong.
    """

    def __init__(self, folder: RaceFolder, host: ObservedHost) -> None:
        """Creates the file in the folder of the race."""
        self._host = host
        self._problems: list[str] = []
        self._file: _core.TelemetryFile | None = None
        self._sampler: _core.HostSampler | None = None
        self._ahead_ns = 0
        self._names = PublicNames(folder.secrets)
        try:
            self._file = _core.TelemetryFile(str(folder.path))
        except _core.CoreError as error:
            self._problems.append(f"values over time are not recorded: {error}")

    def now_ns(self) -> int:
        """Returns the time for samples: nanoseconds since 1970 that never go backwards during a race."""
        return 0 if self._file is None else self._file.now_ns()

    def write(self, samples: Sequence[TelemetrySample]) -> None:
        """Stores samples, in any order of time."""
        if self._file is None:
            return
        for time_ns, group in groupby(samples, attrgetter("time_ns")):
            rows = [
                (
                    sample.source,
                    self._names.of(sample.name),
                    sample.value,
                    sample.unit,
                    sample.kind,
                    self._labels(sample),
                )
                for sample in group
            ]
            self._file.write(time_ns, rows)

    def _labels(self, sample: TelemetrySample) -> dict[str, str]:
        return {self._names.of(key): self._names.of(text) for key, text in sample.labels.items()}

    def start_sampler(self) -> None:
        """Begins to sample the host."""
        if self._file is None:
            return
        try:
            host = self._host
            self._sampler = _core.HostSampler(
                self._file, list(host.processes), list(host.data_paths), list(host.cpus), SAMPLE_INTERVAL_S
            )
        except _core.CoreError as error:
            self._problems.append(f"the host is not sampled: {error}")

    def listener(self, listener: DriveListener, task_ended: Callable[[], None]) -> DriveListener:
        """Returns a listener that also stores when tasks ran, for a race that is killed later, and calls
        `task_ended` at the end of each.
        """
        # The driver reports the begin of the race by the wall clock, which may have been set since the file
        # was created: samples have times of a clock that goes on evenly.
        self._ahead_ns = self._ahead_of_wall_clock_ns()
        return _TaskEnds(listener, self, task_ended)

    def _ahead_of_wall_clock_ns(self) -> int:
        """Returns by how much the times of samples are ahead of the wall clock; 0 if that was not set."""
        ahead_ns = 0 if self._file is None else self._file.now_ns() - time.time_ns()
        return ahead_ns if abs(ahead_ns) >= _LEAST_STEP_NS else 0

    def add_task(self, task: str, begin_ns: int, end_ns: int) -> None:
        """Stores when a task ran, in nanoseconds since 1970, instead of what is stored about it."""
        if self._file is not None:
            self._file.add_task(task, begin_ns, end_ns)

    def close(self, driven: DriveResult | None) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Ends the sampler and completes the file. `driven` is the result of the race, if it has one.

        Returns what the race record says about the host, and messages about what could not be recorded.
        """
        values: dict[str, Any] = {}
        if self._sampler is not None:
            try:
                values["host-sampler"] = {**json.loads(self._sampler.stop()), **self._host.to_document()}
            except _core.CoreError as error:
                self._problems.append(f"the host was not sampled to the end: {error}")
        started_ns = None if driven is None else driven.summary.get("started_unix_ns")
        if driven is not None and isinstance(started_ns, int):
            for task in driven.tasks:
                begin_ns = started_ns + self._ahead_ns + round(task.started_s * 1e9)
                self.add_task(task.task, begin_ns, begin_ns + round(task.duration_s * 1e9))
        if self._file is not None:
            try:
                self._file.close()
            except _core.CoreError as error:
                self._problems.append(f"values over time are not complete: {error}")
        self._file = self._sampler = None
        return values, tuple(self._problems)


class _TaskEnds:
    """Passes events on, and stores when tasks ran: until the race has ended, as exactly as the event that
    reports their end.
    """

    def __init__(
        self, listener: DriveListener, telemetry: RaceTelemetry, task_ended: Callable[[], None]
    ) -> None:
        self._listener = listener
        self._telemetry = telemetry
        self._task_ended = task_ended

    def progress(self, progress: RaceProgress) -> None:
        self._listener.progress(progress)

    def task_finished(self, result: TaskResult) -> None:
        end_ns = self._telemetry.now_ns()
        self._task_ended()
        self._telemetry.add_task(result.task, end_ns - round(result.duration_s * 1e9), end_ns)
        self._listener.task_finished(result)

    def warning(self, text: str) -> None:
        self._listener.warning(text)
