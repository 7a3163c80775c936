"""`pacenote list tracks`: tracks of the default repository and bundled ones, of a repository or a path."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable

from msgspec import to_builtins

from pacenote.cli.console import Console
from pacenote.cli.options.track import check_source
from pacenote.cli.output.tables import Fit, table
from pacenote.errors import TrackError, UsageError
from pacenote.model.messages import quoted
from pacenote.model.output_text import json_text
from pacenote.repository.git_repository import DEFAULT_REPOSITORY, Checkout, GitRepository
from pacenote.store.home import default_home
from pacenote.system.paths import exists, is_dir
from pacenote.track.repository import open_repository, tracks_of
from pacenote.track.source import BUNDLED_REPOSITORY, BUNDLED_TRACKS, FolderRepository, is_track
from pacenote.track.summary import TrackSummary, summarize_track, summarize_tracks
from pacenote.units import format_bytes

_COLUMNS = (
    *("Name", "Description", "Documents", "Compressed Size", "Uncompressed Size"),
    *("Default Challenge", "All Challenges"),
)
_SHORTENED = ((6, 16), (1, 24), (5, 17), (0, 20))
"""Columns to shorten on a narrow terminal: all challenges, description, default challenge, name."""

_DROPPED = (6, 3, 4)
"""Columns to drop if this is not sufficient: all challenges, and the sizes."""

_REPOSITORY_OPTIONS = ("track_repository", "track_revision")


def list_tracks(options: argparse.Namespace, console: Console) -> str:
    """Returns the list as text or JSON. Clones or updates the default repository, or the one of the options.

    Raises UsageError and TrackError.
    """
    if options.track_path is not None and is_track(options.track_path):
        check_source(vars(options), _REPOSITORY_OPTIONS)
        tracks = [summarize_track(options.track_path)]
    else:
        tracks = _summaries(_repositories(options, console))
    if options.format == "json":
        return json_text([to_builtins(summary) for summary in tracks])
    fit = Fit(console.result_width, _SHORTENED, _DROPPED)
    return table(_COLUMNS, [_cells(summary) for summary in tracks], fit) if tracks else "No tracks found.\n"


def _summaries(repositories: Iterable[FolderRepository]) -> list[TrackSummary]:
    by_name: dict[str, TrackSummary] = {}
    for repository in repositories:
        for summary in summarize_tracks(repository, default_home() / "cache"):
            # If several tracks have one name, a race uses the first.
            by_name.setdefault(summary.name, summary)
    return list(by_name.values())


def _cells(track: TrackSummary) -> list[str]:
    sizes = (track.compressed_bytes, track.uncompressed_bytes)
    return [
        track.name,
        f"cannot be read: {track.problem}" if track.problem else track.description,
        f"{track.documents:,}" if track.documents else "",
        *("" if size is None else format_bytes(size) for size in sizes),
        track.default_challenge,
        ",".join(track.challenges),
    ]


def _repositories(options: argparse.Namespace, console: Console) -> list[FolderRepository]:
    check_source(vars(options), _REPOSITORY_OPTIONS)
    if options.track_path is not None:
        if not is_dir(options.track_path):
            what = "is not a folder" if exists(options.track_path) else "does not exist"
            raise UsageError(
                f"--track-path {options.track_path} {what}",
                hint="name the folder that contains the tracks, or one track",
            )
        return [FolderRepository(options.track_path.absolute())]
    if options.track_repository == BUNDLED_REPOSITORY:
        return [BUNDLED_TRACKS]
    if options.track_repository is not None or options.track_revision is not None:
        return [tracks_of(_checkout(_repository(options, console), options, console))]
    repository = _repository(options, console)
    counted = DEFAULT_REPOSITORY in options.repository_urls or repository.is_cloned
    try:
        tracks = tracks_of(_checkout(repository, options, console))
    except TrackError as error:
        console.warning(f"only the tracks that come with Pacenote are listed: {error.message}")
        return [BUNDLED_TRACKS]
    for name in BUNDLED_TRACKS.names():
        if tracks.folder(name) is not None:
            since = "" if counted else " from now on"
            console.progress(
                f"--track={name} means the one of repository {quoted(DEFAULT_REPOSITORY)}{since}; "
                f"--track-repository={BUNDLED_REPOSITORY} selects the one that comes with Pacenote"
            )
    return [tracks, BUNDLED_TRACKS]


def _repository(options: argparse.Namespace, console: Console) -> GitRepository:
    repository = open_repository(
        options.track_repository or DEFAULT_REPOSITORY,
        options.repository_urls,
        default_home(),
        offline=options.offline,
        progress=console.step,
    )
    return dataclasses.replace(repository, rally_clones=options.rally_tracks)


def _checkout(repository: GitRepository, options: argparse.Namespace, console: Console) -> Checkout:
    checkout = repository.checkout(options.distribution_version or "", options.track_revision)
    for text in checkout.notes:
        console.warning(text)
    console.progress(f"tracks of {checkout.describe()}")
    return checkout
