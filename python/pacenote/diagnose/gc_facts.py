"""The figures that the log of the garbage collector has, by task and node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.telemetry_series import ratio
from pacenote.model.gc_log import Durations, GcLog, GcStatistics

_YOUNG = ("Young", "Scavenge", "Nursery")
"""Beginnings of the names of pauses that collect the young generation."""

_FEW_PAUSES = 100
"""Number of pauses below which the longest one stands for their p99."""

_Figures = Iterator[tuple[str, float | str | None]]


def add_gc_figures(
    builder: EvidenceBuilder, window: Window, log: GcLog, between: tuple[float, float]
) -> None:
    """Adds the figures of a window, given also in seconds since 1970."""
    statistics = log.statistics
    figures = (
        *_settings(log),
        *_coverage(log, between),
        *_stops(statistics),
        *_heap(log),
        *_copied(log),
        *_troubles(statistics),
    )
    for name, value in figures:
        builder.set(window, name, value)


def _settings(log: GcLog) -> _Figures:
    yield "gc.collector", log.jvm.collector
    region = log.jvm.region_bytes
    yield "gc.region_bytes", region


def _coverage(log: GcLog, between: tuple[float, float]) -> _Figures:
    begin, end = between
    if log.start is None or log.end is None or end <= begin:
        return
    # A collector writes nothing while it does not collect: the log goes on until its last line at least.
    covered = end - max(begin, min(log.start, end))
    yield "gc.coverage_share", covered / (end - begin)


def _stops(statistics: GcStatistics) -> _Figures:
    pauses, safepoints = statistics.pauses, statistics.safepoints
    pause_share = statistics.pause_share or 0.0
    stop_share = statistics.stop_share if statistics.stop_share is not None else statistics.pause_share
    yield "gc.pause_share", pause_share
    yield "gc.stop_share", pause_share if stop_share is None else stop_share
    yield "gc.pauses", pauses.count if pauses else 0
    if pauses is not None:
        yield "gc.pause_mean_ms", pauses.mean_ms
        yield "gc.pause_p99_ms", pauses.max_ms if pauses.count < _FEW_PAUSES else pauses.p99_ms
        yield "gc.pause_max_ms", pauses.max_ms
        if safepoints is not None:
            yield "gc.safepoint_ratio", ratio(safepoints.stops.total_s, pauses.total_s)
        cpu = [statistics.cpu_user_s, statistics.cpu_system_s]
        if cpu[0] is not None and cpu[1] is not None:
            yield "gc.pause_cpu_s", cpu[0] + cpu[1]
            yield "gc.cpu_ratio", ratio(cpu[0] + cpu[1], pauses.total_s)
            yield "gc.system_ratio", ratio(cpu[1], cpu[0])
    if safepoints is not None:
        yield "gc.time_to_safepoint_max_ms", safepoints.reaching_max_ms
        yield "gc.stop_max_ms", safepoints.stops.max_ms
    young = [each.durations for each in statistics.pause_kinds if each.name.startswith(_YOUNG)]
    yield from _young(young, statistics.duration_s)


def _young(young: Sequence[Durations], duration_s: float | None) -> _Figures:
    count, time = sum(each.count for each in young), sum(each.total_s for each in young)
    if not duration_s:
        return
    yield "gc.young_s_per_s", time / duration_s
    if count:
        yield "gc.young_pause_mean_ms", 1000 * time / count
        yield "gc.young_interval_s", duration_s / count


def _heap(log: GcLog) -> _Figures:
    heap, allocation, largest = log.statistics.heap, log.statistics.allocation, log.jvm.heap_max_bytes
    yield "gc.live_bytes", heap.live_bytes
    yield "gc.live_share", ratio(heap.live_bytes, largest)
    yield "gc.allocated_bytes_per_s", allocation.allocated_bytes_per_s
    yield "gc.promoted_bytes_per_s", allocation.promoted_bytes_per_s
    yield "gc.tenure_age", log.statistics.tenuring_threshold_mean
    if heap.live_max_bytes is not None:
        yield "gc.old_after_share", ratio(heap.live_max_bytes, largest)


def _copied(log: GcLog) -> _Figures:
    if log.openj9 is None:  # Other JVMs do not log what they copy within the young generation.
        return
    summary = log.openj9.summary_of_cycles
    yield "gc.flipped_bytes", _bytes(summary.nursery_flipped_mb)
    yield "gc.tenured_bytes", _bytes(summary.nursery_tenured_mb)
    yield "gc.concurrent", log.openj9.concurrent_scavenge


def _bytes(megabytes: float | None) -> float | None:
    return None if megabytes is None else megabytes * (1 << 20)


def _troubles(statistics: GcStatistics) -> _Figures:
    trouble, stalls = statistics.trouble, statistics.allocation_stalls
    yield "gc.full_collections", trouble.full_collections + trouble.degenerated_collections
    yield "gc.allocation_stalls", (stalls.count if stalls else 0) + trouble.evacuation_failures
    yield "gc.explicit_collections", trouble.forced_collections
    if statistics.duration_s:
        yield "gc.large_allocations_per_s", trouble.humongous_pauses / statistics.duration_s
