"""Schedulers that plug-ins extend."""

from __future__ import annotations

import inspect
import random
from abc import ABC, abstractmethod
from typing import Any

from pacenote.plugins.rally_api.errors import RallyAssertionError
from pacenote.plugins.rally_api.track import Task

_FULL = ("before_request", "after_request", "next")


def run_unthrottled(task: Task) -> bool:
    """Returns whether operations of a task are due immediately: it has neither rate nor scheduler."""
    built_in = (None, DeterministicScheduler.name, PoissonScheduler.name)
    return task.target_throughput is None and task.schedule in built_in


def is_legacy_scheduler(scheduler_class: Any) -> bool:
    """Returns whether a scheduler is built with the `params` of the task."""
    parameters = inspect.signature(scheduler_class.__init__).parameters
    return len(parameters) >= 2 and "params" in parameters


def is_simple_scheduler(scheduler_class: Any) -> bool:
    """Returns whether a scheduler only has `next`."""
    return not all(inspect.isfunction(getattr(scheduler_class, name, None)) for name in _FULL)


class SimpleScheduler(ABC):
    """A scheduler that is built with a task and the rate of one client in operations per second."""

    @abstractmethod
    def next(self, current: float) -> float:
        """Returns when the operation after the one at `current` is due, in seconds."""


class Scheduler(ABC):
    """A scheduler that is built with a task and learns about its operations."""

    def before_request(self, now: float) -> None:  # noqa: B027  # Subclasses need not implement it.
        """Handles an operation that is about to begin."""

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:  # noqa: B027
        """Handles an operation that has ended."""

    @abstractmethod
    def next(self, current: float) -> float:
        """Returns when the operation after the one at `current` is due, in seconds."""


class DelegatingScheduler(SimpleScheduler):
    """Calls a function from the last offset to the next."""

    def __init__(self, delegate: Any) -> None:
        self.delegate = delegate

    def next(self, current: float) -> float:
        """Returns what the function returns."""
        return float(self.delegate(current))


class LegacyWrappingScheduler(Scheduler):
    """Wraps a scheduler that is built with the `params` of the task."""

    def __init__(self, task: Task, legacy_scheduler_class: Any) -> None:
        self.legacy_scheduler = legacy_scheduler_class(task.params)

    def next(self, current: float) -> float:
        """Returns what the wrapped scheduler returns."""
        return float(self.legacy_scheduler.next(current))


class Unthrottled(Scheduler):
    """All operations are due immediately."""

    def next(self, current: float) -> float:  # noqa: ARG002
        """Returns 0."""
        return 0

    def __str__(self) -> str:
        return "unthrottled"


class DeterministicScheduler(SimpleScheduler):
    """Operations at a constant interval."""

    name = "deterministic"

    def __init__(self, task: Task, target_throughput: float) -> None:  # noqa: ARG002
        self.wait_time = 1 / target_throughput

    def next(self, current: float) -> float:
        """Returns the time after one interval."""
        return current + self.wait_time

    def __str__(self) -> str:
        return "deterministic scheduler"


class PoissonScheduler(SimpleScheduler):
    """Operations at exponentially distributed intervals."""

    name = "poisson"

    def __init__(self, task: Task, target_throughput: float) -> None:  # noqa: ARG002
        self.rate = target_throughput

    def next(self, current: float) -> float:
        """Returns the time after a random interval, whose mean is the inverse of the rate."""
        return current + random.expovariate(self.rate)

    def __str__(self) -> str:
        return "Poisson scheduler"


class UnitAwareScheduler(Scheduler):
    """Builds a simple scheduler for the rate of one client as soon as the work of an operation is known."""

    def __init__(self, task: Task, scheduler_class: Any) -> None:
        self.task = task
        self.scheduler_class = scheduler_class
        self.current_weight: int | None = None
        self.scheduler: Any = Unthrottled()

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:  # noqa: ARG002
        """Adjusts the rate to the work of the operation. Raises `RallyAssertionError` for a rate in another
        unit.
        """
        target = self.task.target_throughput
        if target is None or weight <= 0 or weight == self.current_weight:
            return
        self.current_weight = weight
        if f"{unit}/s" != target.unit:
            if target.unit != "ops/s":
                text = f"is in [{target.unit}], but its throughput is in [{unit}/s]"
                raise RallyAssertionError(f"The target throughput of [{self.task}] {text}.")
            weight = 1
        rate = target.value / self.task.clients / weight
        self.scheduler = self.scheduler_class(self.task, rate)

    def next(self, current: float) -> float:
        """Returns what the simple scheduler returns; 0 until there is one."""
        return float(self.scheduler.next(current))
