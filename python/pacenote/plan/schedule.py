"""When operations of a task are due and when the task ends."""

from __future__ import annotations

from collections.abc import Collection

from pacenote.model.names import near, quoted
from pacenote.model.reader import LARGEST_NUMBER, Problems
from pacenote.model.track import ANY_TASK, Parallel, Task
from pacenote.operations.base import Compiled
from pacenote.plan.choose import weighs_itself
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    Bound,
    Deterministic,
    Iterations,
    Pace,
    Poisson,
    Scheduled,
    Time,
    Uniform,
    Unpaced,
)
from pacenote.units import OPS, Rate

_PACES = {pace.kind: pace for pace in (Deterministic, Poisson, Uniform)}
"""What the values of `schedule` are that need no scheduler of a plug-in."""


def pace_of(task: Task, compiled: Compiled, schedulers: Collection[str], problems: Problems) -> Pace:
    """How operations of a task are spaced. The plan counts in operations, a track may count in documents.

    `schedulers` are those that plug-ins registered. Where only Python knows how much an operation does, it
    paces them, too.
    """
    if task.schedule in schedulers or (task.schedule in _PACES and weighs_itself(task, compiled)):
        return Scheduled()
    paced = _PACES.get(task.schedule)
    if paced is None:
        known = (*_PACES, *schedulers)
        text = f"is {quoted(task.schedule)}, must be {', '.join(_PACES)} or a scheduler of a plug-in"
        text += near(task.schedule, known)
        problems.add((*task.place, "schedule"), text)
        return Unpaced()
    interval_s = task.target_interval
    if task.target_throughput is not None:
        interval_s = _interval_s(task, task.target_throughput, compiled, problems)
    if not interval_s:
        return Unpaced()
    if interval_s > LARGEST_NUMBER:
        text = "is too low for this operation: the next one would be due in more than 100 years"
        problems.add((*task.place, "target-throughput"), text)
        return Unpaced()
    return paced(interval_s)


def is_open(pace: Pace, task: Task, problems: Problems) -> bool:
    """Whether a task runs open loop, when that is asked for: if it has a target rate."""
    if isinstance(pace, Scheduled):
        text = "cannot run open loop: Python says when each of its clients sends; race without --open-loop, "
        problems.add((*task.place, "schedule"), text + "or without the task (--exclude-tasks)")
    return isinstance(pace, Deterministic | Poisson | Uniform)


def _interval_s(task: Task, rate: Rate, compiled: Compiled, problems: Problems) -> float | None:
    if rate.unit == compiled.unit:
        return compiled.weight / rate.value
    if rate.unit == OPS:
        return 1 / rate.value
    unit = compiled.unit
    known = f"{unit}/s" if unit == OPS else f"{unit}/s, or {OPS}/s to count requests"
    problems.add(
        (*task.place, "target-throughput"),
        f"is in {rate.unit}/s, but operation {quoted(task.operation.name)} counts {unit}; write {known}",
    )
    return None


def bound_of(task: Task, compiled: Compiled) -> Bound:
    """When a task ends: by its periods, else its iterations, else its source, else after one operation.

    With warm-up iterations alone, what follows them is what a task without them does. The warm-up period
    comes before `time-period`, it is no part of it. Without a time-period a task lasts until its source ends
    or another task completes the step.
    """
    if task.is_time_based:
        return Time(warmup_s=task.warmup_time_period or 0.0, measured_s=task.time_period)
    if task.is_iteration_based:
        measured = task.iterations
        if measured is None:
            measured = UNTIL_EXHAUSTED if compiled.finite else 1
        return Iterations(warmup=task.warmup_iterations or 0, measured=measured)
    if compiled.finite:
        return Time(warmup_s=0.0, measured_s=None)
    return Iterations(warmup=0, measured=1)


def ends_by_itself(bound: Bound, compiled: Compiled) -> bool:
    """Whether a task ends without another one completing its step."""
    return compiled.finite or isinstance(bound, Iterations) or bound.measured_s is not None


def check_ends(element: Task | Parallel, endless: tuple[Task, ...], problems: Problems) -> None:
    """Notes a problem for each task of an element that nothing ends; `endless` do not end by themselves."""
    tasks = element.tasks if isinstance(element, Parallel) else (element,)
    completed_by = element.completed_by if isinstance(element, Parallel) else None
    completing = [task for task in tasks if completed_by in (ANY_TASK, task.name) and task not in endless]
    if completing:
        return
    for task in endless:
        text = "never ends: it has a warmup-time-period, no time-period, and a source without end; "
        problems.add(task.place, text + "add a time-period, or complete it by another task in parallel")
