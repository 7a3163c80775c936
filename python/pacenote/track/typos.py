"""Finds unused keys of tasks that look like typing errors, and iterations that a period replaces.

Schedulers of plug-ins may read additional keys, so an unknown key is not an error. But a task with `client`
instead of `clients` runs a single client, so a likely misspelling causes a warning.
"""

from __future__ import annotations

import difflib

from pacenote.model.messages import quoted
from pacenote.model.track import BUILT_IN_SCHEDULES, Task, Track

_KNOWN_KEYS = (
    *("name", "operation", "clients", "schedule", "tags", "meta", "target-throughput", "target-interval"),
    *("warmup-iterations", "iterations", "warmup-time-period", "time-period", "ramp-up-time-period"),
    *("ignore-response-error-level", "run-on-serverless"),
)
_MIN_SIMILARITY = 0.85
"""Minimum similarity of two keys according to `difflib`: one letter added, removed or swapped, or `_` for
`-`.
"""


def misspelled_keys(track: Track) -> tuple[str, ...]:
    """Returns a warning for each unused key of a task that is similar to a known key.

    Tasks with a scheduler of a plug-in are skipped: the plug-in may read the key.
    """
    tasks = [(challenge.name, task) for challenge in track.challenges for task in challenge.tasks()]
    return tuple(
        f"track {quoted(track.name)}: task {quoted(task.name)} of challenge {quoted(challenge)} has a key "
        f"{quoted(key)}, which is not used: is it {quoted(meant)}?"
        for challenge, task in tasks
        if task.schedule in BUILT_IN_SCHEDULES
        for key, meant in _misspellings(task)
    )


def replaced_iterations(track: Track) -> tuple[str, ...]:
    """Returns a warning for each task with iterations and a period: it runs for the period, as with Rally."""
    return tuple(
        f"track {quoted(track.name)}: task {quoted(task.name)} of challenge {quoted(challenge.name)} has "
        "iterations, which are not used, because it has a time-period: leave out one of them"
        for challenge in track.challenges
        for task in challenge.tasks()
        if task.iterations is not None and task.time_period is not None
    )


def _misspellings(task: Task) -> list[tuple[str, str]]:
    unread = [key for key in task.params if key not in _KNOWN_KEYS]
    near = [(key, difflib.get_close_matches(key, _KNOWN_KEYS, n=1, cutoff=_MIN_SIMILARITY)) for key in unread]
    return [(key, matches[0]) for key, matches in near if matches]
