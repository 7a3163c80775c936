"""Figures of the host of a node while a task ran, from its sampled counters.

Their names and units are those of the host sampler in the catalogue of diagnosis. A figure whose counters the
kernel does not have is left out; it is never 0 instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, field

from pacenote.model.cpu_list import recorded_cpus
from pacenote.model.sampler_facts import sampler_facts
from pacenote.model.telemetry_cuts import CounterCut, TaskTelemetry, TaskTimes
from pacenote.stats.cpu_figures import DRIVER, CpuSet, cpu_figures, cpu_times, started_share, total_or_none
from pacenote.stats.cpu_frequency import frequency_figures
from pacenote.stats.cpu_history import Counters, CpuHistory
from pacenote.stats.device_history import (
    DeviceInterval,
    Point,
    busiest_share,
    queue_growth,
    quiet_await_ms,
    within,
)
from pacenote.stats.device_load import DeviceLoad, device_load
from pacenote.stats.host_limits import limited_memory, outer_throttling, well_covered, with_groups

Figures = dict[str, float | str]
"""Figures by name."""

SUSTAINED_S = 30.0
"""Length of the time in which a device must be busy to count as busy."""

_SPREAD_SHARE = 0.05
"""Share of the received packets from which on a CPU counts as one that handles them."""


class SampledHost(Struct, frozen=True):
    """What the race record says about the sampled host."""

    nodes: tuple[str, ...] = ()
    """Names of the nodes on this host."""

    devices: Mapping[str, tuple[str, ...]] | None = None
    """The devices behind the data paths of these nodes, each with the disks that it consists of."""

    link_bytes_per_s: Mapping[str, float] | None = None
    """Speeds of network interfaces, in bytes per second."""

    node_cpus: frozenset[int] = frozenset()
    """The CPUs that at least one of the nodes may use; empty for all."""

    process_cpus: Mapping[str, frozenset[int]] | None = None
    """The CPUs that nodes and driver may use, by their names, of those that may not use all."""

    group_readers: Mapping[str, str] = field(default_factory=dict)
    """The process under whose name the control group of another process is sampled, by that of the other."""

    unread_children: frozenset[str] = frozenset()
    """The nodes of which not all processes were read that they have started."""

    further_engines: tuple[str, ...] = ()
    """Names of the processes of nodes of further clusters on this host."""

    exact_interrupts: bool | None = None
    """Whether the kernel counts the time of interrupts for no process; None if that is not known."""

    interfaces: tuple[str, ...] = ()
    """The physical network interfaces; empty if they are not known."""

    partitions: Mapping[str, str] | None = None
    """The disk of each partition, by their names; None if they are not known."""

    @classmethod
    def from_record(cls, telemetry: Mapping[str, object], driver_cpus: str | None = None) -> SampledHost:
        """Reads `telemetry` of a race record; a race without the sampler has an empty host. `driver_cpus` are
        the selected ones, for races of earlier versions, which did not record the CPUs of single processes.
        """
        facts = sampler_facts(telemetry)
        if facts is None:
            return cls()
        process_cpus = facts.process_cpus
        if process_cpus is None:
            process_cpus = dict.fromkeys(facts.nodes, facts.node_cpus) if facts.node_cpus else {}
            own = recorded_cpus(driver_cpus)
            process_cpus |= {DRIVER: own} if own else {}
        return cls(
            facts.nodes,
            facts.devices,
            facts.link_bytes_per_s,
            facts.node_cpus,
            process_cpus,
            facts.group_readers,
            facts.unread_children,
            facts.further_engines,
            facts.exact_interrupts,
            facts.interfaces,
            facts.partitions,
        )

    def cpu_set(self, cpus: frozenset[int]) -> CpuSet:
        """Returns a set of its CPUs."""
        return CpuSet(
            cpus,
            self.nodes,
            self.process_cpus,
            self.exact_interrupts,
            self.unread_children,
            self.further_engines,
        )

    def cpus_of(self, node: str) -> frozenset[int]:
        """Returns the CPUs that a node may use; empty for all."""
        return (self.process_cpus or {}).get(node, frozenset())

    def own_cpus(self) -> dict[str, frozenset[int]]:
        """Returns the CPUs of each node that may not use the same ones as all nodes together."""
        return {node: self.cpus_of(node) for node in self.nodes if self.cpus_of(node) != self.node_cpus}


class HostHistory(Struct, frozen=True):
    """What the host did from sample to sample, over the whole race."""

    devices: Mapping[str, Sequence[DeviceInterval]] = field(default_factory=dict)
    """The load of the block devices, by name."""

    frequencies: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    """The frequencies of CPUs in Hz, by number."""

    cpu_times: Counters = field(default_factory=dict)
    """The times of CPUs and processes."""


def host_figures(
    telemetry: TaskTelemetry, task: TaskTimes, host: SampledHost, history: HostHistory
) -> Figures:
    """Returns the figures of a host while a task ran."""
    telemetry = with_groups(well_covered(telemetry, task), host.group_readers)
    figures = {
        **_cpu(telemetry, host, CpuHistory(history.cpu_times, task)),
        **_migrations(telemetry, host),
        **_memory(telemetry, host),
        **frequency_figures(history.frequencies, host.node_cpus, task),
        **_disk(telemetry, task, host, history.devices),
        **_network(telemetry, host),
    }
    figures.update(_quota_figures(telemetry, host.nodes, host.node_cpus))
    return figures


def node_cpu_figures(
    telemetry: TaskTelemetry, task: TaskTimes, host: SampledHost, history: HostHistory | None = None
) -> dict[str, Figures]:
    """Returns the figures of the CPUs of each node that may not use the same ones as all nodes together, and,
    of each of several nodes, those of its CPU quotas, and the time of the processes that it has started.
    """
    telemetry = with_groups(well_covered(telemetry, task), host.group_readers)
    of_cpus = None if history is None else CpuHistory(history.cpu_times, task)
    figures: dict[str, Figures] = {
        node: {**cpu_figures(telemetry, host.cpu_set(cpus), of_cpus)}
        for node, cpus in host.own_cpus().items()
    }
    quotas = {node: _quota_figures(telemetry, (node,), host.cpus_of(node)) for node in host.nodes}
    if len(host.nodes) > 1 and (names := {name for quota in quotas.values() for name in quota}):
        for node, quota in quotas.items():
            # A group without counters, such as the outermost one, has no quota.
            figures.setdefault(node, {}).update(dict.fromkeys(names, 0.0) | quota)
    for node in host.nodes if len(host.nodes) > 1 else ():
        if (started := started_share(telemetry, node, host.cpus_of(node))) is not None:
            figures.setdefault(node, {})["cpu.started_share"] = started
    return figures


def _cpu(telemetry: TaskTelemetry, host: SampledHost, history: CpuHistory) -> Figures:
    figures: Figures = {**cpu_figures(telemetry, host.cpu_set(host.node_cpus), history)}
    # The kernel counts these for all CPUs together.
    if not host.node_cpus:
        if (runnable := telemetry.gauge("cpu.runnable")) is not None:
            figures["cpu.runnable"] = runnable.mean
        _add(figures, "cpu.wait_share", _stalled(telemetry, "cpu.some"))
    _add(figures, "cpu.remote_memory_share", _share(telemetry, "numa.other", "numa.local", "numa.other"))
    return figures


def _quota_figures(telemetry: TaskTelemetry, nodes: Sequence[str], cpus: frozenset[int]) -> Figures:
    """Returns the figures of the one of these nodes that CPU quotas stopped longest: its own, and those of
    groups around it. The nodes may use these CPUs, or all if it is empty.
    """
    figures = _throttling(telemetry, nodes, sum(cpu_times(telemetry, cpus).values()))
    for name, value in outer_throttling(telemetry, nodes, len(cpus)).items():
        figures[name] = max(value, _number(figures, name))
    return figures


def _throttling(telemetry: TaskTelemetry, nodes: Sequence[str], cores_ms: float) -> Figures:
    """Returns the figures of the node that its CPU quota stopped longest; `cores_ms` is the time of all cores
    in milliseconds per second. The kernel adds the throttled time of all cores.
    """
    figures: Figures = {}
    for node in nodes:
        periods = telemetry.counter("cgroup.cpu_periods", process=node)
        stopped = telemetry.counter("cgroup.throttled_periods", process=node)
        time_ms = _per_s(telemetry.counter("cgroup.throttled_time", process=node))
        if periods is None or stopped is None or time_ms is None:
            continue
        share = stopped.increase / periods.increase if periods.increase > 0 else 0.0
        figures["cpu.throttled_periods_share"] = max(share, _number(figures, "cpu.throttled_periods_share"))
        if cores_ms > 0:
            figures["cpu.throttled_share"] = max(time_ms / cores_ms, _number(figures, "cpu.throttled_share"))
    return figures


def _memory(telemetry: TaskTelemetry, host: SampledHost) -> Figures:
    figures: Figures = {}
    available, total = telemetry.gauge("memory.available"), telemetry.gauge("memory.total")
    if available is not None and total is not None and total.mean > 0:
        figures["memory.available_share"] = available.min / total.mean
    if (cache := telemetry.gauge("memory.page_cache")) is not None:
        figures["memory.page_cache_bytes"] = cache.mean
    limited = limited_memory(telemetry, host.nodes, total.mean) if total is not None else {}
    if limited.get("memory.available_share", 1.0) < _number(figures, "memory.available_share"):
        figures |= limited
    swap, free = telemetry.gauge("memory.swap_total"), telemetry.gauge("memory.swap_free")
    if swap is not None and free is not None:
        figures["memory.swap_used_bytes"] = swap.max - free.min
    _add(figures, "memory.refaults_per_s", _per_s(telemetry.counter("memory.file_refaults")))
    _add(figures, "memory.swapped_in_per_s", _per_s(telemetry.counter("memory.swapped_in")))
    faults = [_per_s(telemetry.counter("process.major_faults", process=node)) for node in host.nodes]
    _add(figures, "memory.major_faults_per_s", total_or_none(faults))
    reads = [_per_s(telemetry.counter("process.read_bytes", process=node)) for node in host.nodes]
    _add(figures, "disk.engine_read_bytes_per_s", total_or_none(reads))
    if (kills := telemetry.counter("memory.oom_kills")) is not None:
        # Between two samples, it is known only as a fraction.
        figures["memory.oom_kills"] = float(round(kills.increase))
    _add(figures, "memory.wait_share", _stalled(telemetry, "memory.some"))
    return figures


def _migrations(telemetry: TaskTelemetry, host: SampledHost) -> Figures:
    figures: Figures = {}
    moves = [_per_s(telemetry.counter("process.migrations", process=node)) for node in host.nodes]
    _add(figures, "cpu.migrations_per_s", total_or_none(moves))
    driver = _per_s(telemetry.counter("process.migrations", process=DRIVER))
    _add(figures, "network.migrations_per_s", total_or_none([*moves, driver]))
    return figures


def _disk(
    telemetry: TaskTelemetry,
    task: TaskTimes,
    host: SampledHost,
    histories: Mapping[str, Sequence[DeviceInterval]],
) -> Figures:
    figures: Figures = {}
    _add(figures, "disk.wait_share", _stalled(telemetry, "io.full"))
    _add(figures, "disk.some_wait_share", _stalled(telemetry, "io.some"))
    names = sorted({labels["device"] for labels, _ in telemetry.counters("disk.busy_time")})
    loads = {name: load for name in names if (load := device_load(telemetry, name)) is not None}
    data = [loads[name] for name in host.devices or {} if name in loads]
    if not data:
        return figures
    load = max(data, key=lambda device: device.util_share)
    figures |= {
        "disk.device": load.device,
        "disk.util_share": load.util_share,
        "disk.queue": load.little_queue,
        "disk.read_bytes_per_s": load.reads.bytes_per_s,
        "disk.write_bytes_per_s": load.writes.bytes_per_s,
    }
    _add(figures, "disk.await_ms", load.await_ms)
    _add(figures, "disk.request_bytes", load.bytes_per_s / load.per_s if load.per_s > 0 else None)
    history = histories.get(load.device, ())
    _add(figures, "disk.await_quiet_ms", quiet_await_ms(history))
    _add(figures, "disk.util_30s_share", busiest_share(within(history, task), SUSTAINED_S))
    _add(figures, "disk.queue_growth", queue_growth(history, task))
    disks = (host.devices or {})[load.device]
    _add(figures, "disk.stripe_imbalance", stripe_imbalance([loads[disk] for disk in disks if disk in loads]))
    # A logical device with all its disks is one device.
    known = {name for device, disks in (host.devices or {}).items() for name in (device, *disks)}
    others = [each.util_share for name, each in loads.items() if not _belongs(name, known, host.partitions)]
    _add(figures, "disk.others_util_share", max(others, default=None))
    return figures


def stripe_imbalance(disks: Sequence[DeviceLoad]) -> float | None:
    """Returns the bytes per second of the busiest disk / their mean over all disks; None if there are fewer
    than two, or without traffic.
    """
    total = sum(disk.bytes_per_s for disk in disks)
    if len(disks) < 2 or total <= 0:  # a stripe has at least two disks
        return None
    return max(disk.bytes_per_s for disk in disks) * len(disks) / total


def _belongs(name: str, devices: Collection[str], partitions: Mapping[str, str] | None) -> bool:
    """Returns whether a device is one of these or a partition of one. If it was not recorded what the
    partitions are, their names tell: that of the disk and a number, after a `p` if the disk's name ends with
    a digit. `dm-10` is not a partition of `dm-1`.
    """
    if name in devices:
        return True
    if partitions:
        return partitions.get(name) in devices
    return any(
        re.fullmatch(rf"{re.escape(disk)}{'p' if disk[-1:].isdigit() else ''}\d+", name) for disk in devices
    )


def _network(telemetry: TaskTelemetry, host: SampledHost) -> Figures:
    figures: Figures = {}
    speeds = host.link_bytes_per_s or {}
    received, sent = (
        {labels["interface"]: _per_s(cut) or 0.0 for labels, cut in telemetry.counters(name)}
        for name in ("network.received_bytes", "network.sent_bytes")
    )
    # Bonds, bridges and other virtual interfaces count the packets of physical ones again. A record of an
    # earlier version has only the speeds, which virtual ones may have, too.
    names = [name for name in received if name in (host.interfaces or speeds)] or [
        name for name in received if name != "lo"
    ]
    if names:
        figures["network.bytes_per_s"] = sum(received[name] + sent.get(name, 0.0) for name in names)
        drops = [
            _per_s(cut)
            for name in ("network.receive_drops", "network.send_drops")
            for labels, cut in telemetry.counters(name)
            if labels["interface"] in names
        ]
        _add(
            figures, "network.drops_per_s", total_or_none([*drops, *_each_per_s(telemetry, "softnet.drops")])
        )
    shares = [max(received[name], sent.get(name, 0.0)) / speeds[name] for name in names if name in speeds]
    _add(figures, "network.link_share", max(shares, default=None))
    retransmitted = _share(telemetry, "tcp.retransmissions", "tcp.sent_segments")
    _add(figures, "network.retransmit_share", retransmitted)
    _add(figures, "network.squeezes_per_s", total_or_none(_each_per_s(telemetry, "softnet.time_squeezes")))
    packets = {labels["cpu"]: cut.increase for labels, cut in telemetry.counters("softirq.net_rx")}
    total = sum(packets.values())
    if total > 0:
        handled = [count for count in packets.values() if count >= _SPREAD_SHARE * total]
        figures["network.softirq_cpus"] = float(len(handled))
        busiest = max(packets, key=lambda cpu: packets[cpu])
        time_ms = _per_s(telemetry.counter("cpu.softirq", cpu=busiest))
        _add(figures, "network.softirq_busiest_share", None if time_ms is None else time_ms / 1e3)
    return figures


def _per_s(cut: CounterCut | None) -> float | None:
    return None if cut is None else cut.per_s


def _each_per_s(telemetry: TaskTelemetry, name: str) -> Iterator[float | None]:
    return (cut.per_s for _, cut in telemetry.counters(name))


def _stalled(telemetry: TaskTelemetry, name: str) -> float | None:
    """Returns the share of the time for which tasks were stalled."""
    per_s = _per_s(telemetry.counter(f"pressure.{name}"))
    return None if per_s is None else per_s / 1e3


def _share(telemetry: TaskTelemetry, part: str, *whole: str) -> float | None:
    """Returns how much of the growth of the counters `whole` is that of the counter `part`."""
    total = total_or_none(_per_s(telemetry.counter(name)) for name in whole)
    part_per_s = _per_s(telemetry.counter(part))
    return part_per_s / total if part_per_s is not None and total else None


def _number(figures: Figures, name: str) -> float:
    value = figures.get(name, 0.0)
    return value if isinstance(value, float) else 0.0


def _add(figures: Figures, name: str, value: float | None) -> None:
    if value is not None:
        figures[name] = value
