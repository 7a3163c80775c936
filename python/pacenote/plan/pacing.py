"""When operations of a task are due: the only module that converts a target rate to an interval.

A track gives a rate (`target-throughput`) in operations or in the unit of the operation, such as documents,
or an interval (`target-interval`). `track/parse_target_rate.py` reads both, and `track/prepare.py`
applies the options of the user. The plan holds intervals between operations, over all clients of a task.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from msgspec.structs import replace

from pacenote.model.field_reader import MAX_NUMBER, FieldReader
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.problems import Problems
from pacenote.model.track import Operation, Task
from pacenote.model.work import BulkWork, PythonRunner, PythonSource
from pacenote.operations.base import CompiledOperation
from pacenote.plan.client_documents import documents_per_bulk
from pacenote.plan.document import Deterministic, Poisson, PythonScheduler, TaskPacing, Uniform, Unpaced
from pacenote.units import OPS

_PACINGS = {pacing.kind: pacing for pacing in (Deterministic, Poisson, Uniform)}
"""Values of `schedule` that need no scheduler of a plug-in."""

_DOCUMENTS = "docs"
"""The unit of bulks."""

_MAX_LEAD_S = 1.0
"""How far ahead of its rate a source may run, in seconds: parameters that depend on the current time must
still be valid when they are sent.
"""


def target_interval_s(task: Task, compiled: CompiledOperation) -> float | None:
    """Returns the seconds between two operations over all clients of a task, or None if there is no target
    rate.

    A rate in the unit of the operation is divided by its weight, which of bulks is the mean over those of the
    task; any other rate counts operations, also that of a runner or a source whose unit is not known yet.
    """
    rate = task.target_throughput
    if rate is None:
        return task.target_interval or None
    in_operations = rate.unit == OPS and isinstance(compiled.work, PythonRunner | PythonSource)
    return (1 if in_operations or rate.unit != compiled.unit else _weight(task, compiled)) / rate.value


def documents_per_operation(task: Task, compiled: CompiledOperation) -> float | None:
    """Returns the mean number of documents of an operation of a task whose clients follow schedules of their
    own, if its target rate counts documents and these are known before they are sent: those of a runner are
    not. None for any other task.
    """
    rate = task.target_throughput
    if rate is None or rate.unit != _DOCUMENTS or compiled.unit != _DOCUMENTS:
        return None
    if isinstance(compiled.work, PythonRunner):
        return None
    return _weight(task, compiled)


def _weight(task: Task, compiled: CompiledOperation) -> float:
    """Returns the work of an operation of a task in its unit."""
    if isinstance(compiled.work, BulkWork):
        bounded = not task.is_time_based and task.iterations is not None
        iterations = (task.warmup_iterations or 0) + (task.iterations or 0) if bounded else None
        return documents_per_bulk(compiled.work, task.clients, iterations)
    return compiled.weight


def plan_pacing(
    task: Task, compiled: CompiledOperation, schedulers: Collection[str], problems: Problems
) -> TaskPacing:
    """Returns how the operations of a task are spaced; `schedulers` are those that plug-ins registered.

    A task whose weight is only known at run time is paced by Python. Records a problem for an unknown
    schedule, a rate in a unit that the operation does not count, or an interval of more than 100 years.
    """
    if task.schedule in schedulers or (task.schedule in _PACINGS and weight_known_at_runtime(task, compiled)):
        return PythonScheduler()
    pacing = _PACINGS.get(task.schedule)
    if pacing is None:
        known = (*_PACINGS, *schedulers)
        text = f"is {quoted(task.schedule)}, but must be {', '.join(_PACINGS)} or a scheduler of a plug-in"
        problems.add((*task.key_path, "schedule"), text + did_you_mean(task.schedule, known))
        return Unpaced()
    if problem := _rate_problem(task, compiled):
        problems.add((*task.key_path, "target-throughput"), problem)
        return Unpaced()
    interval_s = target_interval_s(task, compiled)
    return Unpaced() if interval_s is None else pacing(interval_s)


def is_open_loop(pacing: TaskPacing, task: Task, problems: Problems) -> bool:
    """Returns whether a task runs in an open loop if the user requests it; only tasks with a target rate
    do.
    """
    if isinstance(pacing, PythonScheduler):
        text = "cannot run in an open loop: Python schedules each of its clients; omit --open-loop, "
        problems.add((*task.key_path, "schedule"), text + "or exclude the task (--exclude-tasks)")
    return isinstance(pacing, Deterministic | Poisson | Uniform)


def weight_known_at_runtime(task: Task, compiled: CompiledOperation) -> bool:
    """Returns whether the target rate counts work whose amount per operation is only known to Python at run
    time.
    """
    rate = task.target_throughput
    if rate is None or rate.unit == OPS or rate.unit != compiled.unit:
        return False
    return isinstance(compiled.work, PythonRunner | PythonSource) and not declared_bulk_size(task.operation)


def adapt_to_rate(task: Task, compiled: CompiledOperation) -> CompiledOperation:
    """Adapts an operation that Python supplies or runs to the target rate of a task.

    It gets the unit of the rate, and its source runs ahead by at most about a second.
    """
    compiled = _in_unit_of_rate(task, compiled)
    interval_s = target_interval_s(task, compiled)
    if interval_s is None or not isinstance(compiled.work, PythonSource):
        return compiled
    ahead = min(compiled.work.ahead, 1 + math.ceil(_MAX_LEAD_S / (interval_s * task.clients)))
    return replace(compiled, work=PythonSource(ahead))


def declared_bulk_size(operation: Operation) -> int:
    """Returns the `bulk-size` of an operation in documents, 0 if it is missing or not a positive number."""
    size = FieldReader(operation.params, (), Problems()).integer("bulk-size", 1, from_text=True)
    return size or 0


def _rate_problem(task: Task, compiled: CompiledOperation) -> str:
    """Returns the problem of the target rate for this operation, or an empty string if there is none."""
    rate, unit = task.target_throughput, compiled.unit
    if rate is not None and rate.unit not in (unit, OPS):
        accepted = f"{unit}/s" if unit == OPS else f"{unit}/s, or {OPS}/s to count requests"
        operation = quoted(task.operation.name)
        return f"is in {rate.unit}/s, but operation {operation} counts {unit}; write {accepted}"
    if (target_interval_s(task, compiled) or 0) > MAX_NUMBER:
        return "is too low for this operation: the next one would be due in more than 100 years"
    return ""


def _in_unit_of_rate(task: Task, compiled: CompiledOperation) -> CompiledOperation:
    """Returns the operation with the unit of the target rate if its own unit is only known at run time."""
    unit_open = isinstance(compiled.work, PythonRunner) or (
        isinstance(compiled.work, PythonSource) and compiled.unit == _DOCUMENTS
    )
    rate = task.target_throughput
    if not unit_open or rate is None or rate.unit == OPS:
        return compiled
    return replace(compiled, unit=rate.unit)
