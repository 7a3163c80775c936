"""`pacenote info`: the data, challenges and tasks of a track."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable, Iterator

from pacenote.cli.console import Console
from pacenote.cli.options.track import (
    add_challenge_option,
    add_filter_options,
    add_param_options,
    add_source_options,
    track_request,
)
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.model.printable import printable
from pacenote.model.secrets import redact_urls
from pacenote.model.track import Challenge, Documents, Parallel, Task, Track
from pacenote.units import format_bytes, format_count, format_seconds

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_WIDTH = 100
"""Columns that the list of parameters fills at most."""


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `info`."""
    add_source_options(parser)
    add_param_options(parser)
    add_challenge_option(parser)
    add_filter_options(parser)
    parser.add_flag("--quiet", help="do not report where the track comes from", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints a description of the track. Raises TrackError and UsageError."""
    from pacenote.track.prepare import load_selected_track

    wanted = load_selected_track(track_request(options), console.step)
    for text in wanted.located.warnings:
        console.warning(text)
    for text in wanted.located.notes:
        console.progress(text)
    track = wanted.track
    challenges = [track.challenge(options.challenge)] if options.challenge else track.challenges
    width = min(_WIDTH, console.result_width or _WIDTH)
    lines = [*_head(track), *_parameters(track, width)]
    for challenge in challenges:
        lines += _challenge(challenge, track)
    console.result_lines("".join(f"{printable(line)}\n" for line in lines))
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
        if corpus.generator is not None:
            generated = format_count(corpus.generator.documents, "document")
            yield f"    without these files, a race generates {generated}"
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
    parts = [_documents(file.document_count for file in files)]
    for what in ("compressed", "uncompressed"):
        sizes = [getattr(file, f"{what}_bytes") for file in files]
        if all(size is not None for size in sizes):
            parts.append(f"{format_bytes(sum(sizes))} {what}")
    return ", ".join(parts)


def _documents(counts: Iterable[int | None]) -> str:
    """Returns the number of documents of files; those of a user's own files are counted before a race."""
    known = list(counts)
    if None in known:
        return "an unknown number of documents"
    return format_count(sum(count or 0 for count in known), "document")


def _parameters(track: Track, width: int) -> Iterator[str]:
    parameters = track.parameters()
    if parameters:
        shown = (
            name if default is None else f"{name}={json.dumps(default, ensure_ascii=False)}"
            for name, default in sorted(parameters.items())
        )
        yield "Parameters (--track-params), with their defaults:"
        yield from textwrap.wrap(
            ", ".join(shown),
            width=width,
            initial_indent="  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _indexed(challenge: Challenge, track: Track) -> Iterator[str]:
    """Yields a line about the documents that the tasks of a challenge index."""
    from pacenote.plan.corpora import required_files

    files = required_files(track, challenge)
    corpora = {file.corpus.name: file.corpus for file in files}
    counts = {
        (corpus.name, documents.source_file): count
        for corpus in corpora.values()
        for documents, count in zip(corpus.documents, corpus.declared_counts(), strict=True)
    }
    if files:
        total = _documents(counts[file.corpus.name, file.documents.source_file] for file in files)
        generated = any(corpus.generator is not None for corpus in corpora.values())
        note = ", if they are generated" if generated else ""
        yield f"  Indexes {total} of {', '.join(corpora)}{note}"


def _challenge(challenge: Challenge, track: Track) -> Iterator[str]:
    yield ""
    if not challenge.auto_generated:
        title = f"Challenge {challenge.name}{' (run by default)' if challenge.default else ''}"
        yield from (title, "=" * len(title))
    if challenge.description:
        yield f"  {challenge.description}"
    if challenge.user_info:
        yield f"  Note: {challenge.user_info}"
    yield from _indexed(challenge, track)
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
    share = task.operation.params.get("ingest-percentage")
    if share is not None and str(share) != "100":
        parts.append(f"{share} % of the documents")
    if task.tags:
        parts.append(f"tags {' '.join(task.tags)}")
    return f"{task.name} ({', '.join(parts)})" if parts else task.name
