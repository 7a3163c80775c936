"""`pacenote info`: the data, challenges and tasks of a track."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.track_options import (
    add_challenge_option,
    add_filter_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.model.printable import printable
from pacenote.model.secrets import redact_urls
from pacenote.model.track import Challenge, Documents, Parallel, Task, Track
from pacenote.units import format_bytes, format_count, format_seconds

UNAVAILABLE_OPTIONS: dict[str, str] = {}


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `info`."""
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_filter_options(parser)
    parser.add_flag("--quiet", help="do not report where the track comes from")


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints a description of the track. Raises TrackError and UsageError."""
    from pacenote.track.prepare import load_selected_track

    wanted = load_selected_track(track_request(options), console.progress)
    for text in wanted.located.warnings:
        console.warning(text)
    for text in wanted.located.notes:
        console.progress(text)
    track = wanted.track
    challenges = [track.challenge(options.challenge)] if options.challenge else track.challenges
    lines = [*_head(track)]
    for challenge in challenges:
        lines += _challenge(challenge)
    console.result_without_secrets("".join(f"{printable(line)}\n" for line in lines))
    return 0


def _head(track: Track) -> Iterator[str]:
    yield f"Track {track.name}"
    if track.description:
        yield f"  {track.description}"
    yield ""
    files = [documents for corpus in track.corpora for documents in corpus.documents]
    if files:
        yield f"Documents: {_counted(files)}"
    for corpus in track.corpora:
        yield f"  {corpus.name}: {format_count(len(corpus.documents), 'file')}, {_counted(corpus.documents)}"
    if targets := track.targets():
        kind = "Data streams" if track.data_streams else "Indices"
        yield f"{kind}: {', '.join(targets)}"
    names = [one.name for one in track.templates] + [one.name for one in track.composable_templates]
    if names := [*names, *(one.name for one in track.component_templates)]:
        yield f"Templates: {', '.join(names)}"
    if track.plugin is not None:
        yield f"Python code: {track.plugin.name}, which runs with your permissions"
    if track.dependencies:
        yield f"Python packages: {redact_urls(', '.join(track.dependencies))}"


def _counted(files: list[Documents] | tuple[Documents, ...]) -> str:
    parts = [format_count(sum(file.document_count or 0 for file in files), "document")]
    for what in ("compressed", "uncompressed"):
        sizes = [getattr(file, f"{what}_bytes") for file in files]
        if all(size is not None for size in sizes):
            parts.append(f"{format_bytes(sum(sizes))} {what}")
    return ", ".join(parts)


def _challenge(challenge: Challenge) -> Iterator[str]:
    yield ""
    if not challenge.auto_generated:
        title = f"Challenge {challenge.name}{' (run by default)' if challenge.default else ''}"
        yield from (title, "=" * len(title))
    if challenge.description:
        yield f"  {challenge.description}"
    if challenge.user_info:
        yield f"  Note: {challenge.user_info}"
    for number, element in enumerate(challenge.schedule, start=1):
        if isinstance(element, Parallel):
            ending = f", completed by {element.completed_by}" if element.completed_by else ""
            yield f"{number}. in parallel, {format_count(element.client_count, 'client')}{ending}:"
            for inner, task in enumerate(element.tasks, start=1):
                yield f"   {number}.{inner} {_task(task)}"
        else:
            yield f"{number}. {_task(element)}"


def _task(task: Task) -> str:
    parts = [task.operation.type] if task.operation.type != task.name else []
    if task.clients > 1:
        parts.append(format_count(task.clients, "client"))
    if task.target_throughput is not None:
        parts.append(str(task.target_throughput))
    if task.target_interval is not None:
        parts.append(f"one every {format_seconds(task.target_interval)}")
    if task.tags:
        parts.append(f"tags {' '.join(task.tags)}")
    return f"{task.name} ({', '.join(parts)})" if parts else task.name
