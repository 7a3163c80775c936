"""Which tasks prepare the engine for others, and which leave it as it is."""

from __future__ import annotations

from pacenote.model.track import Parallel, Task
from pacenote.model.work import (
    Call,
    CallSequence,
    Composite,
    OperationStream,
    PythonRunner,
    SubOperation,
    Wait,
)
from pacenote.operations.base import include_in_reporting
from pacenote.operations.registry import find_type
from pacenote.plan.document import Plan, PlannedTask, Step


def prepares(task: Task, element: Task | Parallel) -> bool:
    """Returns whether later tasks of a schedule depend on the success of a task of this element.

    These are administrative operations, such as creating an index, unless they run beside measured tasks: a
    refresh that fails under load is part of the measurement.
    """
    beside = element.tasks if isinstance(element, Parallel) else (task,)
    return all(_is_admin(sibling) for sibling in beside)


def is_measured(task: Task) -> bool:
    """Returns whether the rate of a task is of interest: it is not administrative, or the track includes it
    in reports.
    """
    return not _is_admin(task) or include_in_reporting(find_type(task.operation.type), task.operation.params)


def needed_steps(plan: Plan, count: int) -> tuple[Step, ...]:
    """Returns those of the first `count` steps that may change the engine, so that later ones need them."""
    return tuple(step for step in plan.steps[:count] if any(map(may_change, tasks_of(plan, step))))


def tasks_of(plan: Plan, step: Step) -> tuple[PlannedTask, ...]:
    """Returns the tasks of a step, in the order of the plan."""
    indices = {allocation.task for row in step.client_allocations for allocation in row.allocations}
    return tuple(plan.tasks[index] for index in sorted(indices))


def may_change(task: PlannedTask) -> bool:
    """Returns whether a task may change the engine. It is not known what a runner of a plug-in does."""
    if isinstance(task.work, PythonRunner):
        return True
    calls = task.work.calls if isinstance(task.work, CallSequence) else ()
    return _calls_may_change(task.operation_type, calls)


def _is_admin(task: Task) -> bool:
    operation_type = find_type(task.operation.type)
    return operation_type is not None and operation_type.admin


def _calls_may_change(type_name: str, calls: tuple[Call, ...]) -> bool:
    parts = [item for call in calls if isinstance(call, Composite) for item in call.items]
    if parts:
        return any(map(_item_may_change, parts))
    operation_type = find_type(type_name)
    return operation_type is None or not (operation_type.only_reads or operation_type.searches)


def _item_may_change(item: SubOperation | OperationStream) -> bool:
    if isinstance(item, OperationStream):
        return any(map(_item_may_change, item.items))
    pauses = all(isinstance(call, Wait) for call in item.calls)
    return not pauses and _calls_may_change(item.operation_type, item.calls)
