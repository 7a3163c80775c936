"""The files with stacks that `pacenote jfr` writes: flame graphs, folded stacks and speedscope's format."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from pacenote.cli.console import Console
from pacenote.cli.output.named_file import opened_named_file
from pacenote.errors import DiskError, EvidenceError, UsageError
from pacenote.model.recording import EventState, Recording
from pacenote.report.recording.build import (
    RecordingFilter,
    differing_settings,
    filtered_groups,
    recording_facts,
)
from pacenote.report.recording.events import EVENT_KINDS, EventKind, event_kind
from pacenote.report.recording.stack_tree import StackTree, TreeLevels, add_stacks
from pacenote.units import format_bytes, format_count

if TYPE_CHECKING:
    from pacenote.report.render.flame_graph import FlameGraph

_FORMATS = ("flame_graph", "folded", "speedscope")

_STANDARD_OUTPUT = Path("-")

_REASONS = {
    EventState.NONE_OCCURRED: "it was enabled, but no event occurred, or none above its threshold",
    EventState.DISABLED: "the settings of the recording disable it",
    EventState.UNSUPPORTED: "the JVM does not have it",
    EventState.UNKNOWN: "the recording does not say whether it was enabled",
}


class Sources(Struct, frozen=True):
    """What the stacks are read from."""

    recording: Recording
    """The recording."""

    baseline: Recording | None
    """The recording that it is compared with, or None."""

    chosen: RecordingFilter
    """The events that are of interest."""

    @property
    def all(self) -> tuple[Recording, ...]:
        """The recording and, if there is one, the baseline."""
        return (self.recording,) if self.baseline is None else (self.recording, self.baseline)


def outputs(options: argparse.Namespace) -> dict[str, Path]:
    """Returns the files to write by format."""
    given = ((name, getattr(options, name)) for name in _FORMATS)
    return {name: path for name, path in given if path is not None}


def check_outputs(files: Mapping[str, Path], inputs: Sequence[Path]) -> None:
    """Raises UsageError if a file would replace a recording, or if two would be the same file."""
    seen: dict[Path, str] = {}
    for name, path in files.items():
        option = f"--{name.replace('_', '-')}"
        if path in seen:
            raise UsageError(f"{option} and {seen[path]} are both {path}", hint="give each a file of its own")
        seen[path] = option
        with contextlib.suppress(OSError):
            if any(path.samefile(each) for each in inputs):
                raise UsageError(
                    f"{option} would replace the recording {path}", hint="give the name of another file"
                )


def write_stacks(
    files: Mapping[str, Path], sources: Sources, options: argparse.Namespace, console: Console
) -> None:
    """Writes the stacks of one kind of events in all formats. Raises EvidenceError if there are none, and
    DiskError.
    """
    kind = event_kind(options.event or "cpu", sources.all)
    tree = _tree(kind, sources, by_thread=options.by_thread)
    for recording in sources.all:
        for file in recording.files:
            for problem in file.problems:
                console.warning(f"{file.path}: {problem}")
    for name, path in files.items():
        parts = _text(name, tree, kind, sources)
        if path == _STANDARD_OUTPUT:
            for part in parts:
                console.result(part)
            continue
        size = _write(path, parts)
        stacks = format_count(sum(1 for _ in tree.paths()), "different stack")
        console.progress(f"{path}: {stacks}, {format_bytes(size)}")


def _tree(kind: EventKind, sources: Sources, *, by_thread: bool) -> StackTree:
    if reason := differing_settings(kind, sources.all):
        raise EvidenceError(
            f"the recordings cannot be compared: {reason}", hint="record both with the same settings"
        )
    tree, levels = StackTree(), TreeLevels(by_thread, kind.leaf)
    for number, recording in enumerate(sources.all):
        _check_known(kind, recording)
        groups = tuple(filtered_groups(recording, kind, sources.chosen))
        if not groups:
            raise EvidenceError(
                f"{_names(recording)}: no event of {' or '.join(kind.types)} is within the time, the "
                "threads and the class that were chosen",
                hint="choose other values of --from, --to, --thread and --class",
            )
        add_stacks(tree, recording, groups, levels, is_baseline=number == 1)
    return tree


def _check_known(kind: EventKind, recording: Recording) -> None:
    """Raises EvidenceError if a recording has no events of a kind."""
    if (state := kind.state(recording)) is EventState.RECORDED:
        return
    others = (name for name, each in EVENT_KINDS.items() if each.state(recording) is EventState.RECORDED)
    recorded = ", ".join(others)
    raise EvidenceError(
        f"{_names(recording)}: no event of {' or '.join(kind.types)}: {_REASONS[state]}",
        hint=f"the recording has --event={recorded}" if recorded else "record with other settings",
    )


def _names(recording: Recording) -> str:
    return ", ".join(file.path for file in recording.files)


def _text(name: str, tree: StackTree, kind: EventKind, sources: Sources) -> Iterator[str]:
    if name == "folded":
        from pacenote.report.render.folded import render_folded

        yield from render_folded(tree)
    elif name == "speedscope":
        from pacenote.report.render.speedscope import render_speedscope

        yield render_speedscope(tree, kind.title, kind.unit)
    else:
        from pacenote.report.render.flame_graph import render_flame_graph

        yield render_flame_graph(_graph(tree, kind, sources))


def _graph(tree: StackTree, kind: EventKind, sources: Sources) -> FlameGraph:
    from pacenote.report.render.flame_graph import FlameGraph

    facts = tuple(recording_facts(sources.recording, sources.baseline, sources.chosen))
    return FlameGraph(kind.title, facts, kind.unit, tree)


def _write(path: Path, parts: Iterator[str]) -> int:
    """Writes a text part by part, and returns its size in bytes: all stacks together may be large. Raises
    DiskError.
    """
    size = 0
    try:
        with opened_named_file(path, "w") as file:
            for part in parts:
                size += len(part.encode())
                file.write(part)
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from error
    return size
