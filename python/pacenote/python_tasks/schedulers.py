"""Schedulers of plug-ins: all three generations of Rally behind one interface.

| generation | form |
| --- | --- |
| full | a class built with the task, with `before_request`, `after_request` and `next` |
| simple | a class built with the task and the rate of one client, with `next` |
| legacy | a class built with the `params` of the task, or a plain function from one offset to the next |
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable
from typing import Any, Protocol

from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.problems import describe_value
from pacenote.plugins.rally_api import track as rally

_OPS = "ops/s"

_MAX_DUE_S = 1e15
"""Latest due time in seconds, which is beyond the end of any race."""


class Scheduler(Protocol):
    """Decides when the next operation of one client is due. Times are in seconds."""

    def before_request(self, now: float) -> None:
        """Handles an operation that is about to begin."""

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:
        """Handles an operation that has ended; failed operations have done no work."""

    def next(self, current: float) -> float:
        """Returns the time at which the operation after the one at `current` is due; 0 means immediately."""


class InvalidDueTime(TrackError):
    """A scheduler returned a value that is not a time."""


def due_time(value: Any) -> float:
    """Converts the value that a scheduler returned. Raises `InvalidDueTime` if it is not a time."""
    try:
        due_s = float(value)
    except (OverflowError, TypeError, ValueError):
        due_s = math.nan
    if not abs(due_s) <= _MAX_DUE_S:
        raise InvalidDueTime(
            f"returned {describe_value(value)} from next(), but must return the seconds from the start of "
            "the task to the next operation"
        )
    return due_s


class _NextOnly:
    """A scheduler that has only `next`."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler

    def before_request(self, now: float) -> None:
        """Does nothing."""

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:
        """Does nothing."""

    def next(self, current: float) -> float:
        """Returns the due time of the next operation according to the wrapped scheduler."""
        return due_time(self._scheduler.next(current))


class _FunctionScheduler(_NextOnly):
    """A function from the last offset to the next."""

    def next(self, current: float) -> float:
        """Returns the due time of the next operation according to the function."""
        return due_time(self._scheduler(current))


class _SimpleScheduler(_NextOnly):
    """A simple scheduler, built for the rate of one client in operations per second.

    A rate in operations applies from the beginning. A rate in other units is divided by the work of an
    operation, so it is only known after the first operation that did work.
    """

    def __init__(self, build: Callable[[rally.Task, float], Any], task: rally.Task) -> None:
        super().__init__(None)
        target = task.target_throughput
        if target is None:
            raise TrackError(
                f"scheduler {quoted(str(task.schedule))} needs a target-throughput or a target-interval"
            )
        self._build = build
        self._task = task
        self._target = target
        self._weight = 0
        if target.unit == _OPS:
            self._set_rate(1)

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:  # noqa: ARG002
        """Adjusts the rate to the work of the operation."""
        if weight <= 0 or weight == self._weight:
            return
        if f"{unit}/s" == self._target.unit:
            self._set_rate(weight)
        elif self._target.unit != _OPS:
            raise TrackError(
                f"the target rate is in {self._target.unit}, but the operation counts {unit}; write {unit}/s"
            )

    def next(self, current: float) -> float:
        """Returns the due time of the next operation: immediately until the rate is known."""
        return 0.0 if self._scheduler is None else super().next(current)

    def _set_rate(self, weight: int) -> None:
        self._weight = weight
        self._scheduler = self._build(self._task, self._target.value / self._task.clients / weight)


class _Deterministic:
    """Operations at a constant interval."""

    def __init__(self, rate: float) -> None:
        self._interval_s = 1 / rate

    def next(self, current: float) -> float:
        """Returns the time after one interval."""
        return current + self._interval_s


class _Poisson:
    """Operations at exponentially distributed intervals."""

    def __init__(self, rate: float, generator: random.Random) -> None:
        self._rate = rate
        self._generator = generator

    def next(self, current: float) -> float:
        """Returns the time after a random interval, whose mean is the inverse of the rate."""
        return current + self._generator.expovariate(self._rate)


class _Uniform:
    """One operation at a random time within each interval."""

    def __init__(self, rate: float, generator: random.Random) -> None:
        self._interval_s = 1 / rate
        self._generator = generator
        self._interval_start: float | None = None

    def next(self, current: float) -> float:
        """Returns a time in the interval after the last one; the first interval begins at `current`."""
        start = self._interval_start
        self._interval_start = current if start is None else start + self._interval_s
        return self._interval_start + self._interval_s * self._generator.random()


def built_in_scheduler(task: rally.Task, client: int, seed: int) -> Scheduler:
    """Returns the built-in scheduler of one client for tasks that the driver cannot pace.

    This is the case if the work of an operation is only known when it has ended. The seed of the race
    determines random intervals.
    """
    generator = random.Random(f"{seed} {task.name} {client}")
    if task.schedule == "poisson":
        return _SimpleScheduler(lambda _, rate: _Poisson(rate, generator), task)
    if task.schedule == "uniform":
        return _SimpleScheduler(lambda _, rate: _Uniform(rate, generator), task)
    return _SimpleScheduler(lambda _, rate: _Deterministic(rate), task)


def build_scheduler(scheduler: Any, task: rally.Task, source: Any) -> Scheduler:
    """Returns the scheduler of one client; `source` is set as `parameter_source` if it has this attribute.

    Raises `TrackError` if the scheduler cannot be used for the task, and any error of the plug-in.
    """
    if inspect.isfunction(scheduler):
        return _FunctionScheduler(scheduler)
    parameters = inspect.signature(scheduler.__init__).parameters
    if len(parameters) >= 2 and "params" in parameters:
        built = scheduler(task.params)
        wrapped: Scheduler = _NextOnly(built)
    elif all(callable(getattr(scheduler, name, None)) for name in ("before_request", "after_request")):
        built = wrapped = scheduler(task)
    else:
        return _SimpleScheduler(scheduler, task)
    if hasattr(built, "parameter_source"):
        built.parameter_source = source
    return wrapped
