"""How long a plan takes according to its schedules, if the engine keeps up with them.

A task without time period and target rate lasts as long as the engine needs, which is not known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from pacenote.model.work import BulkWork, CallSequence, IngestShare, Sleep, TaskWork, Wait
from pacenote.plan.client_documents import bulks_of, client_documents
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    CompletedByTask,
    Deterministic,
    Iterations,
    Plan,
    PlannedTask,
    Poisson,
    Step,
    Uniform,
)
from pacenote.units import format_count, format_seconds


class ExpectedDuration(Struct, frozen=True):
    """How long a part of a plan takes."""

    seconds: float = 0.0
    """Seconds of the tasks whose duration is known."""

    open_tasks: int = 0
    """Number of tasks that last as long as the engine needs."""

    def __add__(self, other: ExpectedDuration) -> ExpectedDuration:
        """Returns the duration of both parts, one after the other."""
        return ExpectedDuration(self.seconds + other.seconds, self.open_tasks + other.open_tasks)

    def __str__(self) -> str:
        """Returns the duration in words."""
        known = format_seconds(round(self.seconds))
        if not self.open_tasks:
            return f"about {known}"
        as_needed = f"as long as the engine needs for {format_count(self.open_tasks, 'task')}"
        return f"at least {known}, plus {as_needed}" if round(self.seconds) else as_needed


def expected_duration(plan: Plan, steps: Iterable[Step] | None = None) -> ExpectedDuration:
    """Returns how long a plan takes, or only these of its steps."""
    durations = (step_duration(plan, step) for step in (plan.steps if steps is None else steps))
    return sum(durations, ExpectedDuration())


def step_duration(plan: Plan, step: Step) -> ExpectedDuration:
    """Returns how long a step of a plan takes."""
    rows = [[allocation.task for allocation in row.allocations] for row in step.client_allocations]
    seconds = {task: task_seconds(plan.tasks[task]) for row in rows for task in row}
    if step.completed_by is not None:
        ends = _ends(rows, seconds)
        named = step.completed_by.task if isinstance(step.completed_by, CompletedByTask) else None
        completing = list(ends.values()) if named is None else [ends[named]]
        known = [end for end in completing if end is not None]
        return (
            ExpectedDuration(min(known)) if len(known) == len(completing) else ExpectedDuration(open_tasks=1)
        )
    # A client runs its tasks one after another, and the step ends with its last client.
    return ExpectedDuration(
        max((sum(seconds[task] or 0.0 for task in row) for row in rows), default=0.0),
        sum(end is None for end in seconds.values()),
    )


def _ends(rows: Sequence[Sequence[int]], seconds: Mapping[int, float | None]) -> dict[int, float | None]:
    """Returns, by task, when its last client has done it, in seconds after the step began: a client runs its
    tasks one after another. None if that depends on the engine.
    """
    ends: dict[int, float | None] = {}
    for row in rows:
        end: float | None = 0.0
        for task in row:
            duration_s = seconds[task]
            end = None if end is None or duration_s is None else end + duration_s
            before = ends.get(task, 0.0)
            ends[task] = None if end is None or before is None else max(before, end)
    return ends


def task_seconds(task: PlannedTask) -> float | None:
    """Returns how long a task takes, or None if that depends on the engine."""
    if not isinstance(task.bound, Iterations):
        if task.bound.measured_s is not None:
            longest_s, data_s = task.bound.warmup_s + task.bound.measured_s, _until_exhausted_s(task)
            return longest_s if data_s is None else min(longest_s, data_s)
        return _until_exhausted_s(task)
    if task.bound.measured == UNTIL_EXHAUSTED:
        return _until_exhausted_s(task)
    operations = task.bound.warmup + task.bound.measured
    if isinstance(task.pacing, Deterministic | Poisson | Uniform):
        return _intervals(task, operations) * task.pacing.interval_s
    pause_s = pause_seconds(task.work)
    return None if pause_s is None else operations * pause_s


def documents_sent(work: BulkWork) -> int | None:
    """Returns how many documents the clients of a bulk task send, once, or None if that is not known."""
    if not all(file.documents for file in work.files):
        return None
    available = sum(file.documents for file in work.files)
    if isinstance(work.limit, IngestShare):
        return round(available * work.limit.share)
    return min(available, work.limit.documents)


def _until_exhausted_s(task: PlannedTask) -> float | None:
    if not isinstance(task.work, BulkWork) or task.work.looped:
        return None
    if not isinstance(task.pacing, Deterministic | Poisson | Uniform):
        return None
    return None if documents_sent(task.work) is None else _intervals(task, None) * task.pacing.interval_s


def _intervals(task: PlannedTask, iterations: int | None) -> int:
    """Returns after how many intervals of its schedule a task ends: its last client with its iterations, or
    with its documents if they end before. Without `iterations`, only its documents end it.
    """
    work, clients = task.work, task.clients
    if not isinstance(work, BulkWork) or work.looped or documents_sent(work) is None:
        return (iterations or 0) * clients
    bulks = [bulks_of(client_documents(work, client, clients), work.bulk_size) for client in range(clients)]
    if task.open_loop:
        return sum(bulks) if iterations is None else min(sum(bulks), iterations * clients)
    # Each client has the schedule of its share of the rate.
    most = max(bulks) if iterations is None else min(max(bulks), iterations)
    return most * clients


def pause_seconds(work: TaskWork) -> float | None:
    """Returns the seconds of an operation that only waits, or None for any other operation."""
    if isinstance(work, Sleep):
        return work.seconds
    if isinstance(work, CallSequence) and all(isinstance(call, Wait) for call in work.calls):
        return sum(call.seconds for call in work.calls if isinstance(call, Wait))
    return None
