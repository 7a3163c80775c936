"""Figures of the CPUs that the nodes of a host may use, while a task ran.

A node cannot use other CPUs, whatever these do, so the whole is the time of its own ones. The kernel counts
the time of a process on all CPUs together: how much of it a process which may also use others had on these is
not known, unless it can only be a negligible part of their time. Other programs then had at least what all
time of such a driver leaves.

If it is not known whether the kernel counts interrupts for the processes that they stop, other programs had
at least the busy time without engine, driver and interrupts, and at most that without engine and driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from pacenote.model.reported_cpu import (
    NEGLIGIBLE_SHARE,
    contended_part,
    is_bound_without_waits,
    lacked_share,
)
from pacenote.model.sampler_facts import CHILDREN, CPU_STATES, FREE_STATES, INTERRUPT_STATES
from pacenote.model.telemetry_cuts import CounterCut, TaskTelemetry
from pacenote.stats.cpu_history import CpuHistory

DRIVER = "driver"
"""Name of the process of the driver."""

_MS = 1e3


class CpuSet(Struct, frozen=True):
    """The CPUs whose figures are wanted."""

    cpus: frozenset[int] = frozenset()
    """Their numbers; empty for all."""

    nodes: tuple[str, ...] = ()
    """Names of the nodes on this host."""

    process_cpus: Mapping[str, frozenset[int]] | None = None
    """The CPUs that nodes and driver may use, by their names, of those that may not use all."""

    exact_interrupts: bool | None = None
    """Whether the kernel counts the time of interrupts for no process; None if that is not known."""

    unread_children: frozenset[str] = frozenset()
    """The nodes of which not all processes were read that they have started."""

    further_engines: tuple[str, ...] = ()
    """Names of processes of nodes of further clusters on this host, which do not count as other programs."""

    @property
    def beside(self) -> tuple[str, ...]:
        """The processes of the race beside its nodes."""
        return (*self.further_engines, DRIVER)

    def is_within(self, process: str) -> bool:
        """Returns whether a process may use no other CPUs than these."""
        allowed = (self.process_cpus or {}).get(process, frozenset())
        return not self.cpus or bool(allowed and allowed <= self.cpus)

    def is_outside(self, process: str) -> bool:
        """Returns whether a process may use none of these CPUs."""
        allowed = (self.process_cpus or {}).get(process, frozenset())
        return bool(self.cpus and allowed) and not allowed & self.cpus


def cpu_figures(
    telemetry: TaskTelemetry, wanted: CpuSet, history: CpuHistory | None = None
) -> dict[str, float]:
    """Returns the figures of the CPUs, without those that the kernel does not count for them. `history` says
    when they were idle during the task; without it, they are taken to have been so evenly.
    """
    times = cpu_times(telemetry, wanted.cpus)
    total = sum(times.values())
    if total <= 0:
        return {}

    def share(*states: str) -> float:
        return sum(times.get(state, 0.0) for state in states) / total

    figures = {"cpu.user_share": share("user", "nice"), "cpu.system_share": share("system", "irq", "softirq")}
    if "idle" in times:
        figures["cpu.idle_share"] = share("idle", "iowait")
    if "steal" in times:
        figures["cpu.steal_share"] = share("steal")
    busy_ms = sum(ms for state, ms in times.items() if state not in FREE_STATES)
    used = _processes(telemetry, wanted, busy_ms, NEGLIGIBLE_SHARE * total)
    engine = total_or_none(used[node] for node in wanted.nodes)
    if engine is not None:
        figures["cpu.engine_share"] = engine / total
    if (driver := used[DRIVER]) is not None:
        figures["cpu.driver_share"] = driver / total
    further = total_or_none(used[name] for name in wanted.further_engines)
    if further is not None:
        figures["cpu.further_engines_share"] = further / total
    beside = total_or_none(used[name] for name in wanted.beside)
    # They had at most all of their time on these CPUs.
    most = total_or_none(
        _cpu_time(telemetry, name, wanted) if used[name] is None else used[name] for name in wanted.beside
    )
    # Without the processes of nodes, the engine may be one of the others.
    others = None
    if engine is not None and most is not None:
        interrupts_ms = sum(times.get(state, 0.0) for state in INTERRUPT_STATES)
        others = _Others.of(busy_ms - engine - most, interrupts_ms, wanted.exact_interrupts).divided_by(total)
        others = others.bounded_by(
            _contended(history, wanted, total),
            contended_part(figures.get("cpu.idle_share", 0.0), total / 1_000),
        )
        if beside is not None and others.most - others.least <= NEGLIGIBLE_SHARE:
            figures["cpu.other_share"] = others.least
        elif others.least > 0:
            figures["cpu.other_least_share"] = others.least
    waits = _Waits(telemetry, wanted, total)
    of_race = _Beside(None if beside is None else beside / total, 0.0 if most is None else most / total)
    figures.update(waits.figures(figures, of_race, others))
    return figures


class _Beside(Struct, frozen=True):
    """What driver and further engines had of some CPUs, as a share of their time."""

    share: float | None
    """That, or None if it is not known."""

    most: float
    """What they had at most."""


class _Others(Struct, frozen=True):
    """What other programs had of some CPUs, without the whole time of driver and further engines."""

    least: float
    """What they had at least."""

    most: float
    """What they had at most."""

    contended: float = 0.0
    """What they had at most while hardly any of the CPUs was idle: for the rest, the engine did not wait."""

    @classmethod
    def of(cls, left: float, interrupts: float, exact: bool | None) -> _Others:
        """Returns it from the busy time that engines and driver left. A kernel with exact times of interrupts
        counts them for no process. Of one without, all but the interrupts of idle CPUs are in the times of
        processes.
        """
        least = left if exact is False else left - interrupts
        most = left - interrupts if exact else left
        return cls(max(least, 0.0), max(most, 0.0))

    def divided_by(self, total: float) -> _Others:
        """Returns both as shares of a time."""
        return _Others(self.least / total, self.most / total)

    def bounded_by(self, contended: float | None, part: float) -> _Others:
        """Returns them with what they had while hardly any CPU was idle; if that is not known, with this part
        of all.
        """
        if contended is None:
            contended = self.most * part
        return _Others(self.least, self.most, min(self.most, contended))


def _contended(history: CpuHistory | None, wanted: CpuSet, total_ms: float) -> float | None:
    """Returns what other programs had at most while hardly any CPU was idle, as a share of the time of all,
    which is `total_ms` per second; None if that is not known.
    """
    processes = [name for name in (*wanted.nodes, *wanted.beside) if not wanted.is_outside(name)]
    ms = None if history is None else history.contended_ms(wanted.cpus, processes, total_ms)
    return None if ms is None else ms / total_ms


def cpu_times(telemetry: TaskTelemetry, cpus: frozenset[int] = frozenset()) -> dict[str, float]:
    """Returns the milliseconds per second that these CPUs were in each state; none means all. Empty if
    that is not known of one of them.
    """
    times_by_cpu = [_times_of(telemetry, cpu=str(cpu)) for cpu in cpus] or [_times_of(telemetry)]
    if not all("idle" in times for times in times_by_cpu) and cpus:
        return {}
    states = [state for state in CPU_STATES if all(state in times for times in times_by_cpu)]
    return {state: sum(times[state] for times in times_by_cpu) for state in states}


def total_or_none(values: Iterable[float | None]) -> float | None:
    """Returns the sum, or None if a value is unknown or there are none."""
    total, count = 0.0, 0
    for value in values:
        if value is None:
            return None
        total += value
        count += 1
    return total if count else None


def _times_of(telemetry: TaskTelemetry, **labels: str) -> dict[str, float]:
    times = {state: _per_s(telemetry.counter(f"cpu.{state}", **labels)) for state in CPU_STATES}
    return {state: per_s for state, per_s in times.items() if per_s is not None}


def started_share(telemetry: TaskTelemetry, node: str, cpus: frozenset[int]) -> float | None:
    """Returns the time of the processes that a node has started as a share of that of the CPUs that it may
    use, all if there are none; None if it is not known.
    """
    started, total = (
        _per_s(telemetry.counter(CHILDREN, process=node)),
        sum(cpu_times(telemetry, cpus).values()),
    )
    return None if started is None or total <= 0 else started / total


def _processes(
    telemetry: TaskTelemetry, wanted: CpuSet, busy_ms: float, negligible_ms: float
) -> dict[str, float | None]:
    """Returns the time of engines and driver on the CPUs in milliseconds per second; None if it is unknown.
    Those that may use other CPUs, too, come last: they had at most what the others left of the busy time.
    """
    times = dict[str, float | None]()
    left = busy_ms
    for process in sorted((*wanted.nodes, *wanted.beside), key=lambda name: not wanted.is_within(name)):
        used = 0.0 if wanted.is_outside(process) else _cpu_time(telemetry, process, wanted)
        if used is not None and not wanted.is_within(process):
            most = min(used, left)
            used = most if most <= negligible_ms else None
        times[process] = used
        left = max(left - (used or 0.0), 0.0)
    return times


def _cpu_time(telemetry: TaskTelemetry, process: str, wanted: CpuSet) -> float | None:
    """Returns the time of a process and of those that it has started, in milliseconds per second. Races of
    earlier versions did not record the latter.
    """
    own = _own_cpu_time(telemetry, process)
    children = _per_s(telemetry.counter(CHILDREN, process=process))
    if children is None and process in wanted.unread_children:
        return None
    return None if own is None else own + (children or 0.0)


def _own_cpu_time(telemetry: TaskTelemetry, process: str) -> float | None:
    names = ("process.user", "process.system")
    return total_or_none(_per_s(telemetry.counter(name, process=process)) for name in names)


class _Waits:
    """For how long threads of the engine waited for CPUs, and what others had of these meanwhile.

    The threads also wait for driver and further engines, whose time comes first, and for each other, which
    takes nothing from the engine and is not counted apart: even while most CPUs are idle, threads that wake
    each other wait. They do not wait for others then, so that only what these had without idle time counts.
    Of what other guests of the host had, the engine lacked its part of the busy time. While its CPU quota
    stops it, it could not have used more, although the kernel counts that its threads wait. It is not known
    for which CPUs a node waited that may use others, too.
    """

    def __init__(self, telemetry: TaskTelemetry, wanted: CpuSet, total_ms: float) -> None:
        """`total_ms` is the time of the CPUs in milliseconds per second."""
        self._nodes = [node for node in wanted.nodes if not wanted.is_outside(node)]
        self._is_known = all(wanted.is_within(node) for node in self._nodes)
        waiting = total_or_none(_run_queue_wait(telemetry, node) for node in self._nodes)
        self._waiting_ms = waiting
        self._share = None if waiting is None else waiting / total_ms
        self._stopped = [_stopped_share(telemetry, node) for node in self._nodes]

    def figures(
        self, shares: Mapping[str, float], beside: _Beside, others: _Others | None
    ) -> dict[str, float]:
        """Returns the figures of waits; `shares` are those of the CPUs, and `others` is what other programs
        had, if that is known.
        """
        if not self._is_known:
            return {}
        figures = {} if self._waiting_ms is None else {"cpu.engine_waiting": self._waiting_ms / _MS}
        engine = shares.get("cpu.engine_share")
        if engine is None or others is None:
            return figures
        if beside.share is None:
            least = self._taken_at_least(min(others.least, others.contended), beside.most)
            if least > 0 and (share := lacked_share(engine, least)) is not None:
                figures["cpu.lacked_least_share"] = share
        elif (share := lacked_share(engine, self._taken(shares, beside.share, others.contended))) is not None:
            if self._is_bound(shares, others.contended):
                return {**figures, "cpu.lacked_share": share}
            figures["cpu.lacked_possible_share"] = share
            # What guests of the host had is counted without waits.
            if stolen := lacked_share(engine, self._stolen(shares)):
                figures["cpu.lacked_least_share"] = stolen
        return figures

    def _is_bound(self, shares: Mapping[str, float], others: float) -> bool:
        """Returns whether it is known what the engine lacked at most: the waits may not be counted by the
        kernel, or not have been read during so short a task.
        """
        if self._share is not None:
            return True
        idle = shares.get("cpu.idle_share", 1.0)
        taken = others * self._free_of_quota
        return is_bound_without_waits(idle, lacked_share(shares["cpu.engine_share"], taken))

    @property
    def _free_of_quota(self) -> float:
        """The part of the time in which no CPU quota stopped the node that was stopped least."""
        return 1.0 - min(self._stopped, default=0.0)

    def _taken(self, shares: Mapping[str, float], beside: float, others: float) -> float:
        """Returns what others had at most while the engine waited; driver and further engines had the share
        `beside`. If it is not known when it waited, it may have done so for all that others had without idle
        time.
        """
        waited = others if self._share is None else max(self._share - beside, 0.0)
        taken = min(waited, others)
        return taken * self._free_of_quota + self._stolen(shares)

    def _stolen(self, shares: Mapping[str, float]) -> float:
        """Returns what other guests of the host took from the engine."""
        steal = shares.get("cpu.steal_share", 0.0)
        busy = 1.0 - shares.get("cpu.idle_share", 0.0) - steal
        taken = steal * shares["cpu.engine_share"] / busy if busy > 0 else 0.0
        return taken * self._free_of_quota

    def _taken_at_least(self, others_least: float, beside_most: float) -> float:
        """Returns what other programs had while the engine waited, if the engine waited for driver and
        further engines whenever these had a CPU: without the time of other guests, which it may not have
        missed.
        """
        waited = max((self._share or 0.0) - beside_most, 0.0)
        return min(waited, others_least) * (1.0 - max(self._stopped, default=0.0))


def _run_queue_wait(telemetry: TaskTelemetry, node: str) -> float | None:
    """Returns for how long the threads of a node waited for a CPU, in milliseconds per second."""
    return total_or_none(_per_s(cut) for _, cut in telemetry.counters("process.run_queue_wait", process=node))


def _stopped_share(telemetry: TaskTelemetry, node: str) -> float:
    """Returns the share of the periods of its CPU quota in which a node was stopped: of the quota of its own
    group or of one around it that stopped it in most of them.
    """
    shares = [0.0]
    for labels, periods in telemetry.counters("cgroup.cpu_periods", process=node):
        stopped = telemetry.counter("cgroup.throttled_periods", **labels)
        if stopped is not None and periods.increase > 0:
            shares.append(min(1.0, stopped.increase / periods.increase))
    return max(shares)


def _per_s(cut: CounterCut | None) -> float | None:
    return None if cut is None else cut.per_s
