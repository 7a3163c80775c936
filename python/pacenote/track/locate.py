"""Locates the track of a request: a path, a bundled track, or a track in a git repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import TrackError, UsageError
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.shell_command import shell_command
from pacenote.model.track_request import TrackRequest
from pacenote.repository.git import strip_credentials
from pacenote.repository.git_repository import DEFAULT_REPOSITORY, Checkout, GitRepository
from pacenote.track.repository import DEFAULT_URL, PUBLIC_TRACKS, open_repository, tracks_of
from pacenote.track.source import (
    BUNDLED_REPOSITORY,
    BUNDLED_TRACKS,
    SearchPlace,
    TrackSource,
    find_track,
    open_named_track,
)


class LocatedTrack(Struct, frozen=True):
    """The location of a track."""

    source: TrackSource
    """Its folder and entry file."""

    revision: str | None = None
    """The revision of its repository, or None if it is not from a repository."""

    notes: tuple[str, ...] = ()
    """Notes for the user about its origin."""

    warnings: tuple[str, ...] = ()
    """Warnings, for example that the repository cannot be updated."""


def check_track(request: TrackRequest) -> None:
    """Raises `TrackError` for a track that is known not to exist, without using the network.

    If the public repository has to be cloned to find a track, names that resemble a known track are rejected.
    """
    if request.track_path is not None:
        open_named_track(request.track_path)
        return
    name = Path(request.track or "").as_posix()
    if request.track_repository == BUNDLED_REPOSITORY and BUNDLED_TRACKS.folder(name) is None:
        names = BUNDLED_TRACKS.names()
        raise TrackError(
            f"no track {quoted(name)} comes with Pacenote{did_you_mean(name, names)}",
            hint=f"these do: {quoted_list(names)}; --track-repository={DEFAULT_REPOSITORY} has others",
        )
    if not _is_free(request):
        return
    repository = _repository(request)
    known = (*BUNDLED_TRACKS.names(), *PUBLIC_TRACKS)
    if name in known or repository.url != DEFAULT_URL or repository.is_cloned:
        return
    if meant := did_you_mean(name, known):
        raise TrackError(
            f"there is no track {quoted(name)}{meant}",
            hint=f"--track-repository={DEFAULT_REPOSITORY} searches {DEFAULT_URL} for it nevertheless",
        )


def locate_track(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> LocatedTrack:
    """Returns the location of the requested track. May clone or update a repository.

    A track that is selected by its name alone is the one in the repository `default`, or the bundled one if
    there is none. If a bundled track has the name, the repository only counts if the user has configured its
    URL, or if Pacenote or Rally has cloned it already, so that bundled tracks need no network.

    Raises `TrackError` if there is no such track, and `UsageError` for a malformed repository.
    """
    located = _locate_track(request, progress)
    if request.allow_outside_paths:
        return replace(located, source=replace(located.source, boundary=None))
    return located


def _locate_track(request: TrackRequest, progress: Callable[[str], None]) -> LocatedTrack:
    if request.track_path is not None:
        return LocatedTrack(open_named_track(request.track_path))
    check_track(request)
    if request.track_repository == BUNDLED_REPOSITORY:
        if request.track_revision is not None:
            raise UsageError("--track-revision needs a git repository; bundled tracks have no revisions")
        return _bundled_track(request, "")
    repository = _repository(request, progress)
    if _is_free(request):
        return _track_by_name(repository, request)
    return _track_in(repository.checkout(request.engine_version, request.track_revision), request)


def _is_free(request: TrackRequest) -> bool:
    """Returns whether the track is selected by its name alone."""
    return request.track_path is None and request.track_repository is None and request.track_revision is None


def _repository(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> GitRepository:
    """Returns the requested repository, which may not be cloned yet. Raises `UsageError`."""
    name = DEFAULT_REPOSITORY if request.track_repository is None else request.track_repository
    repository = open_repository(
        name, request.repository_urls, request.home, offline=request.offline, progress=progress
    )
    return dataclasses.replace(repository, rally_clones=request.rally_tracks)


def _track_by_name(repository: GitRepository, request: TrackRequest) -> LocatedTrack:
    """Returns the track from the default repository, or the bundled one. Raises `TrackError`."""
    name = request.track or ""
    is_bundled = BUNDLED_TRACKS.folder(name) is not None
    counts = DEFAULT_REPOSITORY in request.repository_urls or repository.is_cloned
    if is_bundled and not counts:
        return _bundled_track(request, f"; --track-repository={DEFAULT_REPOSITORY} selects the public one")
    try:
        checkout = repository.checkout(request.engine_version)
    except TrackError as cause:
        raise _without_repository(name, cause) from cause
    if is_bundled and tracks_of(checkout).folder(name) is None:
        return _bundled_track(request, f"; repository {quoted(DEFAULT_REPOSITORY)} has none of that name")
    located = _track_in(checkout, request)
    if not is_bundled:
        return located
    note = f"{located.notes[0]}; --track-repository={BUNDLED_REPOSITORY} selects the one of Pacenote"
    return replace(located, notes=(note,))


def _bundled_track(request: TrackRequest, more: str) -> LocatedTrack:
    source = find_track(request.track or "")
    note = f"track {quoted(source.name)} is the one that comes with Pacenote{more}"
    return LocatedTrack(source, notes=(note,))


def _track_in(checkout: Checkout, request: TrackRequest) -> LocatedTrack:
    """Returns the track in a checkout. Raises `TrackError` with similar names if it has none of that name."""
    bundled = (BUNDLED_TRACKS,) if _is_free(request) else ()
    source = find_track(request.track or "", (tracks_of(checkout), *bundled), _place(checkout, request))
    origin = f"track {quoted(source.name)} from {checkout.describe()}"
    note = f"{origin}; its templates and code run with your permissions"
    return LocatedTrack(source, checkout.revision, (note,), checkout.notes)


def _place(checkout: Checkout, request: TrackRequest) -> SearchPlace:
    """Returns the place of a checkout for an error."""
    where = f" in {checkout.label} of repository {quoted(checkout.repository)}"
    listing = ["pacenote", "list", "tracks"]
    if request.track_repository is not None:
        listing.append(f"--track-repository={strip_credentials(request.track_repository)}")
    if request.track_revision is not None:
        listing.append(f"--track-revision={request.track_revision}")
    elif request.engine_version:
        where += f", which version {request.engine_version} selects (--track-revision selects another)"
        listing.append(f"--distribution-version={request.engine_version}")
    return SearchPlace(where, shell_command(*listing))


def _without_repository(name: str, cause: TrackError) -> TrackError:
    """Returns the error for a track whose repository cannot be used."""
    if BUNDLED_TRACKS.folder(name) is not None:
        way_out = f"--track-repository={BUNDLED_REPOSITORY} selects the track that comes with Pacenote"
        return TrackError(cause.message, hint=f"{cause.hint}; {way_out}")
    meant = did_you_mean(name, BUNDLED_TRACKS.names())
    return TrackError(
        f"no track {quoted(name)} comes with Pacenote{meant}, and {cause.message}", hint=cause.hint
    )
