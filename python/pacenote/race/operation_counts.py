"""Tasks whose operations are not those of the track in number or size, because of `--max-connections`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pacenote.model.messages import list_with_rest, quoted
from pacenote.model.track import Task
from pacenote.model.work import BulkWork
from pacenote.plan.client_documents import changed_bulk_size
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, Plan

_NAMED = 3
"""Most tasks that a note names."""


def operation_count_notes(unpaced: Iterable[Task], plan: Plan) -> tuple[str, ...]:
    """Returns notes about the tasks of a plan whose number of operations, or of documents in a bulk, is not
    that of `unpaced`, the tasks of the track; empty if all have the same. The data of a task may end before
    its iterations do.
    """
    counts = sorted(_changed_counts(unpaced, plan), key=lambda count: min(count[1:]) / max(count[1:]))
    changes = [
        f"{quoted(name)} ({in_track:,} in the track, at most {planned:,} in this race)"
        for name, in_track, planned in counts
    ]
    notes = []
    if changes:
        reason = "each of the clients of --max-connections has whole iterations"
        notes.append(f"{reason}, which changes the number of operations: {list_with_rest(changes, _NAMED)}")
    if sizes := list(_changed_sizes(unpaced, plan)):
        reason = "each of the clients of --max-connections has its own range of every file"
        notes.append(f"{reason}: {list_with_rest(sizes, _NAMED)}")
    return tuple(notes)


def _changed_sizes(unpaced: Iterable[Task], plan: Plan) -> Iterator[str]:
    """Yields each task whose bulks have another size than in the track, with both."""
    in_track = {task.name: task for task in unpaced}
    for planned in plan.tasks:
        task, work = in_track.get(planned.name), planned.work
        if task is None or not isinstance(work, BulkWork):
            continue
        if change := changed_bulk_size(work, planned.clients, task.clients):
            yield f"{quoted(planned.name)} sends {change}"


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
