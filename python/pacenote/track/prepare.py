"""Loads, filters and adapts the track that a request describes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pacenote.errors import UsageError
from pacenote.model.engine import SERVERLESS
from pacenote.model.messages import quoted
from pacenote.model.track import Challenge, Task, Track
from pacenote.model.track_request import TrackRequest
from pacenote.track.filters import filter_tasks, unmatched_filters
from pacenote.track.load import load_track
from pacenote.track.locate import LocatedTrack, locate_track
from pacenote.track.pacing_overrides import apply_pacing_options
from pacenote.track.render import RenderOptions
from pacenote.track.serverless import describe_left_out, for_serverless
from pacenote.track.test_mode import for_test_mode
from pacenote.track.typos import misspelled_keys


@dataclass(frozen=True, slots=True)
class SelectedTrack:
    """A track with only the requested tasks."""

    track: Track
    """The track."""

    located: LocatedTrack
    """The location of the track."""

    excluded: tuple[Task, ...] = ()
    """Tasks of the requested challenge that the filters leave out."""


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

    excluded: tuple[Task, ...] = ()
    """Tasks of the challenge that the filters leave out."""


def load_selected_track(
    request: TrackRequest, progress: Callable[[str], None] = lambda _: None
) -> SelectedTrack:
    """Returns the requested track with only the requested tasks. Challenges may be empty.

    Raises `TrackError` for problems in the track, and `UsageError` for problems in the request.
    """
    located = locate_track(request, progress)
    declared = load_track(located.source, request.track_params, render_options(request))
    challenge = declared.challenge(request.challenge)
    unmatched = unmatched_filters(
        declared, request.include_tasks, request.exclude_tasks, request.info_command()
    )
    track = filter_tasks(declared, request.include_tasks, request.exclude_tasks)
    kept = {task.name for task in track.challenge(challenge.name).tasks()}
    excluded = tuple(task for task in challenge.tasks() if task.name not in kept)
    if request.test_mode:
        track = for_test_mode(track)
    track = apply_pacing_options(track, request.pacing)
    warnings = (*located.warnings, *unmatched, *misspelled_keys(track))
    return SelectedTrack(track, replace(located, warnings=warnings), excluded)


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
            hint=f"`{request.info_command()}` lists its tasks; filters and the build flavor exclude some of "
            "them",
        )
    return PreparedTrack(track, challenge, selected.located, notes, selected.excluded)


def for_build_flavor(track: Track, request: TrackRequest) -> Track:
    """Returns the track without tasks that the build flavor of the engine does not support."""
    if request.build_flavor != SERVERLESS:
        return track
    return for_serverless(track, operator=bool(request.serverless_operator))


def render_options(request: TrackRequest) -> RenderOptions:
    """Returns the options to render a track for a request at the current time."""
    return RenderOptions(
        now=time.time(),
        build_flavor=request.build_flavor,
        serverless_operator=bool(request.serverless_operator),
        ignore_unused=request.ignore_unused_track_params,
    )
