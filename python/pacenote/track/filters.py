"""Selects the tasks of a track for `--include-tasks` and `--exclude-tasks`.

A filter is the name of a task, `type:` with an operation type, or `tag:` with a tag. A parallel element
keeps only the tasks that are selected, and is removed if none is selected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.track import ANY_TASK, Challenge, Parallel, Task, Track

FilterKind = Literal["name", "type", "tag"]

_KIND_NAMES = {"name": "task", "type": "operation type", "tag": "tag"}


class TaskFilter(Struct, frozen=True):
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

    At most one of the two is used.
    """
    included = [parse_filter(text) for text in include]
    excluded = [parse_filter(text) for text in exclude]
    if not included and not excluded:
        return track

    def keep(_: Challenge, task: Task) -> bool:
        if included:
            return any(task_filter.matches(task) for task_filter in included)
        return not any(task_filter.matches(task) for task_filter in excluded)

    return keep_tasks(track, keep)


def unmatched_filters(
    track: Track, include: Iterable[str], exclude: Iterable[str], info_command: str = "pacenote info"
) -> tuple[str, ...]:
    """Returns a warning about the filters that match no task of the track, with similar names; none if all
    match. Raises it as `UsageError` if `include` leaves no task; `info_command` shows the track.
    """
    included = [parse_filter(text) for text in include]
    filters = included or [parse_filter(text) for text in exclude]
    tasks = [task for challenge in track.challenges for task in challenge.tasks()]
    unmatched = [task_filter for task_filter in filters if not any(map(task_filter.matches, tasks))]
    if not unmatched:
        return ()
    missing = []
    for task_filter in unmatched:
        known = {value for task in tasks for value in _values(task_filter.kind, task)}
        missing.append(
            f"no {_KIND_NAMES[task_filter.kind]} {quoted(task_filter.value)}"
            f"{did_you_mean(task_filter.value, known)}"
        )
    option = "--include-tasks" if included else "--exclude-tasks"
    text = f"{option}: track {quoted(track.name)} has {', and '.join(missing)}"
    if len(unmatched) == len(included):
        raise UsageError(
            text,
            hint=f"`{info_command}` lists the tasks; type: and tag: match operation types and tags",
        )
    return (text,)


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
    return replace(challenge, schedule=tuple(schedule))


def _values(kind: FilterKind, task: Task) -> tuple[str, ...]:
    if kind == "name":
        return (task.name,)
    return (task.operation.type,) if kind == "type" else task.tags
