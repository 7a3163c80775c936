"""Selects the tasks of a track for `--include-tasks` and `--exclude-tasks`.

A filter is the name of a task, `type:` with an operation type, or `tag:` with a tag. A parallel element
keeps only the tasks that are selected, and is removed if none is selected.
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

_KIND_NAMES = {"name": "task", "type": "operation type", "tag": "tag"}


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """A filter that selects tasks."""

    kind: FilterKind
    """The value that the filter compares: the name of a task, the type of its operation, or its tags."""

    value: str
    """The value that matches."""

    def matches(self, task: Task) -> bool:
        """Returns whether the filter matches a task."""
        return self.value in _values(self.kind, task)


def parse_filter(text: str) -> TaskFilter:
    """Reads a filter. Text that begins neither with `type:` nor with `tag:` is the name of a task."""
    kind, colon, value = text.partition(":")
    if colon and kind == "type":
        return TaskFilter("type", value)
    if colon and kind == "tag":
        return TaskFilter("tag", value)
    return TaskFilter("name", text)


def filter_tasks(track: Track, include: Iterable[str], exclude: Iterable[str]) -> Track:
    """Returns the track with only the tasks that `include` matches, or without those that `exclude` matches.

    At most one of the two is used. Raises one `UsageError` for all filters that match no task of the track.
    """
    included = [parse_filter(text) for text in include]
    excluded = [parse_filter(text) for text in exclude]
    if not included and not excluded:
        return track
    _check_known(track, included or excluded, "--include-tasks" if included else "--exclude-tasks")

    def keep(_: Challenge, task: Task) -> bool:
        if included:
            return any(one.matches(task) for one in included)
        return not any(one.matches(task) for one in excluded)

    return keep_tasks(track, keep)


def keep_tasks(track: Track, keep: Callable[[Challenge, Task], bool]) -> Track:
    """Returns the track with only those tasks for which `keep` returns true.

    A parallel element without tasks is removed; an element whose completing task is removed ends with the
    last of its remaining tasks.
    """
    challenges = tuple(_filter_challenge(challenge, keep) for challenge in track.challenges)
    return dataclasses.replace(track, challenges=challenges)


def _filter_challenge(challenge: Challenge, keep: Callable[[Challenge, Task], bool]) -> Challenge:
    schedule: list[Task | Parallel] = []
    for element in challenge.schedule:
        if isinstance(element, Task):
            schedule += [element] if keep(challenge, element) else []
            continue
        tasks = tuple(task for task in element.tasks if keep(challenge, task))
        if tasks:
            names = {task.name for task in tasks}
            stays_completed = element.completed_by in names | {ANY_TASK}
            completed_by = element.completed_by if stays_completed else None
            schedule.append(dataclasses.replace(element, tasks=tasks, completed_by=completed_by))
    return dataclasses.replace(challenge, schedule=tuple(schedule))


def _check_known(track: Track, filters: list[TaskFilter], option: str) -> None:
    tasks = [task for challenge in track.challenges for task in challenge.tasks()]
    unknown = [one for one in filters if not any(one.matches(task) for task in tasks)]
    if not unknown:
        return
    missing = []
    for one in unknown:
        known = {value for task in tasks for value in _values(one.kind, task)}
        missing.append(f"no {_KIND_NAMES[one.kind]} {quoted(one.value)}{did_you_mean(one.value, known)}")
    raise UsageError(
        f"{option}: track {quoted(track.name)} has {', and '.join(missing)}",
        hint="`pacenote info` lists the tasks; the prefixes type: and tag: match operation types and tags",
    )


def _values(kind: FilterKind, task: Task) -> tuple[str, ...]:
    if kind == "name":
        return (task.name,)
    return (task.operation.type,) if kind == "type" else task.tags
