"""What of a track can run on a serverless cluster, where some operations are not allowed."""

from __future__ import annotations

from typing import Final

from pacenote.model.messages import quoted_list
from pacenote.model.track import Challenge, Task, Track
from pacenote.operations.base import ServerlessStatus
from pacenote.operations.registry import find_type
from pacenote.track.filters import keep_tasks

SERVERLESS: Final = "serverless"
"""The build flavor of such a cluster."""


def for_serverless(track: Track, *, operator: bool) -> Track:
    """The track without tasks that a serverless cluster refuses, those in parallel elements too.

    `run-on-serverless` of the task, else of its operation, decides; else the type of the operation. With
    `operator` what only the operator of the cluster may do stays. Types that a plugin brings stay.
    """
    return keep_tasks(track, lambda _, task: _allowed(task, operator=operator))


def describe_left_out(before: Challenge, after: Challenge) -> str:
    """What to tell about the tasks of a challenge that were left out, "" if none was."""
    kept = {task.name for task in after.tasks()}
    gone = [task.name for task in before.tasks() if task.name not in kept]
    return f"left out, as they cannot run on serverless: {quoted_list(gone)}" if gone else ""


def _allowed(task: Task, *, operator: bool) -> bool:
    if task.run_on_serverless is not None:
        return task.run_on_serverless
    kind = find_type(task.operation.type)
    status = kind.serverless if kind is not None else ServerlessStatus.PUBLIC
    return status is ServerlessStatus.PUBLIC or (operator and status is ServerlessStatus.INTERNAL)
