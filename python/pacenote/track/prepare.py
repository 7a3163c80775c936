"""Locates, loads, filters and adapts the track that a request describes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pacenote.errors import TrackError, UsageError
from pacenote.model.engine import SERVERLESS
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.track import Challenge, Track
from pacenote.model.track_request import TrackRequest
from pacenote.track.filters import filter_tasks
from pacenote.track.load import load_track
from pacenote.track.pacing_overrides import apply_pacing_options
from pacenote.track.render import RenderOptions
from pacenote.track.repository import DEFAULT_REPOSITORY, Checkout, open_repository
from pacenote.track.serverless import describe_left_out, for_serverless
from pacenote.track.source import BUNDLED_TRACKS, TrackSource, find_track, open_track
from pacenote.track.test_mode import for_test_mode
from pacenote.track.typos import misspelled_keys


@dataclass(frozen=True, slots=True)
class LocatedTrack:
    """The location of a track."""

    source: TrackSource
    """Its folder and entry file."""

    revision: str | None = None
    """The revision of its repository, or None if it is not from a repository."""

    notes: tuple[str, ...] = ()
    """Notes for the user about its origin."""

    warnings: tuple[str, ...] = ()
    """Warnings, for example that the repository cannot be updated."""


@dataclass(frozen=True, slots=True)
class SelectedTrack:
    """A track with only the requested tasks."""

    track: Track
    """The track."""

    located: LocatedTrack
    """The location of the track."""


@dataclass(frozen=True, slots=True)
class PreparedTrack:
    """A track that is ready to run, and its challenge."""

    track: Track
    """The track."""

    challenge: Challenge
    """The challenge that runs."""

    located: LocatedTrack
    """The location of the track."""

    notes: tuple[str, ...] = ()
    """Notes for the user about the track."""


def locate_track(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> LocatedTrack:
    """Returns the location of the requested track. May clone or update a repository.

    Raises `TrackError` if there is no such track, and `UsageError` for a malformed repository.
    """
    located = _locate_track(request, progress)
    if request.allow_outside_paths:
        return replace(located, source=replace(located.source, boundary=None))
    return located


def _locate_track(request: TrackRequest, progress: Callable[[str], None]) -> LocatedTrack:
    if request.track_path is not None:
        return LocatedTrack(open_track(request.track_path))
    name = request.track or ""
    any_repository = request.track_repository is None and request.track_revision is None
    if any_repository and BUNDLED_TRACKS.folder(name):
        note = f"track {quoted(name)} is the one that comes with Pacenote; --track-repository selects another"
        return LocatedTrack(find_track(name), notes=(note,))
    try:
        checkout = checkout_repository(request, progress)
    except TrackError as cause:
        if not any_repository:
            raise
        known = did_you_mean(name, BUNDLED_TRACKS.names())
        raise TrackError(
            f"no track {quoted(name)} comes with Pacenote{known}, and {cause.message}", hint=cause.hint
        ) from cause
    source = find_track(name, (BUNDLED_TRACKS, checkout) if any_repository else (checkout,))
    origin = f"track {quoted(source.name)} from {checkout.describe()}"
    note = f"{origin}; its templates and code run with your permissions"
    return LocatedTrack(source, checkout.revision, (note,), checkout.notes)


def checkout_repository(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> Checkout:
    """Returns the requested repository at the matching revision. Raises the same errors as `locate_track`."""
    name = DEFAULT_REPOSITORY if request.track_repository is None else request.track_repository
    repository = open_repository(
        name, request.repository_urls, request.home, offline=request.offline, progress=progress
    )
    return repository.checkout(request.engine_version, request.track_revision)


def load_selected_track(
    request: TrackRequest, progress: Callable[[str], None] = lambda _: None
) -> SelectedTrack:
    """Returns the requested track with only the requested tasks. Challenges may be empty.

    Raises `TrackError` for problems in the track, and `UsageError` for problems in the request.
    """
    located = locate_track(request, progress)
    track = load_track(located.source, request.track_params, render_options(request))
    track.challenge(request.challenge)
    track = filter_tasks(track, request.include_tasks, request.exclude_tasks)
    if request.test_mode:
        track = for_test_mode(track)
    track = apply_pacing_options(track, request.pacing)
    return SelectedTrack(track, replace(located, warnings=(*located.warnings, *misspelled_keys(track))))


def prepare_track(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> PreparedTrack:
    """Returns the requested track, ready to run, and its challenge.

    Raises the same errors as `load_selected_track`, and `UsageError` if no tasks of the challenge remain.
    """
    selected = load_selected_track(request, progress)
    notes = selected.located.notes
    unfiltered = selected.track.challenge(request.challenge)
    track = for_build_flavor(selected.track, request)
    challenge = track.challenge(unfiltered.name)
    if note := describe_left_out(unfiltered, challenge):
        notes = (*notes, note)
    if not challenge.schedule:
        raise UsageError(
            f"challenge {quoted(challenge.name)} has no tasks to run",
            hint="`pacenote info` lists its tasks; filters and the build flavor exclude some of them",
        )
    return PreparedTrack(track, challenge, selected.located, notes)


def for_build_flavor(track: Track, request: TrackRequest) -> Track:
    """Returns the track without tasks that the build flavor of the engine does not support."""
    if request.build_flavor != SERVERLESS:
        return track
    return for_serverless(track, operator=request.serverless_operator)


def render_options(request: TrackRequest) -> RenderOptions:
    """Returns the options to render a track for a request at the current time."""
    return RenderOptions(
        now=time.time(),
        build_flavor=request.build_flavor,
        serverless_operator=request.serverless_operator,
        ignore_unused=request.ignore_unused_track_params,
    )
