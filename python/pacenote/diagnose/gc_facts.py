"""The figures that the log of the garbage collector has, by task and node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.gc_log import Durations, GcLog, GcStatistics
from pacenote.model.telemetry_series import ratio

_YOUNG = ("Young", "Scavenge", "Nursery")
"""Beginnings of the names of pauses that collect the young generation."""

_FEW_PAUSES = 100
"""Number of pauses below which the longest one stands for their p99."""

_CPUS = re.compile(r"(?:\d+ total, )?(\d+)(?: available)?")
"""The processors as HotSpot prints them, or as OpenJ9 does."""

_Figures = Iterator[tuple[str, float | str | None]]


def add_gc_figures(
    builder: EvidenceBuilder,
    window: Window,
    log: GcLog,
    between: tuple[float, float],
    *,
    is_cut: bool = False,
) -> None:
    """Adds the figures of a window, given also in seconds since 1970. Of a log that is cut, nothing is known
    after its last line. Of a window that is incomplete, only the settings are known: a lower bound would
    rule out what it cannot rule out.
    """
    statistics = log.statistics
    if statistics.is_incomplete:
        for name, value in _settings(log):
            builder.set(window, name, value)
        return
    figures = (
        *_settings(log),
        *_coverage(log, between, is_cut=is_cut),
        *_stops(statistics),
        ("gc.concurrent_cpu_share", _concurrent_cpu_share(log)),
        *_heap(log),
        *_copied(log),
        *_troubles(log),
        *_large_allocations(log),
    )
    for name, value in figures:
        builder.set(window, name, value)


def _settings(log: GcLog) -> _Figures:
    yield "gc.collector", log.jvm.collector
    region = log.jvm.region_bytes
    yield "gc.region_bytes", region


def _coverage(log: GcLog, between: tuple[float, float], *, is_cut: bool) -> _Figures:
    begin, end = between
    if log.start is None or log.end is None or end <= begin:
        return
    # A collector writes nothing while it does not collect: the log goes on until its last line at least.
    last = min(log.end, end) if is_cut else end
    covered = last - max(begin, min(log.start, end))
    yield "gc.coverage_share", max(0.0, covered) / (end - begin)


def _stops(statistics: GcStatistics) -> _Figures:
    pauses, safepoints = statistics.pauses, statistics.safepoints
    pause_share, stop_share = statistics.pause_share, statistics.stop_share
    yield "gc.pause_share", pause_share
    yield "gc.stop_share", pause_share if stop_share is None else stop_share
    if pause_share is not None:
        yield "gc.pauses", pauses.count if pauses else 0
    if pauses is not None:
        yield "gc.pause_mean_ms", pauses.mean_ms
        yield "gc.pause_p99_ms", pauses.max_ms if pauses.count < _FEW_PAUSES else pauses.p99_ms
        yield "gc.pause_max_ms", pauses.max_ms
        cpu = [statistics.cpu_user_s, statistics.cpu_system_s]
        if cpu[0] is not None and cpu[1] is not None:
            yield "gc.pause_cpu_s", cpu[0] + cpu[1]
            yield "gc.cpu_ratio", ratio(cpu[0] + cpu[1], pauses.total_s)
            yield "gc.system_ratio", ratio(cpu[1], cpu[0])
    if safepoints is not None:
        yield "gc.time_to_safepoint_max_ms", safepoints.reaching_max_ms
        yield "gc.stop_max_ms", safepoints.stops.max_ms
    young = [kind.durations for kind in statistics.pause_kinds if kind.name.startswith(_YOUNG)]
    if pause_share is not None:
        yield from _young(young, statistics)


def _concurrent_cpu_share(log: GcLog) -> float | None:
    """Returns the share of the processors that the threads of phases beside the application can have used: at
    most, because the log does not say how long they waited for a processor.
    """
    workers, time_s = log.jvm.concurrent_workers, log.statistics.concurrent_s
    cpus = _CPUS.fullmatch(log.jvm.cpus or "")
    if workers is None or time_s is None or cpus is None or not int(cpus[1]):
        return None
    share = ratio(time_s, log.statistics.duration_s)
    return None if share is None else share * min(1.0, workers / int(cpus[1]))


def _young(young: Sequence[Durations], statistics: GcStatistics) -> _Figures:
    duration_s = statistics.duration_s
    count, time = sum(durations.count for durations in young), sum(durations.total_s for durations in young)
    if not duration_s:
        return
    yield "gc.young_s_per_s", time / duration_s
    if count:
        yield "gc.young_pause_mean_ms", 1000 * time / count
    if statistics.young_collections:
        yield "gc.young_interval_s", duration_s / statistics.young_collections


def _heap(log: GcLog) -> _Figures:
    heap, allocation, largest = log.statistics.heap, log.statistics.allocation, log.jvm.heap_max_bytes
    yield "gc.live_bytes", heap.live_bytes
    yield "gc.live_share", ratio(heap.live_bytes, largest)
    yield "gc.allocated_bytes_per_s", allocation.allocated_bytes_per_s
    yield "gc.promoted_bytes_per_s", allocation.promoted_bytes_per_s
    yield "gc.tenure_age", log.statistics.tenuring_threshold_mean
    # Without an old generation of a size of its own, it may take all of the heap.
    share = heap.old_share_max
    yield "gc.old_after_share", ratio(heap.live_max_bytes, largest) if share is None else share
    yield "gc.global_collections", log.statistics.old_collections
    yield "gc.heap_resizes", heap.resizes


def _copied(log: GcLog) -> _Figures:
    if log.openj9 is None:
        allocation = log.statistics.allocation
        if allocation.flipped_bytes is not None:
            yield "gc.flipped_bytes", allocation.flipped_bytes
            yield "gc.tenured_bytes", allocation.promoted_bytes
        return
    summary = log.openj9.summary_of_cycles
    yield "gc.flipped_bytes", _bytes(summary.nursery_flipped_mb)
    yield "gc.tenured_bytes", _bytes(summary.nursery_tenured_mb)
    yield "gc.concurrent", log.openj9.concurrent_scavenge


def _bytes(megabytes: float | None) -> float | None:
    return None if megabytes is None else megabytes * (1 << 20)


def _troubles(log: GcLog) -> _Figures:
    trouble, stalls = log.statistics.trouble, log.statistics.allocation_stalls
    yield "gc.full_collections", _sum(trouble.full_collections, trouble.degenerated_collections)
    waits = stalls.count if stalls else 0 if log.jvm.collector == "ZGC" else None
    yield "gc.allocation_stalls", _sum(waits, trouble.evacuation_failures)
    yield "gc.explicit_collections", trouble.forced_collections


def _sum(*counts: int | None) -> int | None:
    """Returns the sum of what the log states, or None if it states nothing."""
    stated = [count for count in counts if count is not None]
    return sum(stated) if stated else None


def _large_allocations(log: GcLog) -> _Figures:
    duration_s = log.statistics.duration_s
    count = log.statistics.trouble.humongous_pauses
    if log.openj9 is not None:
        count = log.openj9.large_requests
        yield "gc.largest_request_bytes", log.openj9.summary.largest_request_bytes
    if duration_s and count is not None:
        yield "gc.large_allocations_per_s", count / duration_s
