"""The recordings that `pacenote jfr` reads: files, or those of a race, cut to a time or a task."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EvidenceError, StoreError, UsageError
from pacenote.evidence.recording import RecordingReader
from pacenote.model.driver_facts import started_ns
from pacenote.model.measured_window import measured_window
from pacenote.model.recording import Recording
from pacenote.store.node_files import RECORDINGS, node_files
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore

_NS = 1_000_000_000

_LAST_NS = (1 << 63) - 1
"""The last time of a recording: times are numbers of 64 bits."""

Moment = float | datetime
"""A time in a recording: seconds since its start, or a time in UTC."""


class RecordingFiles(Struct, frozen=True):
    """The files of one recording, and the part of it that is shown."""

    paths: tuple[Path, ...]
    """The files."""

    window_ns: tuple[int, int] | None = None
    """Begin and end of the measured part of the task, in ns since 1970; None for all of the recording."""


def check_options(options: argparse.Namespace) -> None:
    """Raises UsageError for options that contradict each other."""
    if bool(options.files) == bool(options.race):
        raise UsageError(
            "give either recordings or --race=RACE", hint="for example `pacenote jfr --race=latest`"
        )
    for name in ("task", "node"):
        if getattr(options, name) and not options.race:
            raise UsageError(f"--{name} needs --race=RACE", hint="recordings alone name no tasks or nodes")
    if options.baseline and options.baseline_race:
        raise UsageError("--baseline and --baseline-race cannot both be given", hint="leave one of them out")
    if options.baseline_race and not options.race:
        raise UsageError("--baseline-race needs --race=RACE", hint="compare recordings with --baseline=FILE")
    bounds = (options.window_from, options.window_to)
    if options.task and bounds != (None, None):
        raise UsageError(
            "--task cannot be combined with --from and --to", hint="give the task, or times of the recording"
        )
    if options.task and options.baseline:
        raise UsageError(
            "--baseline cannot be cut to a task: it is not known when it ran",
            hint="name the race of the baseline with --baseline-race=RACE",
        )
    if (options.baseline or options.baseline_race) and any(isinstance(bound, datetime) for bound in bounds):
        raise UsageError(
            "--from and --to cannot be times of day with a baseline: the recordings have different ones",
            hint="give seconds since the start of each recording, for example --from=30 --to=90",
        )


def chosen_files(options: argparse.Namespace) -> tuple[RecordingFiles, RecordingFiles | None]:
    """Returns the files of the recording, and those of the baseline if there is one.

    Raises StoreError and EvidenceError if a race has no recording, and UsageError for names of tasks and
    nodes that it does not have.
    """
    if not options.race:
        baseline = RecordingFiles(tuple(options.baseline)) if options.baseline else None
        return RecordingFiles(tuple(options.files)), baseline
    store = RaceStore()
    files = _files_of_race(store.folder(options.race), options)
    if options.baseline_race:
        return files, _files_of_race(store.folder(options.baseline_race), options)
    return files, RecordingFiles(tuple(options.baseline)) if options.baseline else None


def _files_of_race(folder: RaceFolder, options: argparse.Namespace) -> RecordingFiles:
    by_node = node_files(folder.artifacts, RECORDINGS)
    if not by_node:
        raise EvidenceError(
            f"{folder.artifacts} has no recording",
            hint="record one with `pacenote race --telemetry=jfr …`",
        )
    if options.node and options.node not in by_node:
        names = ", ".join(name for name in by_node if name)
        raise UsageError(
            f"{folder.artifacts} has no recording of node {options.node}",
            hint=f"it has those of {names}" if names else "leave --node out: the race had one node",
        )
    if not options.node and len(by_node) > 1:
        names = ", ".join(name or "(no folder)" for name in by_node)
        raise UsageError(
            f"{folder.artifacts} has recordings of several nodes: {names}", hint="choose one with --node=NAME"
        )
    paths = by_node[options.node] if options.node else next(iter(by_node.values()))
    return RecordingFiles(tuple(paths), _task_window(folder, options.task) if options.task else None)


def _task_window(folder: RaceFolder, name: str) -> tuple[int, int]:
    """Returns when a task was measured, in ns since 1970. Raises StoreError and UsageError."""
    record = folder.read()
    task = next((each for each in record.tasks if each.task == name), None)
    if task is None:
        names = ", ".join(each.task for each in record.tasks)
        raise UsageError(
            f"race {record.race_id} has no task '{name}'",
            hint=f"it has {names}" if names else "leave --task out",
        )
    first_ns = started_ns(record.driver)
    if first_ns is None:
        raise StoreError(
            f"{folder.race_json} does not state when its tasks ran", hint="give times with --from and --to"
        )
    window = measured_window(task)
    return first_ns + round(window.began_s * _NS), first_ns + round(window.ended_s * _NS)


def read(files: RecordingFiles, options: argparse.Namespace) -> Recording:
    """Returns the events of a recording within its task, or within `--from` and `--to`. Raises EvidenceError,
    and UsageError if one of these is not a valid time.
    """
    if files.window_ns is not None:
        return RecordingReader(files.paths).recording(files.window_ns)
    whole = RecordingReader(files.paths).recording()
    if not options.race:
        _check_one_jvm(whole)
    if (options.window_from, options.window_to) == (None, None):
        return whole
    # Seconds count from the start of the recording, which has to be read for it.
    if whole.start_ns is None or whole.end_ns is None:
        return whole
    first = whole.start_ns if options.window_from is None else _ns(options.window_from, whole.start_ns)
    last = whole.end_ns + 1 if options.window_to is None else _ns(options.window_to, whole.start_ns)
    last = min(last, _LAST_NS)
    if first >= last:
        raise UsageError(
            "--from and --to leave no time of the recording", hint=f"it begins at {_utc(whole.start_ns)}"
        )
    return RecordingReader(files.paths).recording((first, last))


def _check_one_jvm(recording: Recording) -> None:
    """Raises EvidenceError if the files are of several JVMs, whose events would be added up."""
    if len(recording.jvms) < 2:
        return
    from pacenote.report.recording.build import jvm_text

    names = "; ".join(map(jvm_text, recording.jvms))
    paths = ", ".join(file.path for file in recording.files)
    raise EvidenceError(
        f"{paths}: recordings of {len(recording.jvms)} JVMs: {names}",
        hint="read those of each JVM alone, or compare them with --baseline=FILE",
    )


def _utc(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / _NS, UTC):%Y-%m-%dT%H:%M:%S}"


def _ns(bound: Moment, start_ns: int) -> int:
    """Returns a time in ns since 1970."""
    if isinstance(bound, datetime):
        # In whole numbers, because a float has no nanoseconds since 1970.
        since = bound - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * _NS + since.microseconds * 1000
    return start_ns + round(bound * _NS)
