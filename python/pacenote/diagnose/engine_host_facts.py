"""The figures of hosts that are not sampled, as far as the engine's nodes report them.

They have the names of those of the host sampler, and the node counters as their source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.reported_cpu import NodePlace, ReportedCpu, local_driver, reported_cpu
from pacenote.model.same_machine import NODES
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_series import TaskSeries, ratio, total

SOURCE = "node counters"
"""The source of these figures in the catalogue."""

_DEVICE = "node-counters"
_DISK = "fs.io_stats.devices"
_NO_AVAILABLE = "the engine reports free memory without that of the page cache"
_NO_WAITS = "the engine does not report for how long its threads wait for a processor"
_WITH_DRIVER = "the driver may run on the host of this node, and have had a part of that time"
_WITH_NODES = "other nodes may be containers of the same host, and have had a part of that time"
_OTHER_LOAD = "the load that the node reports is not that of the processors that it may use"
_NO_HISTORY = "the engine's counters are not read often enough"

_Figures = Iterator[tuple[str, float | str | None]]


class _Disk(Struct, frozen=True):
    """A device below the data folders of a node."""

    name: str
    util_share: float
    per_s: float | None
    time_share: float | None
    read_kib_per_s: float | None
    written_kib_per_s: float | None


def add_engine_host_figures(
    builder: EvidenceBuilder,
    cuts: TelemetryCuts,
    sampled: Collection[str],
    places: Mapping[str, NodePlace] = MappingProxyType({}),
) -> None:
    """Adds the figures of the hosts of all nodes but those whose hosts were sampled, by task. `places` is
    where nodes run.
    """
    evidence = builder.build()
    for task in cuts.tasks:
        series = TaskSeries(cuts.of_source(_DEVICE, task.task), task.duration_s)
        driver = local_driver(cuts, task.task, task.duration_s)
        for node in series.values_of(NODES, "node"):
            if node in sampled:
                continue
            window = Window(task.task, node)
            # `node.processors` changes the number that the engine assumes, but not what it can use.
            cores = evidence.number(window, "engine.available_processors")
            known = cores or evidence.number(window, "engine.processors") or None
            reported = reported_cpu(series, node, known, places.get(node, NodePlace()), driver)
            for name, value in (*_cpu(reported), *_throttling(series, node, known), *_disks(series, node)):
                builder.set(window, name, value, SOURCE)
            for name, reason in _missing_cpu(reported):
                builder.miss(name, reason, window)
            swap = series.largest("os.swap.used", node=node)
            builder.set(window, "memory.swap_used_bytes", swap, SOURCE)
            builder.miss("memory.available_share", _NO_AVAILABLE, window)
            for name in ("disk.util_30s_share", "disk.await_quiet_ms", "disk.queue_growth"):
                builder.miss(name, _NO_HISTORY, window)


def _cpu(reported: ReportedCpu) -> _Figures:
    yield "cpu.engine_share", reported.engine_share
    yield "cpu.idle_share", reported.idle_share
    yield "cpu.other_share", reported.other_share
    yield "cpu.other_least_share", reported.other_least_share
    yield "cpu.lacked_share", reported.lacked_share
    yield "cpu.lacked_possible_share", reported.lacked_possible_share
    yield "cpu.lacked_least_share", reported.lacked_least_share


def _missing_cpu(reported: ReportedCpu) -> Iterator[tuple[str, str]]:
    """Yields why figures of processors are missing although the load of the host is known."""
    if reported.other_least_share is not None:
        reason = _WITH_NODES if reported.is_with_others else _WITH_DRIVER
        yield "cpu.other_share", reason
        yield "cpu.lacked_share", reason
    elif reported.lacked_possible_share is not None:
        yield "cpu.lacked_share", _NO_WAITS
    elif reported.is_of_other_processors:
        for name in ("cpu.idle_share", "cpu.other_share", "cpu.lacked_share"):
            yield name, _OTHER_LOAD


def _throttling(series: TaskSeries, node: str, cores: float | None) -> _Figures:
    stat = "os.cgroup.cpu.stat"
    periods = series.increase(f"{stat}.number_of_elapsed_periods", node=node)
    stopped = series.increase(f"{stat}.number_of_times_throttled", node=node)
    if periods is not None and stopped is not None:
        yield "cpu.throttled_periods_share", stopped / periods if periods > 0 else 0.0
    ns_per_s = series.per_s(f"{stat}.time_throttled", node=node)
    yield "cpu.throttled_share", None if ns_per_s is None else ratio(ns_per_s / 1e9, cores)


def _disks(series: TaskSeries, node: str) -> _Figures:
    """Yields the figures of the busiest of the devices below the data folders."""
    names = series.values_of(f"{_DISK}.operations", "device")
    disks = [disk for name in names if (disk := _disk(series, node, name)) is not None]
    if not disks:
        return
    disk = max(disks, key=lambda device: device.util_share)
    yield "disk.device", disk.name
    yield "disk.util_share", disk.util_share
    yield "disk.queue", disk.time_share
    wait = ratio(disk.time_share, disk.per_s)
    yield "disk.await_ms", None if wait is None else wait * 1000
    for name, kib in (("read", disk.read_kib_per_s), ("write", disk.written_kib_per_s)):
        yield f"disk.{name}_bytes_per_s", None if kib is None else kib * 1024
    transferred = total((disk.read_kib_per_s, disk.written_kib_per_s))
    yield "disk.request_bytes", None if transferred is None else ratio(transferred * 1024, disk.per_s)


def _disk(series: TaskSeries, node: str, name: str) -> _Disk | None:
    """Returns what a device did, or None if its time is not known, as in old versions of the engine."""

    def per_s(key: str) -> float | None:
        return series.per_s(f"{_DISK}.{key}", node=node, device=name)

    busy_ms, times = per_s("io_time"), [per_s("read_time"), per_s("write_time")]
    if busy_ms is None:
        return None
    return _Disk(
        name=name,
        util_share=min(busy_ms / 1000, 1.0),
        per_s=per_s("operations"),
        time_share=None if None in times else (total(times) or 0.0) / 1000,
        read_kib_per_s=per_s("read_kilobytes"),
        written_kib_per_s=per_s("write_kilobytes"),
    )
