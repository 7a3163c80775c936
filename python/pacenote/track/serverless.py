"""Removes the tasks of a track that serverless clusters do not allow."""

from __future__ import annotations

from pacenote.model.messages import quoted_list
from pacenote.model.track import Challenge, Task, Track
from pacenote.operations.base import ServerlessStatus
from pacenote.operations.registry import find_type
from pacenote.track.filters import keep_tasks


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
