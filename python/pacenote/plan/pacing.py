"""When operations of a task are due: the one place where a target rate becomes an interval."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from pacenote.model.field_reader import MAX_NUMBER
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.problems import Problems
from pacenote.model.track import Operation, Task
from pacenote.model.work import PythonRunner, PythonSource
from pacenote.operations.base import CompiledOperation
from pacenote.plan.document import Deterministic, Poisson, PythonScheduler, TaskPacing, Uniform, Unpaced
from pacenote.units import OPS, Rate

_PACES = {pace.kind: pace for pace in (Deterministic, Poisson, Uniform)}
"""What the values of `schedule` are that need no scheduler of a plug-in."""

_AHEAD_S = 1.0
"""How long a source may be ahead of a rate: what it says of the present time should still be true then."""


def plan_pace(
    task: Task, compiled: CompiledOperation, schedulers: Collection[str], problems: Problems
) -> TaskPacing:
    """How operations of a task are spaced. The plan counts in operations, a track may count in documents.

    `schedulers` are those that plug-ins registered. Where only Python knows how much an operation does, it
    paces them, too.
    """
    if task.schedule in schedulers or (task.schedule in _PACES and weight_known_at_runtime(task, compiled)):
        return PythonScheduler()
    paced = _PACES.get(task.schedule)
    if paced is None:
        known = (*_PACES, *schedulers)
        text = f"is {quoted(task.schedule)}, must be {', '.join(_PACES)} or a scheduler of a plug-in"
        text += did_you_mean(task.schedule, known)
        problems.add((*task.key_path, "schedule"), text)
        return Unpaced()
    interval_s = task.target_interval
    if task.target_throughput is not None:
        interval_s = _interval_s(task, task.target_throughput, compiled, problems)
    if not interval_s:
        return Unpaced()
    if interval_s > MAX_NUMBER:
        text = "is too low for this operation: the next one would be due in more than 100 years"
        problems.add((*task.key_path, "target-throughput"), text)
        return Unpaced()
    return paced(interval_s)


def is_open_loop(pace: TaskPacing, task: Task, problems: Problems) -> bool:
    """Whether a task runs open loop, when that is asked for: if it has a target rate."""
    if isinstance(pace, PythonScheduler):
        text = "cannot run open loop: Python says when each of its clients sends; race without --open-loop, "
        problems.add((*task.key_path, "schedule"), text + "or without the task (--exclude-tasks)")
    return isinstance(pace, Deterministic | Poisson | Uniform)


def _interval_s(task: Task, rate: Rate, compiled: CompiledOperation, problems: Problems) -> float | None:
    if rate.unit == compiled.unit:
        return compiled.weight / rate.value
    if rate.unit == OPS:
        return 1 / rate.value
    unit = compiled.unit
    known = f"{unit}/s" if unit == OPS else f"{unit}/s, or {OPS}/s to count requests"
    problems.add(
        (*task.key_path, "target-throughput"),
        f"is in {rate.unit}/s, but operation {quoted(task.operation.name)} counts {unit}; write {known}",
    )
    return None


def weight_known_at_runtime(task: Task, compiled: CompiledOperation) -> bool:
    """Whether a rate is in work of which only Python knows, while it runs, how much an operation does."""
    rate = task.target_throughput
    if rate is None or rate.unit == OPS or rate.unit != compiled.unit:
        return False
    return isinstance(compiled.work, PythonRunner | PythonSource) and not declared_bulk_size(task.operation)


def paced(task: Task, compiled: CompiledOperation) -> CompiledOperation:
    """An operation of Python's in a task with a rate: in the unit of the rate, and no longer ahead of it than
    is of use.
    """
    compiled = _in_unit_of(task, compiled)
    interval_s = task.target_interval
    if task.target_throughput is not None:
        per_operation = compiled.weight if task.target_throughput.unit == compiled.unit else 1
        interval_s = per_operation / task.target_throughput.value
    if not interval_s or not isinstance(compiled.work, PythonSource):
        return compiled
    ahead = min(compiled.work.ahead, 1 + math.ceil(_AHEAD_S / (interval_s * task.clients)))
    return replace(compiled, work=PythonSource(ahead))


def _in_unit_of(task: Task, compiled: CompiledOperation) -> CompiledOperation:
    """What Python says only while it runs, taken from the target rate of the task: the unit of its work."""
    free = isinstance(compiled.work, PythonRunner) or (
        isinstance(compiled.work, PythonSource) and compiled.unit == "docs"
    )
    rate = task.target_throughput
    if not free or rate is None or rate.unit == OPS:
        return compiled
    return replace(compiled, unit=rate.unit)


def declared_bulk_size(operation: Operation) -> int:
    """The `bulk-size` of an operation, 0 where it does not say or is no number."""
    size = operation.params.get("bulk-size")
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0
