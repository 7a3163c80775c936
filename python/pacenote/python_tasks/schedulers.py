"""Schedulers of plug-ins, of all three generations behind one face.

| generation | looks like |
| --- | --- |
| full | a class made with the task, with `before_request`, `after_request` and `next` |
| simple | a class made with the task and the rate of one client, with `next` |
| legacy | a class made with the `params` of the task, or a plain function from one offset to the next |
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any, Protocol

from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.plugins.rally_api import track as rally

_OPS = "ops/s"


class Scheduler(Protocol):
    """Says when the next operation of one client is due. Times are in seconds."""

    def before_request(self, now: float) -> None:
        """An operation is about to begin."""

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:
        """An operation has ended; failures have done no work."""

    def next(self, current: float) -> float:
        """When the operation after the one at `current` is due; 0 is at once."""


class _Wrapped:
    """Something that only knows `next`."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler

    def before_request(self, now: float) -> None:
        """Not of interest."""

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:
        """Not of interest."""

    def next(self, current: float) -> float:
        """What the scheduler says."""
        return float(self._scheduler.next(current))


class _Function(_Wrapped):
    """A function for a scheduler."""

    def next(self, current: float) -> float:
        """What the function says."""
        return float(self._scheduler(current))


class _Simple(_Wrapped):
    """A simple scheduler, made for the rate of one client in operations.

    The rate follows from the work of an operation, so it is only known after the first one that did some;
    a rate in operations holds from the beginning.
    """

    def __init__(self, make: Callable[[rally.Task, float], Any], task: rally.Task) -> None:
        super().__init__(None)
        target = task.target_throughput
        if target is None:
            raise TrackError(
                f"scheduler {quoted(str(task.schedule))} needs a target-throughput or a target-interval"
            )
        self._make = make
        self._task = task
        self._target = target
        self._weight = 0
        if target.unit == _OPS:
            self._scale(1)

    def after_request(self, now: float, weight: int, unit: str, request_meta_data: Any) -> None:  # noqa: ARG002
        """Takes the work of an operation into account."""
        if weight <= 0 or weight == self._weight:
            return
        if f"{unit}/s" == self._target.unit:
            self._scale(weight)
        elif self._target.unit != _OPS:
            raise TrackError(
                f"the target rate is in {self._target.unit}, but the operation counts {unit}; write {unit}/s"
            )

    def next(self, current: float) -> float:
        """What the scheduler says; at once as long as nothing is known."""
        return 0.0 if self._scheduler is None else super().next(current)

    def _scale(self, weight: int) -> None:
        self._weight = weight
        self._scheduler = self._make(self._task, self._target.value / self._task.clients / weight)


class _Even:
    """Evenly spaced."""

    def __init__(self, rate: float) -> None:
        self._wait_s = 1 / rate

    def next(self, current: float) -> float:
        """One interval later."""
        return current + self._wait_s


class _Random:
    """Spaced at random."""

    def __init__(self, rate: float, numbers: random.Random) -> None:
        self._rate = rate
        self._numbers = numbers

    def next(self, current: float) -> float:
        """Later by what is one interval on average."""
        return current + self._numbers.expovariate(self._rate)


class _Anywhere:
    """At a random moment of each interval."""

    def __init__(self, rate: float, numbers: random.Random) -> None:
        self._wait_s = 1 / rate
        self._numbers = numbers
        self._begin: float | None = None

    def next(self, current: float) -> float:
        """In the interval after the last one; the first begins now."""
        self._begin = current if self._begin is None else self._begin + self._wait_s
        return self._begin + self._wait_s * self._numbers.random()


def built_in_scheduler(task: rally.Task, client: int) -> Scheduler:
    """The scheduler of one client where the driver cannot pace, since the work of an operation is not known
    before it is done.
    """
    numbers = random.Random(f"{task.name} {client}")  # The same in every race.
    if task.schedule == "poisson":
        return _Simple(lambda _, rate: _Random(rate, numbers), task)
    if task.schedule == "uniform":
        return _Simple(lambda _, rate: _Anywhere(rate, numbers), task)
    return _Simple(lambda _, rate: _Even(rate), task)


def build_scheduler(scheduler: Any, task: rally.Task, source: Any) -> Scheduler:
    """The scheduler of one client; `source` is that of the client, for schedulers that have a place for it.

    What a plug-in raises comes out as it is. Raises `TrackError` for one that cannot be used for the task.
    """
    if inspect.isfunction(scheduler):
        return _Function(scheduler)
    parameters = inspect.signature(scheduler.__init__).parameters
    if len(parameters) >= 2 and "params" in parameters:
        made = scheduler(task.params)
        wrapped: Scheduler = _Wrapped(made)
    elif all(callable(getattr(scheduler, name, None)) for name in ("before_request", "after_request")):
        made = wrapped = scheduler(task)
    else:
        return _Simple(scheduler, task)
    if hasattr(made, "parameter_source"):
        made.parameter_source = source
    return wrapped
