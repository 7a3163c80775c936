"""`pacenote list tracks`: bundled tracks, those of a repository, or those in a folder."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pacenote.cli.console import Console
from pacenote.cli.tables import json_text, table
from pacenote.cli.track_options import check_source
from pacenote.errors import UsageError
from pacenote.store.home import default_home
from pacenote.track.repository import DEFAULT_REPOSITORY, Checkout, open_repository
from pacenote.track.source import BUNDLED_TRACKS, FolderRepository
from pacenote.track.summary import TrackSummary, summarize_tracks
from pacenote.units import format_bytes

_COLUMNS = ("Name", "Documents", "Compressed", "Uncompressed", "Default Challenge", "Description")


def list_tracks(options: argparse.Namespace, console: Console) -> str:
    """Returns the list as text or JSON. Only a repository that the options specify is updated.

    Raises UsageError and TrackError.
    """
    home = default_home()
    by_name: dict[str, TrackSummary] = {}
    for repository in _repositories(options, console):
        for summary in summarize_tracks(repository, home / "cache"):
            # If several tracks have one name, a race uses the first.
            by_name.setdefault(summary.name, summary)
    found = list(by_name.values())
    if options.format == "json":
        return json_text([asdict(summary) for summary in found])
    return table(_COLUMNS, [_cells(summary) for summary in found]) if found else "No tracks found.\n"


def _cells(track: TrackSummary) -> list[str]:
    sizes = (track.compressed_bytes, track.uncompressed_bytes)
    return [
        track.name,
        f"{track.documents:,}" if track.documents else "",
        *("" if size is None else format_bytes(size) for size in sizes),
        track.default_challenge,
        f"cannot be read: {track.problem}" if track.problem else track.description,
    ]


def _repositories(options: argparse.Namespace, console: Console) -> list[FolderRepository]:
    check_source(vars(options), ("track_repository", "track_revision"))
    if options.track_path is not None:
        if not options.track_path.is_dir():
            what = "is not a folder" if options.track_path.exists() else "does not exist"
            raise UsageError(
                f"--track-path {options.track_path} {what}", hint="give the folder that contains the tracks"
            )
        return [FolderRepository(options.track_path.absolute())]
    if options.track_repository is not None or options.track_revision is not None:
        named = DEFAULT_REPOSITORY if options.track_repository is None else options.track_repository
        return [_checkout(options, console, named, offline=options.offline)]
    if (open_repository(DEFAULT_REPOSITORY, options.repository_urls, default_home()).clone / ".git").exists():
        return [BUNDLED_TRACKS, _checkout(options, console, DEFAULT_REPOSITORY, offline=True)]
    if options.format == "text":
        console.progress(
            f"more tracks: --track-repository={DEFAULT_REPOSITORY}, or the name or URL of another"
        )
    return [BUNDLED_TRACKS]


def _checkout(options: argparse.Namespace, console: Console, name: str, *, offline: bool) -> Checkout:
    repository = open_repository(
        name, options.repository_urls, default_home(), offline=offline, progress=console.progress
    )
    checkout = repository.checkout(options.distribution_version or "", options.track_revision)
    for text in checkout.notes:
        console.warning(text)
    console.progress(f"tracks of {checkout.describe()}")
    return checkout
