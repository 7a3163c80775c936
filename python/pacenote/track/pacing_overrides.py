"""How `--arrivals`, `--open-loop` and `--max-connections` change the tasks that have a target rate."""

from __future__ import annotations

import dataclasses
from typing import Any

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.track import BUILT_IN_SCHEDULES, Challenge, Parallel, Task, Track


def apply_pacing_options(track: Track, pacing: PacingOptions) -> Track:
    """The track with other arrivals, and with as many clients in open-loop tasks as they may use connections.

    Iterations count per client: more clients have fewer each, rounded up, so that a task keeps its length.
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
        more = sum(task.clients for task in tasks) - sum(task.clients for task in parallel.tasks)
        clients = max(clients + more, 1)
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
            each = getattr(task, name)
            if each is not None:
                changes[name] = -(-each * task.clients // pacing.max_connections)
    return dataclasses.replace(task, **changes)
