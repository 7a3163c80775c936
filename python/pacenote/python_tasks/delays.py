"""How long operations waited for Python: for the event loop, which serves the runners of all clients in turn,
for schedulers, and for work on what runners returned; schedulers that could not be asked for all operations;
and sources that failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.result import DriverTime, PythonDelay, TaskResult

_T = TypeVar("_T")


class ReplyWaits(Struct):
    """The waits of the replies of one operation until its code received them. What overlaps counts once."""

    total_s: float = 0.0
    """Seconds in which at least one reply waited."""

    _until_s: float = 0.0
    """When the latest wait ended."""

    def add(self, from_s: float, until_s: float) -> None:
        """Adds the wait of a reply, in order of their ends, in seconds of `time.perf_counter`."""
        self.total_s += max(0.0, until_s - max(from_s, self._until_s))
        self._until_s = max(self._until_s, until_s)


class _OperationTimes:
    """Adds up a time of each operation, by position of the task in the plan."""

    def __init__(self) -> None:
        self._operations: defaultdict[int, int] = defaultdict(int)
        self._total_s: defaultdict[int, float] = defaultdict(float)

    def add(self, task: int, time_s: float) -> None:
        """Adds an operation of a task."""
        self._operations[task] += 1
        self._total_s[task] += time_s

    def mean_of(self, result: TaskResult, kind: Callable[[int, float, float, float], _T]) -> _T | None:
        """Returns the mean of a task, beside its service time, or None if nothing was added or measured.

        `kind` is called with the number of operations, the mean and the mean service time in milliseconds,
        and the first mean as a share of the second.
        """
        operations = self._operations[result.index]
        if not operations or result.service_time is None:
            return None
        mean_ms, service_ms = self._total_s[result.index] / operations * 1000, result.service_time.mean_ms
        return kind(operations, mean_ms, service_ms, mean_ms / max(service_ms, 1e-9))


class EventLoopDelays:
    """Adds up the waits of operations for the event loop, by task.

    An operation waits after the driver has requested it, and after each of its replies, while the loop
    executes code of other operations. If there are no others, it only waits for its own code, which is
    not a delay.
    """

    def __init__(self, alone: Collection[int] = ()) -> None:
        """`alone` are the tasks without others, given by their positions in the plan."""
        self._alone = alone
        self._times = _OperationTimes()

    def add(self, task: int, delay_s: float) -> None:
        """Adds an operation of a task, which is given by its position in the plan."""
        self._times.add(task, 0.0 if task in self._alone else delay_s)

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of a task with the delays of its operations."""
        delay = self._times.mean_of(result, PythonDelay)
        return result if delay is None else replace(result, python_delay=delay)


class ReturnedWork:
    """Adds up the work of this package on what runners returned, by task.

    It is the driver's own work on their operations, and their clients wait for it.
    """

    def __init__(self) -> None:
        self._times = _OperationTimes()

    def add(self, task: int, work_s: float) -> None:
        """Adds an operation of a task, which is given by its position in the plan."""
        self._times.add(task, work_s)

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of a task with the driver's own work on its operations."""
        work = self._times.mean_of(result, DriverTime)
        return result if work is None else replace(result, driver_time=work)


class SchedulerDelays:
    """Adds up the waits of operations for schedulers after they were due, by task."""

    def __init__(self) -> None:
        self._total_s: defaultdict[int, float] = defaultdict(float)

    def add(self, task: int, delay_s: float) -> None:
        """Adds the wait of an operation of a task, which is given by its position in the plan."""
        self._total_s[task] += delay_s

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of a task with the waits of its operations."""
        return replace(result, scheduler_delay_s=self._total_s.get(result.index, 0.0))


class UncountedBacklogs:
    """Tasks whose schedulers could not be asked for all operations that were due at their end."""

    def __init__(self) -> None:
        self._tasks: set[int] = set()

    def add(self, task: int) -> None:
        """Adds a task, which is given by its position in the plan."""
        self._tasks.add(task)

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of a task, which states whether its unsent operations are all counted."""
        return replace(result, unsent_is_least=result.index in self._tasks)


class FailedSources:
    """Counts the clients whose parameter sources or schedulers failed, by task."""

    def __init__(self) -> None:
        self._clients: defaultdict[int, int] = defaultdict(int)

    def add(self, task: int) -> None:
        """Adds a client of a task, which is given by its position in the plan."""
        self._clients[task] += 1

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of a task with the number of these clients."""
        return replace(result, failed_sources=self._clients.get(result.index, 0))
