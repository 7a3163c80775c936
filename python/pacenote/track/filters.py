"""`--include-tasks` and `--exclude-tasks`: which tasks of a track stay on the schedule.

A filter is the name of a task, `type:` with an operation type, or `tag:` with a tag. A parallel element stays
as long as one of its tasks does; what stays of it is filtered too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pacenote.errors import UsageError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.track import ANY_TASK, Challenge, Parallel, Task, Track

FilterKind = Literal["name", "type", "tag"]

_WHAT = {"name": "task", "type": "operation type", "tag": "tag"}


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """One filter: what of a task it looks at, and what it looks for."""

    kind: FilterKind
    value: str

    def matches(self, task: Task) -> bool:
        """Whether the task is meant."""
        return self.value in _values(self.kind, task)


def parse_filter(text: str) -> TaskFilter:
    """The filter that a text stands for. What begins neither with `type:` nor `tag:` is the name of a task,
    which may hold a colon.
    """
    kind, colon, value = text.partition(":")
    if colon and kind == "type":
        return TaskFilter("type", value)
    if colon and kind == "tag":
        return TaskFilter("tag", value)
    return TaskFilter("name", text)


def filter_tasks(track: Track, include: Iterable[str], exclude: Iterable[str]) -> Track:
    """The track with only the tasks that `include` names, or without those that `exclude` names.

    At most one of the two is used; nothing in both changes nothing. Raises `UsageError` for filters that no
    task of the track matches, all of them at once.
    """
    wanted = [parse_filter(text) for text in include]
    unwanted = [parse_filter(text) for text in exclude]
    if not wanted and not unwanted:
        return track
    _check_known(track, wanted or unwanted, "--include-tasks" if wanted else "--exclude-tasks")

    def stays(task: Task) -> bool:
        if wanted:
            return any(one.matches(task) for one in wanted)
        return not any(one.matches(task) for one in unwanted)

    return keep_tasks(track, lambda _, task: stays(task))


def keep_tasks(track: Track, stays: Callable[[Challenge, Task], bool]) -> Track:
    """The track with only those tasks for which `stays` says so.

    A parallel element without tasks goes too; one whose completing task goes ends with the last of the
    others.
    """
    challenges = tuple(_kept(challenge, stays) for challenge in track.challenges)
    return dataclasses.replace(track, challenges=challenges)


def _kept(challenge: Challenge, stays: Callable[[Challenge, Task], bool]) -> Challenge:
    schedule: list[Task | Parallel] = []
    for element in challenge.schedule:
        if isinstance(element, Task):
            schedule += [element] if stays(challenge, element) else []
            continue
        tasks = tuple(task for task in element.tasks if stays(challenge, task))
        if tasks:
            names = {task.name for task in tasks}
            completed = element.completed_by in names | {ANY_TASK}
            completed_by = element.completed_by if completed else None
            schedule.append(dataclasses.replace(element, tasks=tasks, completed_by=completed_by))
    return dataclasses.replace(challenge, schedule=tuple(schedule))


def _check_known(track: Track, filters: list[TaskFilter], option: str) -> None:
    tasks = [task for challenge in track.challenges for task in challenge.tasks()]
    unknown = [one for one in filters if not any(one.matches(task) for task in tasks)]
    if not unknown:
        return
    told = []
    for one in unknown:
        known = {value for task in tasks for value in _values(one.kind, task)}
        told.append(f"no {_WHAT[one.kind]} {quoted(one.value)}{did_you_mean(one.value, known)}")
    raise UsageError(
        f"{option}: track {quoted(track.name)} has {', and '.join(told)}",
        hint="`pacenote info` lists the tasks; type: and tag: in front look for operation types and tags",
    )


def _values(kind: FilterKind, task: Task) -> tuple[str, ...]:
    if kind == "name":
        return (task.name,)
    return (task.operation.type,) if kind == "type" else task.tags
