"""The allocation matrix: which client runs which task, step by step.

Each element of the schedule is one step, and all clients wait for each other at its end. In a parallel
element, clients are assigned to one task after another. If the element has fewer clients than its tasks need,
the allocation wraps around, and a client with several allocations runs them in turn:

    clients: 2, tasks a (2 clients), b (1), c (1)      client 0: a[0], b[0]
                                                       client 1: a[1], c[0]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.track import ANY_TASK, Parallel, Task
from pacenote.plan.document import (
    ClientAllocation,
    CompletedBy,
    CompletedByAny,
    CompletedByTask,
    Step,
    TaskAllocation,
)

_MAX_NAMES = 3
"""Maximum number of tasks in the name of a parallel element."""


def allocate(schedule: Sequence[Task | Parallel]) -> tuple[Step, ...]:
    """Returns the steps of a schedule. Tasks are numbered in schedule order, as in `Challenge.tasks`."""
    return tuple(_steps(schedule))


def _steps(schedule: Sequence[Task | Parallel]) -> Iterator[Step]:
    first_task = 0
    names = _Names(schedule)
    for element in schedule:
        tasks = _tasks(element)
        clients = element.client_count if isinstance(element, Parallel) else element.clients
        yield Step(
            name=names.of(element),
            client_allocations=_client_allocations(tasks, clients, first_task),
            completed_by=_completed_by(element, first_task),
        )
        first_task += len(tasks)


class _Names:
    """The names of the steps of a schedule: what the driver reports about a step must not be taken for
    another one of the same name, or for a task.
    """

    def __init__(self, schedule: Sequence[Task | Parallel]) -> None:
        self._tasks = {task.name for element in schedule for task in _tasks(element)}
        self._given: set[str] = set()

    def of(self, element: Task | Parallel) -> str:
        """Returns the name of the next step: that of its element, with a number if it is taken."""
        name = unique = step_name(element)
        tasks = [task.name for task in _tasks(element)]
        number = 1
        while unique in self._given or (unique in self._tasks and tasks != [unique]):
            number += 1
            unique = f"{name} ({number})"
        self._given.add(unique)
        return unique


def _tasks(element: Task | Parallel) -> Sequence[Task]:
    return element.tasks if isinstance(element, Parallel) else (element,)


def step_name(element: Task | Parallel) -> str:
    """Returns the name of an element of the schedule for messages."""
    if isinstance(element, Task):
        return element.name
    if element.name:
        return element.name
    names = [task.name for task in element.tasks]
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _client_allocations(tasks: Sequence[Task], clients: int, first_task: int) -> tuple[ClientAllocation, ...]:
    by_client: dict[int, list[TaskAllocation]] = {}
    allocations = (
        TaskAllocation(task=first_task + index, client=client)
        for index, task in enumerate(tasks)
        for client in range(task.clients)
    )
    for number, allocation in enumerate(allocations):
        by_client.setdefault(number % clients, []).append(allocation)
    return tuple(
        ClientAllocation(client=client, allocations=tuple(row)) for client, row in sorted(by_client.items())
    )


def _completed_by(element: Task | Parallel, first_task: int) -> CompletedBy | None:
    if isinstance(element, Task) or element.completed_by is None:
        return None
    if element.completed_by == ANY_TASK:
        return CompletedByAny()
    names = [task.name for task in element.tasks]
    return CompletedByTask(first_task + names.index(element.completed_by))
