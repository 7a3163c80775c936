"""The allocation matrix: which client runs which task, step by step.

Each element of the schedule is one step, and all clients meet at its end. A task takes as many clients as
it asks for. In a parallel element the tasks take clients one after another; when it has fewer clients than
its tasks need, they wrap around, and a client that got several shares runs them in turn:

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

_NAMES_SHOWN = 3


def allocate(schedule: Sequence[Task | Parallel]) -> tuple[Step, ...]:
    """The steps of a schedule. Tasks are numbered in schedule order, as in `Challenge.tasks`."""
    return tuple(_steps(schedule))


def _steps(schedule: Sequence[Task | Parallel]) -> Iterator[Step]:
    first = 0
    for element in schedule:
        tasks = element.tasks if isinstance(element, Parallel) else (element,)
        clients = element.client_count if isinstance(element, Parallel) else element.clients
        yield Step(
            name=step_name(element),
            client_allocations=_client_allocations(tasks, clients, first),
            completed_by=_completed_by(element, first),
        )
        first += len(tasks)


def step_name(element: Task | Parallel) -> str:
    """What messages call an element of the schedule."""
    if isinstance(element, Task):
        return element.name
    if element.name:
        return element.name
    names = [task.name for task in element.tasks]
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _client_allocations(tasks: Sequence[Task], clients: int, first: int) -> tuple[ClientAllocation, ...]:
    rows: dict[int, list[TaskAllocation]] = {}
    shares = (
        TaskAllocation(task=first + position, client=client)
        for position, task in enumerate(tasks)
        for client in range(task.clients)
    )
    for number, share in enumerate(shares):
        rows.setdefault(number % clients, []).append(share)
    return tuple(
        ClientAllocation(client=client, allocations=tuple(row)) for client, row in sorted(rows.items())
    )


def _completed_by(element: Task | Parallel, first: int) -> CompletedBy | None:
    if isinstance(element, Task) or element.completed_by is None:
        return None
    if element.completed_by == ANY_TASK:
        return CompletedByAny()
    names = [task.name for task in element.tasks]
    return CompletedByTask(first + names.index(element.completed_by))
