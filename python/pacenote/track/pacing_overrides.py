"""Applies `--arrivals`, `--open-loop` and `--max-connections` to the tasks that have a target rate."""

from __future__ import annotations

import dataclasses
from typing import Any

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.track import BUILT_IN_SCHEDULES, Challenge, Parallel, Task, Track


def apply_pacing_options(track: Track, pacing: PacingOptions) -> Track:
    """Returns the track with the selected arrivals, and with `max_connections` clients for open-loop tasks.

    Iterations are per client: with more clients, each runs fewer (rounded up), so the length of a task does
    not change.
    """
    challenges = tuple(_challenge(challenge, pacing) for challenge in track.challenges)
    return dataclasses.replace(track, challenges=challenges)


def _challenge(challenge: Challenge, pacing: PacingOptions) -> Challenge:
    schedule = tuple(
        _parallel(element, pacing) if isinstance(element, Parallel) else _task(element, pacing)
        for element in challenge.schedule
    )
    return dataclasses.replace(challenge, schedule=schedule)


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
