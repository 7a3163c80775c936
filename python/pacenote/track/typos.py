"""Keys of tasks that nothing reads and that look like a slip of the pen.

A task may hold keys of its own, which schedulers of plug-ins read. So an unknown key is no error; but who
writes `client` gets a single client, and is told.
"""

from __future__ import annotations

import difflib

from pacenote.model.messages import quoted
from pacenote.model.track import BUILT_IN_SCHEDULES, Task, Track

_READ = (
    *("name", "operation", "clients", "schedule", "tags", "meta", "target-throughput", "target-interval"),
    *("warmup-iterations", "iterations", "warmup-time-period", "time-period", "ramp-up-time-period"),
    *("ignore-response-error-level", "run-on-serverless"),
)
_ALIKE = 0.85
"""How alike two keys must be, by `difflib`: one letter too many, too few or swapped, or `_` for `-`."""


def misspelled_keys(track: Track) -> tuple[str, ...]:
    """One warning for each key of a task that nothing reads and that is nearly one that is read.

    Tasks whose scheduler a plug-in brings are left out: the key may be the plug-in's.
    """
    tasks = [(challenge.name, task) for challenge in track.challenges for task in challenge.tasks()]
    return tuple(
        f"track {quoted(track.name)}: task {quoted(task.name)} of challenge {quoted(challenge)} has a key "
        f"{quoted(key)}, which nothing reads: is it {quoted(meant)}?"
        for challenge, task in tasks
        if task.schedule in BUILT_IN_SCHEDULES
        for key, meant in _slips(task)
    )


def _slips(task: Task) -> list[tuple[str, str]]:
    unread = [key for key in task.params if key not in _READ]
    near = [(key, difflib.get_close_matches(key, _READ, n=1, cutoff=_ALIKE)) for key in unread]
    return [(key, matches[0]) for key, matches in near if matches]
