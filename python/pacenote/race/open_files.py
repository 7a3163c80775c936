"""The number of open files that a race needs, compared with the limit of the system (`ulimit -n`).

Without this check, a race with too many clients would fail when it connects, or in the middle.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Sequence
from pathlib import Path

from pacenote.errors import DriverError
from pacenote.model.work import Call, CallSequence, Composite, CompositeItem, OperationStream, PythonRunner
from pacenote.plan.document import Plan, PlannedTask, Unpaced

_OWN_FILES = 48
"""Files that Pacenote opens during a race, such as those of the race folder and connections for control
traffic.
"""

_FILES_PER_THREAD = 4
"""Files that each thread of the driver opens."""


def check_open_files(plan: Plan, hosts: Sequence[int]) -> None:
    """Checks the limit of open files before a race.

    `hosts` contains the number of hosts of each cluster, the cluster under test first. Raises DriverError
    with the number that the race needs.
    """
    needed = _open_now() + required_open_files(plan, hosts)
    # The driver raises the soft limit to the hard limit.
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit != resource.RLIM_INFINITY and needed > limit:
        raise DriverError(
            f"the race needs {needed:,} open files, mostly connections of its clients, but the system allows "
            f"{limit:,}",
            hint=f"raise the limit, for example with ulimit -n {needed}, or use fewer clients",
        )


def required_open_files(plan: Plan, hosts: Sequence[int]) -> int:
    """Returns how many files a race opens at the same time, in addition to those that are open already.

    A client keeps its connections to all hosts of the cluster under test for the whole race. During a step,
    it may have a timer and, for a runner written in Python, separate connections to all clusters.
    """
    connections: dict[int, int] = {}
    in_step = 0
    for step in plan.steps:
        extra = 0
        for client in step.client_allocations:
            tasks = [plan.tasks[allocation.task] for allocation in client.allocations]
            at_once = max((_concurrent_requests(task) for task in tasks), default=1)
            connections[client.client] = max(connections.get(client.client, 0), at_once * hosts[0])
            extra += any(map(_has_timer, tasks))
            extra += sum(isinstance(task.work, PythonRunner) for task in tasks) * sum(hosts)
        in_step = max(in_step, extra)
    threads = plan.driver.threads or os.cpu_count() or 1
    return sum(connections.values()) + in_step + _OWN_FILES + _FILES_PER_THREAD * threads


def _open_now() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return 0


def _has_timer(task: PlannedTask) -> bool:
    return not isinstance(task.pacing, Unpaced) or task.ramp_up_s > 0


def _concurrent_requests(task: PlannedTask) -> int:
    """Returns how many requests of a client can be in flight at the same time."""
    return _width_of_calls(task.work.calls) if isinstance(task.work, CallSequence) else 1


def _width_of_calls(calls: Iterable[Call]) -> int:
    return max((_width(call) for call in calls if isinstance(call, Composite)), default=1)


def _width(composite: Composite) -> int:
    width = _width_of_items(composite.items)
    return width if composite.max_connections is None else min(width, composite.max_connections)


def _width_of_items(items: Iterable[CompositeItem]) -> int:
    """Returns the width of operations and streams; adjacent streams run concurrently."""
    widest, streams = 1, 0
    for item in items:
        if isinstance(item, OperationStream):
            streams += _width_of_items(item.items)
        else:
            streams = 0
            widest = max(widest, _width_of_calls(item.calls))
        widest = max(widest, streams)
    return widest
