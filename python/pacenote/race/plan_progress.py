"""Adds to the progress of the driver what only the plan states: target rates, and the time that is left.

The driver derives the end of a task from its pace so far, which is shown once the pace has settled, or if the
task is behind its schedule.
"""

from __future__ import annotations

from itertools import accumulate, islice

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.race_listener import DriveListener
from pacenote.model.race_progress import RaceProgress, TaskProgress, TasksToCome, TimeLeft
from pacenote.model.result import TaskResult
from pacenote.model.work import BulkWork, CallSequence, Composite, PagedRequest, Request
from pacenote.plan.client_documents import documents_per_bulk
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    Deterministic,
    Iterations,
    Plan,
    PlannedTask,
    Poisson,
    PythonScheduler,
    Step,
    Uniform,
)
from pacenote.plan.duration import ExpectedDuration, pause_seconds, step_duration, task_seconds
from pacenote.verdict.task_rules import SILENT_S

_MIN_LEFT_S = 1.0
"""Time left below which an incomplete figure says nothing."""

_BEHIND_S = 2.0
"""Seconds by which a task must be behind its schedule for its pace to count instead."""

_SETTLED_S = 10.0
"""Seconds of a task after which its pace tells when it ends."""

_SETTLED_SHARE = 0.05
"""Share of a task that must be done for this."""


_NAMED = 8
"""Number of tasks to come that are named."""


class _LastEnd(Struct, frozen=True):
    """When operations of a task last ended."""

    operations: int
    """Number of operations that had ended."""

    seen_s: float
    """When progress first had this number, in seconds since the race began."""


class PlanProgress:
    """Completes progress and passes it on to a listener, with all other events."""

    def __init__(self, listener: DriveListener, plan: Plan) -> None:
        self._listener = listener
        self._tasks = {task.name: task for task in plan.tasks}
        self._targets = {task.name: _target(task) for task in plan.tasks}
        self._began_s: dict[str, float] = {}
        self._last_end: dict[str, _LastEnd] = {}
        # The tasks of each step that have not begun, in the order of the plan.
        self._to_come = [
            dict.fromkeys(plan.tasks[number].name for number in sorted(_task_numbers(step)))
            for step in plan.steps
        ]
        # Expected durations of the steps that follow each step: computed once, because plans may be large.
        steps = [step_duration(plan, step) for step in reversed(plan.steps)]
        self._later = tuple(reversed([ExpectedDuration(), *accumulate(steps)]))

    def progress(self, progress: RaceProgress) -> None:
        """Reports the running tasks."""
        tasks = tuple(self._completed(task, progress.elapsed_s) for task in progress.tasks)
        completed = replace(progress, tasks=tasks)
        self._listener.progress(
            replace(completed, left=self._left(completed), to_come=self._tasks_to_come(progress))
        )

    def task_finished(self, result: TaskResult) -> None:
        """Reports a task that has ended."""
        self._begun(result.task)
        self._listener.task_finished(result)

    def warning(self, text: str) -> None:
        """Reports a problem."""
        self._listener.warning(text)

    def _completed(self, progress: TaskProgress, elapsed_s: float) -> TaskProgress:
        task = self._tasks[progress.task]
        ran_s = elapsed_s - self._began_s.setdefault(task.name, elapsed_s)
        one_off = isinstance(task.bound, Iterations) and task.bound.warmup + task.bound.measured == 1
        silent_s = None if one_off else self._silent_s(progress, task, elapsed_s)
        eta_s = _eta_s(progress, task, ran_s) if silent_s is None or _is_timed(task) else None
        return replace(
            progress, target=self._targets[task.name], one_off=one_off, eta_s=eta_s, silent_s=silent_s
        )

    def _silent_s(self, progress: TaskProgress, task: PlannedTask, elapsed_s: float) -> float | None:
        """Returns the seconds since an operation ended, if they are more than the schedule explains."""
        now = _LastEnd(progress.operations, elapsed_s)
        last = self._last_end.setdefault(task.name, now)
        if progress.operations != last.operations:
            self._last_end[task.name] = now
            return None
        if isinstance(task.pacing, PythonScheduler) or pause_seconds(task.work) is not None:
            return None
        expected_s = SILENT_S + 2 * _interval_s(task)
        silent_s = elapsed_s - last.seen_s
        return silent_s if silent_s >= expected_s else None

    def _begun(self, name: str) -> None:
        for tasks in self._to_come:
            tasks.pop(name, None)

    def _tasks_to_come(self, progress: RaceProgress) -> TasksToCome:
        for task in progress.tasks:
            self._begun(task.task)
        # The tasks of steps that are over were skipped.
        later = self._to_come[max(progress.step - 1, 0) :]
        first = islice((name for tasks in later for name in tasks), _NAMED)
        return TasksToCome(sum(map(len, later)), tuple(first))

    def _left(self, progress: RaceProgress) -> TimeLeft | None:
        later = self._later[progress.step]
        running = [task.eta_s for task in progress.tasks]
        seconds = later.seconds + max((eta_s or 0.0 for eta_s in running), default=0.0)
        complete = not later.open_tasks and bool(running) and None not in running
        return TimeLeft(seconds, complete) if complete or seconds >= _MIN_LEFT_S else None


def _task_numbers(step: Step) -> set[int]:
    """Returns the positions in the plan of the tasks that the clients of a step run."""
    return {allocation.task for row in step.client_allocations for allocation in row.allocations}


def _eta_s(progress: TaskProgress, task: PlannedTask, ran_s: float) -> float | None:
    """Returns the seconds until the end of a task: those of its time period, those at its pace if that has
    settled or is slower than its schedule, those of its schedule or pause, or None.
    """
    is_settled = ran_s >= _SETTLED_S and (progress.done_share or 0.0) >= _SETTLED_SHARE
    if progress.eta_s is not None and (_is_timed(task) or is_settled):
        return progress.eta_s
    planned_s = task_seconds(task)
    if planned_s is None:
        return None
    if _is_behind(progress, task, ran_s, planned_s):
        return progress.eta_s
    return max(0.0, planned_s - ran_s)


def _is_timed(task: PlannedTask) -> bool:
    """Returns whether a task ends after a time period."""
    return not isinstance(task.bound, Iterations) and task.bound.measured_s is not None


def _is_behind(progress: TaskProgress, task: PlannedTask, ran_s: float, planned_s: float) -> bool:
    """Returns whether a task has done clearly less than its schedule asks for."""
    if progress.done_share is None or not isinstance(task.pacing, Deterministic | Poisson | Uniform):
        return False
    done_s = progress.done_share * planned_s
    return done_s < ran_s - task.ramp_up_s - _BEHIND_S - 2 * _interval_s(task)


def _interval_s(task: PlannedTask) -> float:
    """Returns the seconds between two operations of a task, or 0 if it has no schedule."""
    return task.pacing.interval_s if isinstance(task.pacing, Deterministic | Poisson | Uniform) else 0.0


def _target(task: PlannedTask) -> float | None:
    """Returns the target rate in the task's unit, or None if there is none or its work is not known."""
    if not isinstance(task.pacing, Deterministic | Poisson | Uniform):
        return None
    work = _work_per_operation(task)
    return None if work is None else work / task.pacing.interval_s


def _documents_per_bulk(task: PlannedTask, work: BulkWork) -> float:
    """Returns the mean number of documents of the bulks of a task whose rate counts bulks."""
    bound, iterations = task.bound, None
    if isinstance(bound, Iterations) and bound.measured != UNTIL_EXHAUSTED:
        iterations = bound.warmup + bound.measured
    return documents_per_bulk(work, task.clients, iterations)


def _work_per_operation(task: PlannedTask) -> float | None:
    """Returns the work of an operation in the task's unit, or None if it is not known."""
    if task.documents_per_operation is not None:
        return task.documents_per_operation
    work = task.work
    if isinstance(work, BulkWork):
        return _documents_per_bulk(task, work)
    if not isinstance(work, CallSequence) or any(isinstance(call, PagedRequest) for call in work.calls):
        return None
    if any(isinstance(call, Composite) for call in work.calls):
        return 1
    return sum(call.weight for call in work.calls if isinstance(call, Request)) or 1
