"""The figures that the files beside `race.json` have: telemetry, GC logs and recordings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.gc_facts import add_gc_figures
from pacenote.diagnose.node_facts import NodeSettings, add_node_figures
from pacenote.diagnose.recording_facts import add_recording_figures
from pacenote.errors import PacenoteError
from pacenote.model.race_record import RaceRecord
from pacenote.model.telemetry_cuts import TaskTimes

_GC_LOG = re.compile(r"gc\.log(\.\d+)?(\.gz)?")
_NO_TIMES = "the race does not state when its tasks ran: it has no telemetry.parquet that can be read"


def add_recorded_figures(builder: EvidenceBuilder, record: RaceRecord, folder: Path) -> None:
    """Adds what the folder of a race has. What cannot be read is missing, with the reason."""
    from pacenote.race.telemetry_values import host_figures_by_task, telemetry_cuts

    builder.miss("samples", "this version does not read it from the folder of a race")
    file = folder / "telemetry.parquet"
    try:
        cuts = telemetry_cuts(file)
        hosts = host_figures_by_task(file, cuts, record.telemetry)
    except PacenoteError as error:
        for source in ("node counters", "host sampler"):
            builder.miss(source, error.message)
        for source in ("GC log", "recording"):
            builder.miss(source, _NO_TIMES)
        return
    tasks = {task.task for task in record.tasks}
    add_node_figures(builder, cuts, _settings(builder))
    for task, figures in hosts.items():
        for name, value in figures.items():
            builder.set(Window(task), name, value)
    if not any(hosts.values()):
        builder.miss("host sampler", "the host was not sampled")
    measured = [times for times in cuts.tasks if times.task in tasks]
    _add_gc_logs(builder, folder / "artifacts", measured)
    _add_recordings(builder, folder / "artifacts", measured)


def _settings(builder: EvidenceBuilder) -> NodeSettings:
    """Returns what the configuration, which has been added, says about the nodes."""
    evidence = builder.build()
    cores = evidence.value(Window(), "host.cores")
    name = "engine.index_buffer_bytes"
    buffers = {node: evidence.value(Window(node=node), name) for node in evidence.nodes}
    return NodeSettings(
        cores=cores if isinstance(cores, float) else None,
        index_buffer_bytes={node: size for node, size in buffers.items() if isinstance(size, float)},
    )


def gc_logs(artifacts: Path) -> Mapping[str, Sequence[Path]]:
    """Returns the files of the GC logs in the artifacts of a race, by node; an only node has no name."""
    return _files(artifacts, _GC_LOG)


def _node_folders(artifacts: Path) -> Iterator[tuple[str, Path]]:
    """Yields the folders with the files of nodes; one node has no folder of its own and an empty name."""
    yield "", artifacts
    if artifacts.is_dir():
        yield from ((path.name, path) for path in sorted(artifacts.iterdir()) if path.is_dir())


def _files(artifacts: Path, suffix: re.Pattern[str]) -> Mapping[str, Sequence[Path]]:
    found = {
        node: sorted(path for path in folder.glob("*") if suffix.fullmatch(path.name) and path.is_file())
        for node, folder in _node_folders(artifacts)
    }
    return {node: files for node, files in found.items() if files}


def _add_gc_logs(builder: EvidenceBuilder, artifacts: Path, tasks: Sequence[TaskTimes]) -> None:
    from pacenote.evidence.gc_log import GcLogReader

    logs = gc_logs(artifacts)
    if not logs:
        builder.miss("GC log", f"{artifacts} has no gc.log")
    for node, files in logs.items():
        try:
            reader = GcLogReader(files)
        except PacenoteError as error:
            builder.miss("GC log", error.message, Window(node=node))
            continue
        for task in tasks:
            between = (task.begin_ns / 1e9, task.end_ns / 1e9)
            window = Window(task.task, node)
            try:
                add_gc_figures(builder, window, reader.between(*between), between)
            except PacenoteError as error:
                builder.miss("GC log", error.message, window)


def _add_recordings(builder: EvidenceBuilder, artifacts: Path, tasks: Sequence[TaskTimes]) -> None:
    from pacenote.evidence.recording import RecordingReader

    recordings = _files(artifacts, re.compile(r".*\.jfr(\.gz)?"))
    if not recordings:
        builder.miss("recording", "the engine did not record a flight (--telemetry=jfr)")
    evidence = builder.build()
    for node, files in recordings.items():
        for task in tasks:
            window = Window(task.task, node)
            documents = evidence.value(Window(task.task), "task.documents")
            try:
                recording = RecordingReader(files, (task.begin_ns, task.end_ns)).recording()
            except PacenoteError as error:
                builder.miss("recording", error.message, window)
                continue
            known = None if isinstance(documents, Unknown) else float(documents)
            add_recording_figures(builder, window, recording, known)
