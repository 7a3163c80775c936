"""The figures that the files beside `race.json` have: telemetry, GC logs and recordings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pacenote.diagnose.facts import Evidence, EvidenceBuilder, Window
from pacenote.diagnose.gc_facts import add_gc_figures
from pacenote.diagnose.host_facts import add_host_figures
from pacenote.diagnose.node_facts import NodeSettings, add_node_figures
from pacenote.diagnose.race_facts import add_engine_times
from pacenote.errors import PacenoteError
from pacenote.model.driver_facts import started_ns
from pacenote.model.measured_window import measured_window
from pacenote.model.race_record import RaceRecord
from pacenote.model.recording import Recording
from pacenote.model.sampler_facts import SamplerFacts, sampler_facts
from pacenote.model.task_kinds import diagnosed_tasks
from pacenote.model.telemetry_cuts import TaskTimes, TelemetryCuts
from pacenote.store.node_files import RECORDINGS, node_files
from pacenote.system.paths import exists

_GC_LOG = re.compile(r"gc\.log(\.\d+)?(\.gz)?")
_NO_TIMES = "the race does not state when its tasks ran"


class RecordingListener(Protocol):
    """What also needs the recordings that are read for the figures, so that they are read once."""

    def add(self, node: str, recording: Recording) -> None:
        """Gets the recording of a node (an only node has no name), from the beginning of the first measured
        window to the end of the last one.
        """

    def miss(self, node: str, problem: str) -> None:
        """Gets the reason why the recording of a node cannot be read."""


def add_recorded_figures(
    builder: EvidenceBuilder, record: RaceRecord, folder: Path, listener: RecordingListener | None = None
) -> None:
    """Adds what the folder of a race has. What cannot be read is missing, with the reason."""
    from pacenote.evidence.telemetry_values import (
        host_figures_by_task,
        node_figures_by_task,
        telemetry_cuts,
    )

    _add_engine_times(builder, record, folder / "samples.parquet")
    file, cuts = folder / "telemetry.parquet", TelemetryCuts()
    driver_cpus = record.options.driver_cpus
    try:
        cuts = telemetry_cuts(file, record.tasks)
        hosts = host_figures_by_task(file, cuts, record.telemetry, driver_cpus)
        of_nodes = node_figures_by_task(file, cuts, record.telemetry, driver_cpus)
    except PacenoteError as error:
        for source in ("node counters", "host sampler"):
            builder.miss(source, error.message)
        if exists(file):
            builder.damaged(error.message)
    else:
        sampler = sampler_facts(record.telemetry) or SamplerFacts()
        add_host_figures(builder, hosts, sampler, of_nodes)
        nodes = {series.labels["node"] for series in cuts.series if "node" in series.labels}
        add_node_figures(builder, cuts, _settings(builder.build(), record, nodes))
    windows = tuple(_measured_windows(record, cuts))
    if not windows:
        for source in ("GC log", "recording"):
            builder.miss(source, _NO_TIMES)
        return
    _add_gc_logs(builder, folder / "artifacts", windows)
    _add_recordings(builder, folder / "artifacts", windows, listener)


def _add_engine_times(builder: EvidenceBuilder, record: RaceRecord, samples: Path) -> None:
    from pacenote.evidence.driver_files import engine_times

    try:
        add_engine_times(builder, engine_times(samples), record.tasks)
    except PacenoteError as error:
        builder.miss("task.took_share", error.message)
        if exists(samples):
            builder.damaged(error.message)


def _measured_windows(record: RaceRecord, cuts: TelemetryCuts) -> Iterator[TaskTimes]:
    """Yields the measured window of each task that is diagnosed, if it is known when the task ran."""
    known = {times.task: times for times in cuts.tasks}
    first_ns = started_ns(record.driver)
    for task in diagnosed_tasks(record):
        times = known.get(task.task)
        if times is None and first_ns is not None:
            window = measured_window(task)
            begin_ns, end_ns = (first_ns + round(at_s * 1e9) for at_s in (window.began_s, window.ended_s))
            times = TaskTimes(task.task, begin_ns, end_ns)
        if times is not None:
            yield times


def _settings(evidence: Evidence, record: RaceRecord, nodes: Iterable[str]) -> NodeSettings:
    """Returns what the configuration says about the nodes."""

    def of_nodes(*names: str) -> dict[str, float]:
        by_node = {node: [evidence.number(Window(node=node), name) for name in names] for node in nodes}
        return {node: next(filter(None, values)) for node, values in by_node.items() if any(values)}

    roles = {node.name: node.roles for node in record.cluster.started_nodes if node.roles is not None}
    return NodeSettings(
        cores=of_nodes("host.usable_cores", "engine.available_processors", "engine.processors"),
        index_buffer_bytes=of_nodes("engine.index_buffer_bytes"),
        without_data=frozenset(
            node
            for node, node_roles in roles.items()
            if not any(role.startswith("data") for role in node_roles)
        ),
    )


def gc_logs(artifacts: Path) -> Mapping[str, Sequence[Path]]:
    """Returns the files of the GC logs in the artifacts of a race, by node; an only node has no name."""
    return node_files(artifacts, _GC_LOG)


def _add_gc_logs(builder: EvidenceBuilder, artifacts: Path, tasks: Sequence[TaskTimes]) -> None:
    from pacenote.evidence.core_errors import as_evidence_errors
    from pacenote.evidence.gc_log import GcLogReader

    logs = gc_logs(artifacts)
    if not logs:
        builder.miss("GC log", f"{artifacts} has no gc.log")
    windows = [(task.begin_ns / 1e9, task.end_ns / 1e9) for task in tasks]
    for node, files in logs.items():
        try:
            with as_evidence_errors(files):
                reader = GcLogReader(files)
                logs_of_tasks = reader.between(windows)
                names = tuple(map(str, files))
                damages = [text for text in reader.read_input().problems if text.startswith(names)]
                builder.damaged(*damages)
                for task, between, log in zip(tasks, windows, logs_of_tasks, strict=True):
                    window = Window(task.task, node)
                    if log is None:
                        builder.miss("GC log", f"{files[0]} has no line from the time of the task", window)
                        continue
                    if log.statistics.is_incomplete:
                        builder.miss("GC log", f"{files[0]} is incomplete in the time of the task", window)
                    add_gc_figures(builder, window, log, between, is_cut=bool(damages))
        except PacenoteError as error:
            builder.miss("GC log", error.message, Window(node=node))
            builder.damaged(error.message)


def _add_recordings(
    builder: EvidenceBuilder,
    artifacts: Path,
    tasks: Sequence[TaskTimes],
    listener: RecordingListener | None,
) -> None:
    recordings = node_files(artifacts, RECORDINGS)
    if not recordings:
        builder.miss("recording", "the engine did not record a flight (--telemetry=jfr)")
        return
    from pacenote.diagnose.recording_facts import add_recording_figures  # Few races have recordings.
    from pacenote.evidence.core_errors import as_evidence_errors

    evidence = builder.build()
    windows = [(task.begin_ns, task.end_ns) for task in tasks]
    for node, files in recordings.items():
        try:
            with as_evidence_errors(files):
                of_tasks = _recordings_of_tasks(node, files, windows, listener)
                for number, (task, recording) in enumerate(zip(tasks, of_tasks, strict=True)):
                    if number == 0:
                        damages = (
                            f"{file.path}: {text}" for file in recording.files for text in file.problems
                        )
                        builder.damaged(*damages)
                    documents = evidence.number(Window(task.task), "task.documents")
                    add_recording_figures(builder, Window(task.task, node), recording, documents)
        except PacenoteError as error:
            builder.miss("recording", error.message, Window(node=node))
            builder.damaged(error.message)


def _recordings_of_tasks(
    node: str,
    files: Sequence[Path],
    windows: Sequence[tuple[int, int]],
    listener: RecordingListener | None,
) -> Iterator[Recording]:
    """Yields the recording of each window. The listener gets that of all windows together, which is read with
    the first of them.
    """
    from pacenote.evidence.recording import RecordingReader

    reader = RecordingReader(files)
    if listener is None:
        yield from reader.between(windows)
        return
    whole = (min(begin for begin, _ in windows), max(end for _, end in windows))
    has_whole = windows[0] == whole
    recordings = reader.between(windows if has_whole else (whole, *windows))
    try:
        first = next(recordings)
    except PacenoteError as error:
        listener.miss(node, error.message)
        raise
    _tell(listener, node, first)
    if has_whole:
        yield first
    del first  # It may be large.
    yield from recordings


def read_recordings(record: RaceRecord, folder: Path, listener: RecordingListener) -> None:
    """Reads the recordings of a race that is not diagnosed. Without times of its tasks, all of each recording
    is read.
    """
    windows = [(task.begin_ns, task.end_ns) for task in _measured_windows(record, TelemetryCuts())]
    whole = (min(begin for begin, _ in windows), max(end for _, end in windows)) if windows else None
    for node, files in node_files(folder / "artifacts", RECORDINGS).items():
        from pacenote.evidence.core_errors import as_evidence_errors
        from pacenote.evidence.recording import RecordingReader

        try:
            with as_evidence_errors(files):
                recording = RecordingReader(files).recording(whole)
        except PacenoteError as error:
            listener.miss(node, error.message)
        else:
            _tell(listener, node, recording)


def _tell(listener: RecordingListener, node: str, recording: Recording) -> None:
    """Gives the listener a recording; one that it cannot use spoils neither the figures nor the report."""
    from pacenote.evidence.core_errors import as_evidence_errors

    try:
        with as_evidence_errors([Path(file.path) for file in recording.files]):
            listener.add(node, recording)
    except PacenoteError as error:
        listener.miss(node, error.message)
