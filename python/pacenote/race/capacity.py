"""What a race needs of this machine for its clients: open files, local ports and memory.

Without this check, a race with too many clients would fail when it connects, or in the middle.
"""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.errors import DriverError
from pacenote.model.work import (
    BulkWork,
    Call,
    CallSequence,
    Composite,
    CompositeItem,
    OperationStream,
    PythonRunner,
)
from pacenote.plan.document import Plan, PlannedTask, Unpaced
from pacenote.provision.resources import KIB, available_memory
from pacenote.units import format_bytes

_OWN_FILES = 48
"""Files that Pacenote opens during a race, such as those of the race folder and connections for control
traffic.
"""

_SAMPLED_FILES = 64
"""Files of the kernel that the sampler of the host keeps open for a few nodes, without those of threads."""

_MAX_THREAD_FILES = 512
_THREAD_FILES_PART = 16
"""The sampler keeps the files of this many threads open, and at most that part of the limit of open files
(`crates/host/src/threads.rs`).
"""

_FILES_PER_THREAD = 4
"""Files that each thread of the driver opens."""

_CONNECTION_BYTES = 24 * KIB
"""Memory of a client with one connection: a race with 15,000 clients takes 367 MB more than one with 100."""


class _Connections(Struct, frozen=True):
    """The connections of a race that are open at the same time."""

    kept: int
    """Connections to each host of the cluster under test, which are kept from step to step."""

    of_runners: int
    """Additional connections to each host of each cluster, for runners written in Python, in the step that
    has the most.
    """


def check_capacity(plan: Plan, hosts: Sequence[int], root: Path = Path("/")) -> None:
    """Checks whether this machine has what the clients of a race need.

    `hosts` contains the number of hosts of each cluster, the cluster under test first; `root` is the folder
    that contains `proc` and `sys`. Raises DriverError with everything that is missing.
    """
    missing = (*_missing_files(plan, hosts), *_missing_ports(plan, root), *_missing_memory(plan, hosts, root))
    if missing:
        raise DriverError(
            f"the race needs {'; and it needs '.join(what for what, _ in missing)}",
            hint=f"{'; '.join(remedy for _, remedy in missing)}; or use fewer clients",
        )


def _missing_files(plan: Plan, hosts: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yields what is missing, and the remedy."""
    # The driver raises the soft limit to the hard limit.
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    of_threads = min(_MAX_THREAD_FILES, limit // _THREAD_FILES_PART)
    needed = _open_now() + required_open_files(plan, hosts) + of_threads
    if limit != resource.RLIM_INFINITY and needed > limit:
        what = f"{needed:,} open files, mostly connections of its clients, but the system allows {limit:,}"
        yield what, f"raise the limit of open files, for example with ulimit -n {needed}"


def _missing_ports(plan: Plan, root: Path) -> Iterator[tuple[str, str]]:
    """Yields what is missing: each connection to the same address needs a local port of its own."""
    connections = _connections(plan)
    hosts = Counter(host.proxy or (host.host, host.port) for host in plan.target.hosts)
    needed = max(hosts.values(), default=1) * connections.kept + connections.of_runners
    available = _local_ports(root)
    if available is not None and needed > available:
        what = f"{needed:,} local ports for connections to one address, but the system has {available:,}"
        yield what, "extend net.ipv4.ip_local_port_range with sysctl, or use several hosts"


def _missing_memory(plan: Plan, hosts: Sequence[int], root: Path) -> Iterator[tuple[str, str]]:
    connections = _connections(plan)
    total = connections.kept * hosts[0] + connections.of_runners * sum(hosts)
    needed = total * _CONNECTION_BYTES + _body_bytes(plan)
    available = available_memory(root)
    if available is not None and needed > available:
        what = f"{format_bytes(needed)} of memory for its clients, but only {format_bytes(available)} is free"
        yield what, "free some memory, or send smaller bulks"


def required_open_files(plan: Plan, hosts: Sequence[int]) -> int:
    """Returns how many files a race opens at the same time, in addition to those that are open already.

    A client keeps its connections to all hosts of the cluster under test for the whole race. During a step,
    it may have a timer and, for a runner written in Python, separate connections to all clusters.
    """
    in_step = 0
    for step in plan.steps:
        clients = [
            [plan.tasks[task.task] for task in client.allocations] for client in step.client_allocations
        ]
        timers = sum(any(map(_has_timer, tasks)) for tasks in clients)
        in_step = max(in_step, timers + sum(map(_runners, clients)) * sum(hosts))
    threads = plan.driver.threads or len(os.sched_getaffinity(0))
    files_of_driver = _OWN_FILES + _SAMPLED_FILES + _FILES_PER_THREAD * threads
    return _connections(plan).kept * hosts[0] + in_step + files_of_driver


def _connections(plan: Plan) -> _Connections:
    kept: dict[int, int] = {}
    of_runners = 0
    for step in plan.steps:
        of_step = 0
        for client in step.client_allocations:
            tasks = [plan.tasks[allocation.task] for allocation in client.allocations]
            at_once = max((_concurrent_requests(task) for task in tasks), default=1)
            kept[client.client] = max(kept.get(client.client, 0), at_once)
            of_step += _runners(tasks)
        of_runners = max(of_runners, of_step)
    return _Connections(sum(kept.values()), of_runners)


def _runners(tasks: Iterable[PlannedTask]) -> int:
    return sum(isinstance(task.work, PythonRunner) for task in tasks)


def _body_bytes(plan: Plan) -> int:
    """Returns the memory for the bodies of bulks in the step that needs the most: each client keeps one."""
    sizes = [_bulk_bytes(task) for task in plan.tasks]
    return max(
        (
            sum(
                max((sizes[allocation.task] for allocation in client.allocations), default=0)
                for client in step.client_allocations
            )
            for step in plan.steps
        ),
        default=0,
    )


def _bulk_bytes(task: PlannedTask) -> int:
    """Returns the size of the largest bulk of a client, by the mean length of the documents of each file.

    A file that has not been downloaded or generated yet does not count.
    """
    work, largest = task.work, 0
    if not isinstance(work, BulkWork):
        return 0
    for file in work.files:
        try:
            mean = Path(file.path).stat().st_size / max(file.documents, 1)
        except OSError:
            continue
        # Every client has its own range of the file.
        documents = min(work.bulk_size, -(-file.documents // task.clients))
        largest = max(largest, round(documents * mean))
    return largest


def _local_ports(root: Path) -> int | None:
    """Returns the number of ports that the system uses for outgoing connections; None if it is unknown."""
    try:
        first, last = map(int, (root / "proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split())
    except (OSError, ValueError):
        return None
    return last - first + 1


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
