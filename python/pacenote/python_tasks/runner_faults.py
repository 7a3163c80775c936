"""Mistakes of runners that make figures of their tasks doubtful: requests that had not ended when their
client did, failed requests in operations that succeeded, and counts that contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from pacenote.model.messages import quoted
from pacenote.model.result import TaskResult
from pacenote.units import format_count


class RunnerFaults:
    """Counts the mistakes of runners, by task, which is given by its position in the plan."""

    def __init__(self) -> None:
        self._unfinished: Counter[int] = Counter()
        self._not_awaited: Counter[int] = Counter()
        self._caught: Counter[int] = Counter()
        self._inconsistent: Counter[int] = Counter()

    def add_unfinished(self, task: int, requests: int, *, awaited: bool) -> None:
        """Adds requests of a client that had not ended when it did, although its runner had returned unless
        they were `awaited`.
        """
        self._unfinished[task] += requests
        if not awaited:
            self._not_awaited[task] += requests

    def add_caught(self, task: int, requests: int) -> None:
        """Adds the requests of an operation that failed although the operation succeeded."""
        self._caught[task] += requests

    def add_inconsistent(self, task: int) -> None:
        """Adds an operation that succeeded, but whose counts do not add up to its work."""
        self._inconsistent[task] += 1

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of a task with the numbers of mistakes."""
        return replace(
            result,
            unfinished_requests=self._unfinished[result.index],
            caught_failures=self._caught[result.index],
            inconsistent_results=self._inconsistent[result.index],
        )

    def warnings(self, result: TaskResult) -> Iterator[str]:
        """Yields a warning about each kind of mistake in a task."""
        name = quoted(result.task)
        if requests := self._not_awaited[result.index]:
            yield (
                f"the runner of task {name} has not awaited {requests:,} of its requests until their end, so "
                "their bytes are not counted"
            )
        if requests := self._caught[result.index]:
            yield (
                f"{format_count(requests, 'request')} of task {name} failed in operations that count as "
                "successes, because the runner has not raised the error"
            )
        if operations := self._inconsistent[result.index]:
            yield (
                f"in {format_count(operations, 'operation')} of task {name}, the success-count and the "
                "error-count of the runner do not add up to its weight, all of which counts as done"
            )
