"""The report of a race as an HTML page: reads what the race folder has, and writes the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.errors import PacenoteError, StoreError, UsageError
from pacenote.model.messages import DEFECT
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.diagnosis import Diagnosis
    from pacenote.model.race_timeline import (
        GcPause,
        RaceObservations,
        RaceTimeline,
        TaskArrivals,
        TelemetryLine,
    )
    from pacenote.model.snapshot import RaceSnapshot
    from pacenote.report.page.race.build import PageSources

IN_FOLDER = ""
"""Value of `--html` without a file: the page is written to the folder of the race."""


def write_page(record: RaceRecord, folder: RaceFolder, file: str, console: Console) -> None:
    """Writes the page of a race and prints its path. Raises StoreError, and UsageError for a saturation."""
    if folder.saturation.is_file():
        raise UsageError("the result of saturate is not available as a page", hint="omit --html")
    text = _page_text(record, folder, None, is_running=folder.is_in_use())
    path = Path(file) if file else folder.page
    if file:
        _write(path, text)
    else:
        folder.write_page(text)
    console.result_lines(f"{path}\n")


def add_page(folder: Path, diagnosis: Diagnosis | None, console: Console) -> None:
    """Writes the page of a race that has just ended to its folder; a failure is a warning."""
    race = RaceFolder(folder)
    if not race.race_json.is_file():
        return
    try:
        # The stored record has no secrets.
        race.write_page(_page_text(race.read(), race, diagnosis, is_running=False))
    except PacenoteError as error:
        console.warning(f"the page of the race was not written: {error.message}")
        return
    except Exception as error:  # The race has been measured: a page does not make it fail.
        console.warning(f"the page of the race was not written: {DEFECT}: {type(error).__name__}: {error}")
        return
    console.progress(f"page: {race.page}")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise StoreError(f"cannot write the page to {path}: {error.strerror}") from error


def _page_text(
    record: RaceRecord, folder: RaceFolder, diagnosis: Diagnosis | None, *, is_running: bool
) -> str:
    from pacenote.report.render.race_page import render_race_page

    return render_race_page(page_sources(record, folder, diagnosis, is_running=is_running))


def page_sources(
    record: RaceRecord, folder: RaceFolder, diagnosis: Diagnosis | None, *, is_running: bool
) -> PageSources:
    """Returns what the page of a race shows. A complete race without a diagnosis is diagnosed."""
    from pacenote.cli.program import NAME
    from pacenote.cli.race_command import race_command
    from pacenote.cli.race_findings import race_diagnosis
    from pacenote.cli.report_output import as_reported, race_location
    from pacenote.report.page.race.build import PageSources

    reported, state, _ = as_reported(record, folder.path, is_running=is_running)
    problem = "the race is not complete"
    if diagnosis is None and state == "complete":
        try:
            diagnosis = race_diagnosis(folder.path)
        except PacenoteError as error:
            problem = error.message
    command, notes = race_command(record, NAME)
    return PageSources(
        record=reported,
        location=race_location(folder.path, state),
        observed=_observed(record, folder),
        snapshot=_snapshot(folder),
        diagnosis=diagnosis,
        diagnosis_problem=problem,
        command=command,
        command_notes=notes,
    )


def _snapshot(folder: RaceFolder) -> RaceSnapshot | None:
    try:
        return folder.read_snapshot()
    except StoreError:
        return None


def _observed(record: RaceRecord, folder: RaceFolder) -> RaceObservations:
    """Reads the series of a race; what cannot be read is missing, with the reason."""
    from pacenote.model.race_timeline import RaceObservations
    from pacenote.race.race_timeline import race_timeline

    if record.imported is not None:
        return RaceObservations(missing=("There is no timeline: the race was imported",))
    try:
        timeline = race_timeline(folder.series)
    except PacenoteError as error:
        return RaceObservations(missing=(f"There is no timeline: {error.message}",))
    reading = _Reading(record, folder, timeline)
    arrivals, telemetry = reading.arrivals(), reading.telemetry()
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
        begin = record.driver.get("started_unix_ns")
        self._begin_ns = begin if isinstance(begin, int) else None

    def arrivals(self) -> Mapping[str, TaskArrivals]:
        from pacenote.race.race_timeline import arrivals

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

    def telemetry(self) -> tuple[TelemetryLine, ...]:
        from pacenote.race.race_timeline import telemetry_lines
        from pacenote.report.page.race.machine import WANTED

        if self._begin_ns is None:
            self.missing.append("No telemetry: the race does not state when its first task began")
            return ()
        grid = (self._begin_ns, self._timeline.length_s, self._timeline.parts(self._tasks))
        try:
            return telemetry_lines(self._folder.telemetry, WANTED, grid)
        except PacenoteError as error:
            self.missing.append(f"No telemetry: {error.message}")
            return ()

    def pauses(self) -> tuple[GcPause, ...] | None:
        """Returns the pauses of all nodes in the order of time, or None if there is no GC log."""
        from pacenote.cli.recorded_figures import gc_logs

        logs = gc_logs(self._folder.artifacts)
        if not logs or self._begin_ns is None:
            return None
        found = [pause for node, files in logs.items() for pause in self._of_log(node, files)]
        return tuple(sorted(found, key=lambda pause: pause.at_s))

    def _of_log(self, node: str, files: Sequence[Path]) -> Iterator[GcPause]:
        from pacenote.evidence.gc_log import GcLogReader
        from pacenote.model.race_timeline import GcPause

        begin_s = (self._begin_ns or 0) / 1e9
        try:
            pauses = GcLogReader(files).pauses()
        except PacenoteError as error:
            self.missing.append(f"GC pauses are missing: {error.message}")
            return
        yield from (GcPause(at - begin_s, ms, kind, node) for at, ms, kind in pauses if at >= begin_s)
