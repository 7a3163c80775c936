"""Tasks whose number of operations is not that of the track, because of `--max-connections`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pacenote.model.messages import list_with_rest, quoted
from pacenote.model.track import Task
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, Plan

_NAMED = 3
"""Most tasks that a note names."""


def operation_count_notes(unpaced: Iterable[Task], plan: Plan) -> tuple[str, ...]:
    """Returns a note about the tasks of a plan whose number of operations is not that of `unpaced`, the tasks
    of the track; empty if all have the same. The data of a task may end before its iterations do.
    """
    counts = sorted(_changed_counts(unpaced, plan), key=lambda count: min(count[1:]) / max(count[1:]))
    changes = [
        f"{quoted(name)} ({in_track:,} in the track, at most {planned:,} in this race)"
        for name, in_track, planned in counts
    ]
    if not changes:
        return ()
    reason = "each of the clients of --max-connections has whole iterations"
    return (f"{reason}, which changes the number of operations: {list_with_rest(changes, _NAMED)}",)


def _changed_counts(unpaced: Iterable[Task], plan: Plan) -> Iterator[tuple[str, int, int]]:
    """Yields each task with its number of operations in the track and in the plan."""
    in_track = {task.name: task for task in unpaced}
    for planned in plan.tasks:
        task, bound = in_track.get(planned.name), planned.bound
        if task is None or not isinstance(bound, Iterations) or bound.measured == UNTIL_EXHAUSTED:
            continue
        # Without a number of its own, a task whose operation does not determine its end has one iteration.
        measured = bound.measured if task.iterations is None else task.iterations
        before = task.clients * ((task.warmup_iterations or 0) + measured)
        after = planned.clients * (bound.warmup + bound.measured)
        if before != after:
            yield task.name, before, after
