"""Loads, filters and adapts the track that a request describes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.model.engine import SERVERLESS
from pacenote.model.messages import quoted, quoted_list
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.track import BUILT_IN_SCHEDULES, Challenge, Parallel, Task, Track
from pacenote.model.track_request import TrackRequest
from pacenote.operations.base import ServerlessStatus
from pacenote.operations.registry import find_type
from pacenote.track.filters import filter_tasks, keep_tasks, unmatched_filters
from pacenote.track.load import load_track
from pacenote.track.locate import LocatedTrack, locate_track
from pacenote.track.render import RenderOptions
from pacenote.track.test_mode import for_test_mode
from pacenote.track.typos import misspelled_keys, replaced_iterations


class SelectedTrack(Struct, frozen=True):
    """A track with only the requested tasks."""

    track: Track
    """The track."""

    located: LocatedTrack
    """The location of the track."""

    excluded: tuple[Task, ...] = ()
    """Tasks of the requested challenge that the filters leave out."""

    unpaced: tuple[Task, ...] = ()
    """Tasks of the requested challenge without the pacing options."""


class PreparedTrack(Struct, frozen=True):
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

    unpaced: tuple[Task, ...] = ()
    """Tasks of the challenge without the pacing options."""


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
    unpaced = tuple(track.challenge(challenge.name).tasks())
    track = apply_pacing_options(track, request.pacing)
    warnings = (*located.warnings, *unmatched, *misspelled_keys(track), *replaced_iterations(track))
    return SelectedTrack(track, replace(located, warnings=warnings), excluded, unpaced)


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
    return PreparedTrack(track, challenge, selected.located, notes, selected.excluded, selected.unpaced)


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


def apply_pacing_options(track: Track, pacing: PacingOptions) -> Track:
    """Returns the track with the selected arrivals, and with `max_connections` clients for open-loop tasks.

    Iterations are per client: with more clients, each has fewer, rounded up. A task with iterations therefore
    has at least as many operations as in the track, and at most one more for each client, of the warm-up and
    of the measured ones. One without any keeps the default of its operation, such as one for each client.
    """
    challenges = tuple(_challenge(challenge, pacing) for challenge in track.challenges)
    return dataclasses.replace(track, challenges=challenges)


def _challenge(challenge: Challenge, pacing: PacingOptions) -> Challenge:
    schedule = tuple(
        _parallel(element, pacing) if isinstance(element, Parallel) else _task(element, pacing)
        for element in challenge.schedule
    )
    return replace(challenge, schedule=schedule)


def _parallel(parallel: Parallel, pacing: PacingOptions) -> Parallel:
    tasks = tuple(_task(task, pacing) for task in parallel.tasks)
    clients = parallel.clients
    if clients is not None:
        added = sum(task.clients for task in tasks) - sum(task.clients for task in parallel.tasks)
        clients = max(clients + added, 1)
    return dataclasses.replace(parallel, tasks=tasks, clients=clients)


def _task(task: Task, pacing: PacingOptions) -> Task:
    if task.target_throughput is None and task.target_interval is None:
        return task
    changes: dict[str, Any] = {}
    if pacing.arrivals is not None and task.schedule in BUILT_IN_SCHEDULES:
        changes["schedule"] = pacing.arrivals
    if pacing.open_loop and pacing.max_connections is not None:
        changes["clients"] = pacing.max_connections
        for name in ("warmup_iterations", "iterations"):
            per_client = getattr(task, name)
            if per_client is not None:
                changes[name] = -(-per_client * task.clients // pacing.max_connections)
    return dataclasses.replace(task, **changes)


def for_serverless(track: Track, *, operator: bool) -> Track:
    """Returns the track without the tasks that a serverless cluster does not allow.

    The task's `run-on-serverless` determines this, otherwise the operation's, otherwise the operation type.
    With `operator`, tasks that only the operator of the cluster may run are kept. Operation types of plug-ins
    are always kept.
    """
    return keep_tasks(track, lambda _, task: _allowed(task, operator=operator))


def describe_left_out(before: Challenge, after: Challenge) -> str:
    """Returns a note about the tasks that were omitted, or an empty string if there are none."""
    kept = {task.name for task in after.tasks()}
    removed = [task.name for task in before.tasks() if task.name not in kept]
    return f"left out because they cannot run on serverless: {quoted_list(removed)}" if removed else ""


def _allowed(task: Task, *, operator: bool) -> bool:
    if task.run_on_serverless is not None:
        return task.run_on_serverless
    kind = find_type(task.operation.type)
    status = kind.serverless if kind is not None else ServerlessStatus.PUBLIC
    return status is ServerlessStatus.PUBLIC or (operator and status is ServerlessStatus.INTERNAL)
