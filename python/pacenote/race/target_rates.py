"""The target rates of a challenge, as the race record stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pacenote.model.pacing_options import Arrivals
from pacenote.model.target_rate import TargetRate
from pacenote.model.track import Challenge, Task
from pacenote.plan.document import Deterministic, Plan, PlannedTask, Poisson, PythonScheduler, Uniform
from pacenote.units import OPS

_ARRIVALS: Mapping[str, Arrivals] = {name: name for name in get_args(Arrivals)}


def target_rates(challenge: Challenge, plan: Plan) -> dict[str, TargetRate]:
    """Returns the target rate of each task that has one, by its name.

    A task with a scheduler of a plug-in has none: the plug-in determines its rate.
    """
    planned = {task.name: task for task in plan.tasks}
    rates = ((task.name, _target_rate(task, planned[task.name])) for task in challenge.tasks())
    return {name: rate for name, rate in rates if rate is not None}


def _target_rate(task: Task, planned: PlannedTask) -> TargetRate | None:
    target = task.target_throughput
    match planned.pacing:
        case Deterministic() | Poisson() | Uniform() as pacing:
            operations = 1.0 / pacing.interval_s
            value, unit = (operations, OPS) if target is None else (target.value, target.unit)
            in_operations = operations if planned.documents_per_operation is None else None
            return TargetRate(value, unit, in_operations, _ARRIVALS[pacing.kind])
        case PythonScheduler() if target is not None and task.schedule in _ARRIVALS:
            return TargetRate(target.value, target.unit, None, _ARRIVALS[task.schedule])
        case _:
            return None
