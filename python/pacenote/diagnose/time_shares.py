"""Where the time of a node went during a task: the time of all cores that it may use, by cause.

The whole is the length of the window × the number of these cores. What they did is known from their counters;
the node's part is divided by the time that its threads report, and the collector's. Idle time is given, in
this order, to stops, the CPU quota, waits for disks, too few requests, and requests outside the engine, each
as far as idle time is left. What remains is unexplained. Nothing is estimated for a figure that is missing.
Counters of different sources can add up to more than the whole; `excess` says by how much.
"""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Evidence, Window
from pacenote.model.diagnosis import MissingFigure, TaskTime, TimeShare
from pacenote.units import format_count

SMALLEST = 0.0005
"""Smallest part that is shown; smaller ones are counted as unexplained."""

_THREADS = (
    ("indexing", "node.indexing_share"),
    ("merging", "node.merge_share"),
    ("refreshing", "node.refresh_share"),
    ("flushing", "node.flush_share"),
    ("searching", "node.search_share"),
    ("fetching documents", "node.fetch_share"),
)
"""What threads of the engine do, with the time that they report."""

_WAITS = (
    ("a thread waited for a core", "cpu.wait_share"),
    ("a thread waited for a disk", "disk.some_wait_share"),
    ("a thread waited for memory", "memory.wait_share"),
    ("all threads of the JVM were stopped", "gc.stop_share"),
    ("the CPU quota stopped the engine, of its periods", "cpu.throttled_periods_share"),
    ("indexing was throttled", "node.indexing_throttled_share"),
    ("the network link was in use", "network.link_share"),
)
"""Parts of the window in which something waited or was in use."""

_LEAST_READINGS = 10
"""Number of readings of a pool, and of requests seen in them, from which on their mean says something."""

_QUEUES = (
    ("writes waited in a queue", "write"),
    ("searches waited in a queue", "search"),
)
"""Queues of thread pools: by Little's law, the part of its time that a request waited is the part of the
requests that are in the queue.
"""


def task_times(evidence: Evidence) -> tuple[TaskTime, ...]:
    """Returns where the time went, for each task and node of which CPU figures are known."""
    windows = [Window(task.name, node) for task in evidence.tasks for node in evidence.nodes or ("",)]
    cores = _cluster_cores(evidence)
    times = [_Budget(evidence, window, cores).divide() for window in windows]
    return tuple(task_time for task_time in times if task_time.shares)


def _cluster_cores(evidence: Evidence) -> float | None:
    """Returns the number of cores that all nodes may use, or None if it is not known of one of several. Nodes
    of one host may use the same ones: of a host that was not sampled, each node reports how many it may use,
    but not which, so that those of the host are at least the most of a node.
    """
    if len(evidence.all_nodes) < 2:
        return None
    on_host, elsewhere = 0.0, dict[str, float]()
    host_cores = evidence.number(Window(), "host.cores")
    for node in evidence.all_nodes:
        window = Window(node=node)
        usable = evidence.number(window, "host.usable_cores")
        available = evidence.number(window, "engine.available_processors")
        if usable is None and available is not None:
            host = evidence.hosts.get(node) or node
            elsewhere[host] = max(available, elsewhere.get(host, 0.0))
        elif (cores_of_node := usable or evidence.number(window, "host.cores")) is not None:
            on_host += cores_of_node
        else:
            return None
    return sum(elsewhere.values()) + (on_host if host_cores is None else min(on_host, host_cores))


class _Budget:
    """The time of all cores of a node in one window, which is given to causes."""

    def __init__(self, evidence: Evidence, window: Window, cluster_cores: float | None) -> None:
        """`cluster_cores` is the number of cores of all nodes, if there are several and it is known."""
        self._evidence = evidence
        self._window = window
        self._is_only_node = len(evidence.all_nodes) < 2
        self._cluster_cores = cluster_cores
        self._idle = 1.0
        self._excess = 0.0
        self._shares: list[TimeShare] = []
        self._missing: dict[str, str] = {}

    def divide(self) -> TaskTime:
        """Returns the shares of all causes."""
        self._running()
        self._idle_causes()
        waits = tuple(self._waits())
        shown = [share for share in self._shares if share.share >= SMALLEST]
        self._idle += sum(share.share for share in self._shares if share.share < SMALLEST)
        return TaskTime(
            self._window.task,
            "" if self._is_only_node else self._window.node,
            tuple(sorted(shown, key=lambda share: -share.share)),
            self._idle,
            waits,
            tuple(MissingFigure(name, reason) for name, reason in self._missing.items()),
            self._excess,
            self._may_use_all(),
        )

    def _number(self, name: str) -> float | None:
        value = self._evidence.value(self._window, name)
        if isinstance(value, Unknown):
            self._missing.update(value.reasons)
            return None
        return float(value) if isinstance(value, int | float) else None

    def _take(self, cause: str, share: float | None, source: str) -> float:
        """Gives a share to a cause, at most what is left, and returns it."""
        taken = min(max(share or 0.0, 0.0), self._idle)
        self._idle -= taken
        if taken > 0:
            self._shares.append(TimeShare(cause, taken, source))
        return taken

    def _running(self) -> None:
        """Gives the time in which cores were busy."""
        nodes, node = self._number("cpu.engine_share"), self._number("node.cpu_share")
        alone = self._is_only_node
        if nodes is not None and (alone or node is None):
            self._missing.pop("node.cpu_share", None)
            self._engine(nodes, "cpu.engine_share", divided=alone)
        elif node is not None:
            self._missing.pop("cpu.engine_share", None)
            self._engine(node, "node.cpu_share")
            # The JVM of a node counts only its own time.
            started = self._evidence.number(self._window, "cpu.started_share")
            self._use("processes that the node has started", started, "cpu.started_share")
            others = None if nodes is None else nodes - node - (started or 0.0)
            self._use("other nodes", others, "cpu.engine_share")
        driver, other = self._number("cpu.driver_share"), self._number("cpu.other_share")
        self._use("driver", driver, "cpu.driver_share")
        further = self._evidence.number(self._window, "cpu.further_engines_share")
        self._use("nodes of further clusters", further, "cpu.further_engines_share")
        self._use("other processes", other, "cpu.other_share")
        self._use("other guests of the host", self._number("cpu.steal_share"), "cpu.steal_share")
        if self._shares:
            rest = "other processes and interrupts" if other is None else "interrupts"
            self._rest_of_busy("driver and other processes" if driver is None else rest)

    def _rest_of_busy(self, cause: str) -> None:
        """Gives the busy time that is left to processes whose own time is not known: it was not idle."""
        idle = self._evidence.number(self._window, "cpu.idle_share")
        if idle is not None:
            self._take(cause, self._idle - idle, "cpu.idle_share")

    def _use(self, cause: str, share: float | None, source: str) -> None:
        """Gives busy time to a cause; what exceeds the whole is counted as excess."""
        taken = self._take(cause, share, source)
        self._excess += max((share or 0.0) - taken, 0.0)

    def _cores(self) -> float | None:
        available = self._evidence.number(self._window, "engine.available_processors")
        return self._host_cores() or available or self._number("engine.processors")

    def _host_cores(self) -> float | None:
        """Returns the number of cores of the host that the node may use."""
        usable = self._evidence.number(self._window, "host.usable_cores")
        return usable or self._number("host.cores")

    def _may_use_all(self) -> bool:
        usable = self._evidence.number(self._window, "host.usable_cores")
        host_cores = self._evidence.number(self._window, "host.cores")
        return usable is None or host_cores is None or usable >= host_cores

    def _engine(self, engine: float, source: str, *, divided: bool = True) -> None:
        """Divides the CPU time of a node: the collector's first, then what threads report. They report
        elapsed time, so that their sum can exceed their CPU time; their parts are then made smaller alike.
        The time of several nodes cannot be divided.
        """
        cores = self._cores() if divided else None
        collector = self._collector(cores)
        if collector is not None:
            collector = min(collector, engine)
        left = engine - self._take("collecting garbage in pauses", collector, "gc.pause_cpu_s")
        reported = {
            cause: (share / cores, name)
            for cause, name in _THREADS
            if cores and (share := self._number(name)) is not None
        }
        total = sum(share for share, _ in reported.values())
        scale = min(1.0, left / total) if total > 0 else 0.0
        for cause, (share, name) in reported.items():
            left -= self._take(cause, share * scale, name)
        self._use("other work of the engine" if divided else "all nodes", left, source)

    def _collector(self, cores: float | None) -> float | None:
        spent, window = self._number("gc.pause_cpu_s"), self._number("task.window_s")
        return spent / (window * cores) if spent is not None and window and cores else None

    def _idle_causes(self) -> None:
        """Gives the time in which cores were idle."""
        if not self._shares:
            return
        stopped = self._number("gc.stop_share")
        in_pauses = next((part.share for part in self._shares if part.source == "gc.pause_cpu_s"), 0.0)
        if stopped is not None:
            self._take("stopped threads", stopped - in_pauses, "gc.stop_share")
        self._take("CPU quota", self._number("cpu.throttled_share"), "cpu.throttled_share")
        self._take("waiting for disks", self._number("disk.wait_share"), "disk.wait_share")
        # The clients send their requests to all nodes.
        busy = self._number("task.busy_clients")
        cores = self._host_cores() if self._is_only_node else self._cluster_cores
        if busy is None or not cores:
            return
        if not self._runs_with_others():
            self._take("too few requests at a time", 1.0 - busy / cores, "task.busy_clients")
        inside = self._number("task.took_share")
        if inside is not None:
            share = (1.0 - inside) * min(1.0, busy / cores)
            self._take("requests outside the engine: network and driver", share, "task.took_share")

    def _runs_with_others(self) -> bool:
        """Returns whether other tasks sent requests as well, so that this one's do not show how many ran."""
        return any(task.beside for task in self._evidence.tasks if task.name == self._window.task)

    def _waits(self) -> Iterator[TimeShare]:
        for cause, name in _WAITS:
            if (share := self._number(name)) is not None and share > 0:
                yield TimeShare(cause, share, name)
        for cause, pool in _QUEUES:
            waiting, working = self._number(f"node.{pool}_queue"), self._number(f"node.{pool}_active")
            if not waiting or working is None:
                continue
            readings = self._number(f"node.{pool}_readings") or 0.0
            seen = round(readings * (waiting + working))
            if min(readings, seen) < _LEAST_READINGS:
                counted = f"{format_count(round(readings), 'reading')} with {format_count(seen, 'request')}"
                self._missing[f"node.{pool}_queue"] = f"{counted} are too few for a share"
            else:
                yield TimeShare(cause, waiting / (waiting + working), f"node.{pool}_queue")
