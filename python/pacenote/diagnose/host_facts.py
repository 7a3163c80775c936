"""The figures that the host sampler has, by task: of the machine, and of the processes of the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.telemetry_series import CutRace, CutTask, TaskSeries, ratio, total

SOURCE = "host"
"""The source of the samples."""

DRIVER = "driver"
"""The process of the driver."""

BUSY_TIME = "disk.busy_time"
"""The counter from which the busiest part of a task is found."""

_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_PAGE = 4096
_BUSIEST_S = 30.0
_RECEIVES = 0.05
_LOOPBACK = "lo"

_Figures = Iterator[tuple[str, float | str | None]]
Points = Sequence[tuple[int, float | None]]
"""Times in nanoseconds since 1970, and the values of a series; None for a gap."""


@dataclass(frozen=True, slots=True)
class HostParts:
    """What the configuration says about the machine."""

    nodes: tuple[str, ...] = ()
    """Names of the nodes that run on it."""

    devices: Mapping[str, str] = field(default_factory=dict)
    """The device with the data by node."""

    link_bytes_per_s: float | None = None
    """Speed of the only link."""

    busy: Mapping[str, Points] = field(default_factory=dict)
    """The values of `disk.busy_time`, in milliseconds, by device."""


def add_host_figures(builder: EvidenceBuilder, cuts: CutRace, parts: HostParts) -> None:
    """Adds the figures of all tasks."""
    seen = False
    for number, task in enumerate(cuts.tasks):
        series = cuts.of_task(number, SOURCE)
        seen = seen or not series.is_empty
        for name, value in _machine_figures(series, parts):
            builder.set(Window(task.task), name, value)
        for node in parts.nodes:
            for name, value in (*_process_figures(series, node), *_disk_figures(series, task, node, parts)):
                builder.set(Window(task.task, node), name, value)
    if not seen:
        builder.miss("host sampler", "the host was not sampled")


def _cpu_times(series: TaskSeries) -> dict[str, float]:
    """Returns the time of all cores by state; a state that the kernel does not count is missing."""
    times = {state: series.per_s(f"cpu.{state}") for state in _STATES}
    return {state: value for state, value in times.items() if value is not None}


def _machine_figures(series: TaskSeries, parts: HostParts) -> _Figures:
    times = _cpu_times(series)
    whole = sum(times.values())
    if whole > 0:
        yield from _cpu_figures(series, times, parts)
    yield "cpu.runnable", series.mean("cpu.runnable")
    yield "cpu.wait_share", series.share("pressure.cpu.some")
    remote, local = series.per_s("numa.other"), series.per_s("numa.local")
    yield "cpu.remote_memory_share", ratio(remote, total((remote, local)))
    yield from _memory_figures(series)
    yield "disk.wait_share", series.share("pressure.io.full")
    yield "disk.some_wait_share", series.share("pressure.io.some")
    yield from _network_figures(series, parts)


def _cpu_figures(series: TaskSeries, times: Mapping[str, float], parts: HostParts) -> _Figures:
    whole = sum(times.values())

    def part(*states: str) -> float:
        return sum(times.get(state, 0.0) for state in states) / whole

    idle = part("idle", "iowait")
    yield "cpu.idle_share", idle
    yield "cpu.user_share", part("user", "nice")
    yield "cpu.system_share", part("system", "irq", "softirq")
    yield "cpu.steal_share", part("steal") if "steal" in times else None
    own = [ratio(_process_time(series, name), whole) for name in (*parts.nodes, DRIVER)]
    yield "cpu.driver_share", own[-1]
    known = [value for value in own if value is not None]
    if parts.nodes and len(known) == len(own):
        yield "cpu.other_share", max(0.0, 1 - idle - part("steal") - sum(known))


def _process_time(series: TaskSeries, process: str) -> float | None:
    return total(series.per_s(f"process.{which}", process=process) for which in ("user", "system"))


def _process_figures(series: TaskSeries, node: str) -> _Figures:
    """Yields the figures of the process of a node and of its control group."""
    whole = sum(_cpu_times(series).values())
    yield "cpu.engine_share", ratio(_process_time(series, node), whole or None)
    periods = series.increase("cgroup.cpu_periods", process=node)
    throttled = series.increase("cgroup.throttled_periods", process=node)
    yield "cpu.throttled_periods_share", ratio(throttled, periods)
    if periods:
        time = series.share("cgroup.throttled_time", process=node)
        yield "cpu.throttled_share", None if time is None else min(1.0, time)
    yield "memory.major_faults_per_s", series.per_s("process.major_faults", process=node)


def _memory_figures(series: TaskSeries) -> _Figures:
    available = series.smallest("memory.available")
    yield "memory.available_share", ratio(available, series.largest("memory.total"))
    yield "memory.page_cache_bytes", series.mean("memory.page_cache")
    yield "memory.refaults_per_s", series.per_s("memory.file_refaults")
    swapped = series.per_s("memory.swapped_in")
    yield "memory.swapped_in_per_s", None if swapped is None else swapped / _PAGE
    size, free = series.largest("memory.swap_total"), series.smallest("memory.swap_free")
    if size is not None and free is not None:
        yield "memory.swap_used_bytes", max(0.0, size - free)
    kills = series.increase("memory.oom_kills")
    yield "memory.oom_kills", None if kills is None else round(kills)
    yield "memory.wait_share", series.share("pressure.memory.some")


def _disk_figures(series: TaskSeries, task: CutTask, node: str, parts: HostParts) -> _Figures:
    device = parts.devices.get(node)
    if device is None:
        return
    yield "disk.util_share", series.share(BUSY_TIME, device=device)
    yield "disk.util_30s_share", busiest_share(parts.busy.get(device, ()), task)
    operations = total(series.per_s(f"disk.{which}", device=device) for which in ("reads", "writes"))
    time = total(series.per_s(f"disk.{which}_time", device=device) for which in ("read", "write"))
    yield "disk.await_ms", ratio(time, operations)
    yield "disk.queue", None if time is None else time / 1000
    read, written = (series.per_s(f"disk.{which}_bytes", device=device) for which in ("read", "write"))
    yield "disk.read_bytes_per_s", read
    yield "disk.write_bytes_per_s", written
    yield "disk.request_bytes", ratio(total((read, written)), operations)
    # A partition, and the device that it is a part of, are not others.
    others = [
        name
        for name in series.values_of(BUSY_TIME, "device")
        if not name.startswith(device) and not device.startswith(name)
    ]
    shares = [series.share(BUSY_TIME, device=name) for name in others]
    yield "disk.others_util_share", max((share for share in shares if share is not None), default=None)


def busiest_share(points: Points, task: CutTask) -> float | None:
    """Returns the part of the busiest 30 s of a task for which a device was busy, from the values of its busy
    time in milliseconds; of the whole task if it is shorter, or None if too few values are known.
    """
    known = [
        (time / 1e9, value)
        for time, value in points
        if value is not None and task.begin_ns <= time <= task.end_ns
    ]
    if len(known) < 2:
        return None
    length = min(_BUSIEST_S, known[-1][0] - known[0][0])
    best, end = None, 0
    for begin, (since, before) in enumerate(known):
        end = max(end, begin + 1)
        while end < len(known) and known[end][0] - since < length * 0.99:
            end += 1
        if end >= len(known):
            break
        share = (known[end][1] - before) / 1000 / (known[end][0] - since)
        best = share if best is None else max(best, share)
    return None if best is None else min(1.0, max(0.0, best))


def _network_figures(series: TaskSeries, parts: HostParts) -> _Figures:
    names = [name for name in series.values_of("network.received_bytes", "interface") if name != _LOOPBACK]
    ways = [
        total(series.per_s(f"network.{way}_bytes", interface=name) for name in names)
        for way in ("received", "sent")
    ]
    yield "network.bytes_per_s", total(ways)
    if parts.link_bytes_per_s is not None and None not in ways:
        yield "network.link_share", max(way for way in ways if way is not None) / parts.link_bytes_per_s
    again = series.per_s("tcp.retransmissions")
    yield "network.retransmit_share", ratio(again, series.per_s("tcp.sent_segments"))
    lost = [
        series.per_s(f"network.{way}_drops", interface=name) for name in names for way in ("receive", "send")
    ]
    cpus = series.values_of("softnet.drops", "cpu")
    yield "network.drops_per_s", total((*lost, *(series.per_s("softnet.drops", cpu=cpu) for cpu in cpus)))
    squeezes = (series.per_s("softnet.time_squeezes", cpu=cpu) for cpu in cpus)
    yield "network.squeezes_per_s", total(squeezes)
    yield from _softirq_figures(series)


def _softirq_figures(series: TaskSeries) -> _Figures:
    cpus = series.values_of("softirq.net_rx", "cpu")
    received = [value for cpu in cpus if (value := series.per_s("softirq.net_rx", cpu=cpu)) is not None]
    if sum(received) > 0:
        yield "network.softirq_cpus", sum(value >= _RECEIVES * sum(received) for value in received)
    times = [series.share("cpu.softirq", cpu=cpu) for cpu in series.values_of("cpu.softirq", "cpu")]
    yield "network.softirq_busiest_share", max((each for each in times if each is not None), default=None)
