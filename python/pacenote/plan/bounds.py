"""When a task ends: after a time, after a number of iterations, or with its source."""

from __future__ import annotations

from pacenote.model.problems import Problems
from pacenote.model.track import ANY_TASK, Parallel, Task
from pacenote.operations.base import CompiledOperation
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, TaskBound, TimePeriod


def plan_bound(task: Task, compiled: CompiledOperation) -> TaskBound:
    """Returns the bound of a task: its periods, otherwise its iterations, otherwise its source, otherwise one
    operation.

    A task with warm-up iterations and without `iterations` then continues like a task without either. The
    warm-up period precedes `time-period` and is not part of it. Without `time-period`, a task lasts until its
    source is exhausted or another task completes the step.
    """
    if task.is_time_based:
        return TimePeriod(warmup_s=task.warmup_time_period or 0.0, measured_s=task.time_period)
    if task.is_iteration_based:
        measured = task.iterations
        if measured is None:
            measured = UNTIL_EXHAUSTED if compiled.until_exhausted else 1
        return Iterations(warmup=task.warmup_iterations or 0, measured=measured)
    if compiled.until_exhausted:
        return TimePeriod(warmup_s=0.0, measured_s=None)
    return Iterations(warmup=0, measured=1)


def ends_on_its_own(bound: TaskBound, compiled: CompiledOperation) -> bool:
    """Returns whether a task ends even if no other task completes its step."""
    return compiled.until_exhausted or isinstance(bound, Iterations) or bound.measured_s is not None


def check_completion(element: Task | Parallel, endless: tuple[Task, ...], problems: Problems) -> None:
    """Records a problem for each task in `endless`, unless another task of the element completes the step.

    `endless` are the tasks of the element that only end when another task completes the step.
    """
    tasks = element.tasks if isinstance(element, Parallel) else (element,)
    completed_by = element.completed_by if isinstance(element, Parallel) else None
    if any(completed_by in (ANY_TASK, task.name) and task not in endless for task in tasks):
        return
    for task in endless:
        text = "never ends: it has a warmup-time-period, no time-period, and an endless source; "
        problems.add(task.key_path, text + "add a time-period, or let a parallel task complete it")
