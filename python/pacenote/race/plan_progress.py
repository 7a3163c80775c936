"""Adds to the progress of the driver what only the plan states: target rates, and the time that is left."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from pacenote.model.race_listener import DriveListener
from pacenote.model.result import RaceProgress, TaskProgress, TaskResult, TimeLeft
from pacenote.model.work import BulkWork, CallSequence, Composite, PagedRequest, Request, TaskWork
from pacenote.plan.document import Deterministic, Iterations, Plan, PlannedTask, Poisson, Uniform
from pacenote.plan.duration import ExpectedDuration, step_duration

_MIN_LEFT_S = 1.0
"""Time left below which an incomplete figure says nothing."""


class PlanProgress:
    """Completes progress and passes it on to a listener, with all other events."""

    def __init__(self, listener: DriveListener, plan: Plan) -> None:
        self._listener = listener
        self._tasks = {task.name: task for task in plan.tasks}
        # Expected durations of the steps that follow each step: computed once, because plans may be large.
        steps = [step_duration(plan, step) for step in reversed(plan.steps)]
        self._later = tuple(reversed([ExpectedDuration(), *accumulate(steps)]))

    def progress(self, progress: RaceProgress) -> None:
        """Reports the running tasks."""
        tasks = tuple(_completed(task, self._tasks[task.task]) for task in progress.tasks)
        self._listener.progress(replace(progress, tasks=tasks, left=self._left(progress)))

    def task_finished(self, result: TaskResult) -> None:
        """Reports a task that has ended."""
        self._listener.task_finished(result)

    def warning(self, text: str) -> None:
        """Reports a problem."""
        self._listener.warning(text)

    def _left(self, progress: RaceProgress) -> TimeLeft | None:
        later = self._later[progress.step]
        running = [task.eta_s for task in progress.tasks]
        seconds = later.seconds + max((eta_s or 0.0 for eta_s in running), default=0.0)
        complete = not later.open_tasks and bool(running) and None not in running
        return TimeLeft(seconds, complete) if complete or seconds >= _MIN_LEFT_S else None


def _completed(progress: TaskProgress, task: PlannedTask) -> TaskProgress:
    bound = task.bound
    one_off = isinstance(bound, Iterations) and bound.warmup + bound.measured == 1
    return replace(progress, target=_target(task), one_off=one_off)


def _target(task: PlannedTask) -> float | None:
    """Returns the target rate in the task's unit, or None if there is none or its work is not known."""
    work = _work_per_operation(task.work)
    if work is None or not isinstance(task.pacing, Deterministic | Poisson | Uniform):
        return None
    return work / task.pacing.interval_s


def _work_per_operation(work: TaskWork) -> int | None:
    if isinstance(work, BulkWork):
        return work.bulk_size
    if not isinstance(work, CallSequence) or any(isinstance(call, PagedRequest) for call in work.calls):
        return None
    if any(isinstance(call, Composite) for call in work.calls):
        return 1
    return sum(call.weight for call in work.calls if isinstance(call, Request)) or 1
