"""From what was asked for to the track that runs: found, loaded, cut down to what was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pacenote.errors import TrackError, UsageError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.track import Challenge, Track
from pacenote.model.track_request import TrackRequest
from pacenote.track.filters import filter_tasks
from pacenote.track.load import load_track
from pacenote.track.pacing_overrides import apply_pacing_options
from pacenote.track.render import RenderOptions
from pacenote.track.repository import DEFAULT_REPOSITORY, Checkout, open_repository
from pacenote.track.serverless import SERVERLESS, describe_left_out, for_serverless
from pacenote.track.source import BUNDLED_TRACKS, TrackSource, find_track, open_track
from pacenote.track.test_mode import for_test_mode
from pacenote.track.typos import misspelled_keys


@dataclass(frozen=True, slots=True)
class LocatedTrack:
    """Where a track is. `revision` is that of its repository, None if it comes from none; `notes` is what the
    user is told about it, `warnings` what is not as it should be.
    """

    source: TrackSource
    revision: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectedTrack:
    """A track with only what was asked for, and where it was found."""

    track: Track
    found: LocatedTrack


@dataclass(frozen=True, slots=True)
class PreparedTrack:
    """A track as it is going to run, and its challenge."""

    track: Track
    challenge: Challenge
    found: LocatedTrack
    notes: tuple[str, ...] = ()


def locate_track(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> LocatedTrack:
    """Where the track is that was asked for; may clone or update a repository.

    Raises `TrackError` when there is none, `UsageError` for a repository that can be none.
    """
    if request.track_path is not None:
        return LocatedTrack(open_track(request.track_path))
    name = request.track or ""
    anywhere = request.track_repository is None and request.track_revision is None
    if anywhere and BUNDLED_TRACKS.folder(name):
        note = f"track {quoted(name)} is the one that comes with Pacenote; --track-repository takes another"
        return LocatedTrack(find_track(name), notes=(note,))
    try:
        checkout = checkout_repository(request, progress)
    except TrackError as cause:
        if not anywhere:
            raise
        known = did_you_mean(name, BUNDLED_TRACKS.names())
        raise TrackError(
            f"no track {quoted(name)} comes with Pacenote{known}, and {cause.message}", hint=cause.hint
        ) from cause
    source = find_track(name, (BUNDLED_TRACKS, checkout) if anywhere else (checkout,))
    told = f"track {quoted(source.name)} from {checkout.describe()}; its templates and code run as you do"
    return LocatedTrack(source, checkout.revision, (told,), checkout.notes)


def checkout_repository(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> Checkout:
    """The repository that was asked for, at the revision that fits. Raises as `locate_track`."""
    named = DEFAULT_REPOSITORY if request.track_repository is None else request.track_repository
    repository = open_repository(
        named, request.repository_urls, request.home, offline=request.offline, progress=progress
    )
    return repository.checkout(request.engine_version, request.track_revision)


def load_selected_track(
    request: TrackRequest, progress: Callable[[str], None] = lambda _: None
) -> SelectedTrack:
    """The track that was asked for, with only what was asked for of all its challenges; some may be empty.

    Raises `TrackError` for what is wrong with the track, `UsageError` for what is wrong with the request.
    """
    found = locate_track(request, progress)
    track = load_track(found.source, request.track_params, render_options(request))
    track.challenge(request.challenge)
    track = filter_tasks(track, request.include_tasks, request.exclude_tasks)
    if request.test_mode:
        track = for_test_mode(track)
    track = apply_pacing_options(track, request.pacing)
    return SelectedTrack(track, replace(found, warnings=(*found.warnings, *misspelled_keys(track))))


def prepare_track(request: TrackRequest, progress: Callable[[str], None] = lambda _: None) -> PreparedTrack:
    """The track that was asked for, as it is going to run, and its challenge.

    Raises as `load_selected_track`, and for a challenge of which no task is left.
    """
    wanted = load_selected_track(request, progress)
    notes = wanted.found.notes
    whole = wanted.track.challenge(request.challenge)
    track = for_build_flavor(wanted.track, request)
    challenge = track.challenge(whole.name)
    if told := describe_left_out(whole, challenge):
        notes = (*notes, told)
    if not challenge.schedule:
        raise UsageError(
            f"no task of challenge {quoted(challenge.name)} is left to run",
            hint="`pacenote info` lists its tasks; filters and the build flavor leave some out",
        )
    return PreparedTrack(track, challenge, wanted.found, notes)


def for_build_flavor(track: Track, request: TrackRequest) -> Track:
    """The track without what its kind of cluster refuses."""
    if request.build_flavor != SERVERLESS:
        return track
    return for_serverless(track, operator=request.serverless_operator)


def render_options(request: TrackRequest) -> RenderOptions:
    """How a track is rendered for a request, at this moment."""
    return RenderOptions(
        now=time.time(),
        build_flavor=request.build_flavor,
        serverless_operator=request.serverless_operator,
        ignore_unused=request.ignore_unused_track_params,
    )
