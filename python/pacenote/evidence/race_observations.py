"""What a race did over time, as far as its folder has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.errors import PacenoteError
from pacenote.model.driver_facts import started_ns
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_timeline import (
        GcPause,
        RaceObservations,
        RaceTimeline,
        TaskArrivals,
        TelemetryLine,
    )


def race_observations(
    record: RaceRecord, folder: RaceFolder, wanted: Sequence[tuple[str, str]]
) -> RaceObservations:
    """Returns what a race did over time; what cannot be read is missing, with the reason. `wanted` are the
    sources and names of the series of telemetry.
    """
    from pacenote.evidence.driver_files import race_timeline
    from pacenote.model.race_timeline import RaceObservations

    if record.imported is not None:
        return RaceObservations(missing=("There is no timeline: the race was imported",))
    try:
        timeline = race_timeline(folder.series)
    except PacenoteError as error:
        return RaceObservations(missing=(f"There is no timeline: {error.message}",))
    reading = _Reading(record, folder, timeline)
    arrivals, telemetry = reading.arrivals(), reading.telemetry(wanted)
    pauses = reading.pauses()
    return RaceObservations(
        timeline, arrivals, telemetry, pauses or (), pauses is not None, tuple(reading.missing)
    )


class _Reading:
    """Reads the files of a race whose timeline is known, and collects what is missing."""

    def __init__(self, record: RaceRecord, folder: RaceFolder, timeline: RaceTimeline) -> None:
        self.missing: list[str] = []
        self._folder = folder
        self._timeline = timeline
        self._tasks: Sequence[TaskResult] = record.tasks
        self._begin_ns = started_ns(record.driver)

    def arrivals(self) -> Mapping[str, TaskArrivals]:
        from pacenote.evidence.driver_files import arrivals

        paced = [task for task in self._tasks if task.paced]
        if not paced:
            return {}
        cut = [task.task for task in paced if task.samples.left_out or task.samples.lost]
        if cut:
            self.missing.append(
                f"Arrivals of tasks whose samples are not all stored are incomplete: {', '.join(cut)}"
            )
        try:
            names = [task.task for task in paced]
            return arrivals(self._folder.samples, names, self._timeline.length_s)
        except PacenoteError as error:
            self.missing.append(f"No arrivals: {error.message}")
            return {}

    def telemetry(self, wanted: Sequence[tuple[str, str]]) -> tuple[TelemetryLine, ...]:
        from pacenote.evidence.driver_files import telemetry_lines

        if self._begin_ns is None:
            self.missing.append("No telemetry: the race does not state when its first task began")
            return ()
        grid = (self._begin_ns, self._timeline.length_s, self._timeline.parts(self._tasks))
        try:
            return telemetry_lines(self._folder.telemetry, wanted, grid)
        except PacenoteError as error:
            self.missing.append(f"No telemetry: {error.message}")
            return ()

    def pauses(self) -> tuple[GcPause, ...] | None:
        """Returns the pauses of all nodes, from the beginning of the first task to the end of the last one,
        in the order of time, or None if there is no GC log.
        """
        from pacenote.evidence.recorded_figures import gc_logs

        logs = gc_logs(self._folder.artifacts)
        if not logs or self._begin_ns is None:
            return None
        pauses = [pause for node, files in logs.items() for pause in self._of_log(node, files)]
        return tuple(sorted(pauses, key=lambda pause: pause.at_s))

    def _of_log(self, node: str, files: Sequence[Path]) -> Iterator[GcPause]:
        from pacenote.evidence.gc_log import MOST_PAUSES, GcLogReader
        from pacenote.model.race_timeline import GcPause

        begin_s = (self._begin_ns or 0) / 1e9
        # The log of a node that runs on has what happened hours after the race.
        end_s = begin_s + max((task.started_s + task.duration_s for task in self._tasks), default=0.0)
        try:
            pauses = GcLogReader(files).pauses()
        except PacenoteError as error:
            self.missing.append(f"GC pauses are missing: {error.message}")
            return
        if len(pauses) == MOST_PAUSES:
            self.missing.append(
                f"GC pauses after the first {MOST_PAUSES:,} of the log are missing: {files[0]} has too many"
            )
        yield from (
            GcPause(at - begin_s, ms, kind, node) for at, ms, kind in pauses if begin_s <= at <= end_s
        )
