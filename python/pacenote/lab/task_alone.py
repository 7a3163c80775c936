"""The task of a search alone, at a rate or with a number of clients, in its challenge and plan."""

from __future__ import annotations

import dataclasses

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.track import Challenge, Parallel, Task
from pacenote.plan.document import ClientAllocation, Plan, Step, TaskAllocation
from pacenote.plan.preparation import is_measured
from pacenote.units import OPS, Rate


class ScheduledTask(Struct, frozen=True):
    """A task and the position of its element in the schedule."""

    position: int
    """The position of the element."""

    task: Task
    """The task."""


class Timing(Struct, frozen=True):
    """The duration of a task."""

    warmup_s: float
    """Seconds of warm-up."""

    measured_s: float
    """Seconds of the measured window."""


def find_task(challenge: Challenge, name: str | None, info_command: str) -> ScheduledTask:
    """Returns the task of this name, or the last measured one without a name; `info_command` lists the tasks.

    Raises UsageError for an unknown or administrative task.
    """
    tasks: dict[str, ScheduledTask] = {}
    for position, element in enumerate(challenge.schedule):
        for task in element.tasks if isinstance(element, Parallel) else (element,):
            tasks[task.name] = ScheduledTask(position, task)
    measured = [scheduled for scheduled in tasks.values() if is_measured(scheduled.task)]
    if name is None and measured:
        return measured[-1]
    if name is None:
        raise UsageError(f"all tasks of challenge {quoted(challenge.name)} are administrative")
    if name not in tasks:
        raise UsageError(
            f"challenge {quoted(challenge.name)} has no task {quoted(name)}{did_you_mean(name, tasks)}",
            hint=f"`{info_command}` lists its tasks",
        )
    if tasks[name] not in measured:
        raise UsageError(
            f"task {quoted(name)} is administrative: it prepares the engine, and its rate is not a limit",
            hint=f"other tasks: {', '.join(scheduled.task.name for scheduled in measured) or 'none'}",
        )
    return tasks[name]


def looped(task: Task) -> Task:
    """Returns the task with its data sent repeatedly."""
    operation = dataclasses.replace(task.operation, params={**task.operation.params, "looped": True})
    return dataclasses.replace(task, operation=operation)


def paced(task: Task, rate: float, connections: int, timing: Timing) -> Task:
    """Returns the task at this rate, in operations per second, with one client for each connection."""
    return dataclasses.replace(
        unpaced(task, connections, timing), target_throughput=Rate(rate, OPS), target_interval=None
    )


def unpaced(task: Task, clients: int, timing: Timing) -> Task:
    """Returns the task with this number of clients, without a target rate."""
    return dataclasses.replace(
        task,
        clients=clients,
        warmup_iterations=None,
        iterations=None,
        warmup_time_period=timing.warmup_s,
        time_period=timing.measured_s,
        ramp_up_time_period=None,
        target_throughput=None,
        target_interval=None,
    )


def with_task(challenge: Challenge, scheduled: ScheduledTask) -> Challenge:
    """Returns the challenge with the scheduled task replaced."""
    position, task = scheduled.position, scheduled.task
    element = challenge.schedule[position]
    if isinstance(element, Parallel):
        tasks = tuple(task if other.name == task.name else other for other in element.tasks)
        changed: Task | Parallel = dataclasses.replace(element, tasks=tasks, clients=None, completed_by=None)
    else:
        changed = task
    return replace(
        challenge, schedule=(*challenge.schedule[:position], changed, *challenge.schedule[position + 1 :])
    )


def task_alone(plan: Plan, task: Task, *, open_loop: bool) -> Plan:
    """Returns the plan with one step, in which all clients run the task."""
    index = next(index for index, planned in enumerate(plan.tasks) if planned.name == task.name)
    planned = replace(plan.tasks[index], open_loop=open_loop, must_succeed=False)
    rows = tuple(ClientAllocation(client, (TaskAllocation(index, client),)) for client in range(task.clients))
    return replace(
        plan,
        tasks=(*plan.tasks[:index], planned, *plan.tasks[index + 1 :]),
        steps=(Step(task.name, rows, None),),
    )
