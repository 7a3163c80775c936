"""Tables of what the JVM reads at intervals: CPU loads, sizes of the heap, and what threads allocated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from pacenote.model.recording import EventState, GaugeKind, GaugeValues, Recording
from pacenote.report.recording.breakdown import Breakdown, Figures, Keys, merged_rows, sum_of
from pacenote.units import format_count

GaugeUnit = Literal["fraction", "bytes"]
"""What a gauge measures: a part of all processors, or bytes."""

GAUGE_TYPES = ("jdk.CPULoad", "jdk.ThreadCPULoad", "jdk.GCHeapSummary", "jdk.ThreadAllocationStatistics")
"""The types of events from which these tables are made."""

_CPU = {
    GaugeKind.CPU_JVM_USER: "JVM user",
    GaugeKind.CPU_JVM_SYSTEM: "JVM system",
    GaugeKind.CPU_MACHINE: "Machine total",
}
_HEAP = {
    GaugeKind.HEAP_USED_BEFORE: "Used before collections",
    GaugeKind.HEAP_USED_AFTER: "Used after collections",
    GaugeKind.HEAP_COMMITTED: "Committed after collections",
}
_THREAD_CPU_NOTE = (
    "Threads with the largest sum of readings first. A thread that has used less than 1 ms since the last "
    "time has no reading; the last reading of one that ends covers less time than the others."
)


class Readings(Struct, frozen=True):
    """The readings of a gauge, or of those of all threads with one name."""

    count: int
    """Number of readings."""

    average: float
    """Their mean: of those that were read, be it seldom."""

    min: float
    """The smallest one."""

    max: float
    """The largest one."""


class GaugeRow(Struct, frozen=True):
    """A row of a table."""

    name: str
    """What was read, or the name of the thread."""

    readings: Readings | None
    """The readings in the recording, or None if it has none."""

    baseline: Readings | None = None
    """The readings in the baseline, or None if it has none or there is no baseline."""


class GaugeTable(Struct, frozen=True):
    """A table of gauges."""

    name: str
    """Its name, such as `cpu-load`, which does not change."""

    title: str
    """Its heading."""

    head: str
    """The head of the names."""

    unit: GaugeUnit
    """What the gauges measure."""

    rows: tuple[GaugeRow, ...]
    """The rows."""

    has_baseline: bool
    """Whether two recordings are compared."""

    note: str = ""
    """What a reader has to know about its figures; may be empty."""


def gauge_tables(
    recording: Recording, baseline: Recording | None, threads: Sequence[str]
) -> Iterator[GaugeTable]:
    """Yields the tables that have rows; with `threads`, only that of threads, for those whose names contain
    one of them.
    """
    for name, title, names in (("cpu-load", "CPU load", _CPU), ("heap", "Heap", _HEAP)):
        new, old = _named(recording, names), _named(baseline, names)
        unit: GaugeUnit = "fraction" if names is _CPU else "bytes"
        rows = tuple(
            GaugeRow(each, new.get(each), old.get(each)) for each in names.values() if each in {**new, **old}
        )
        if rows and not threads:
            yield GaugeTable(name, title, "Reading", unit, rows, baseline is not None)
    new, old = _thread_loads(recording, threads), _thread_loads(baseline, threads)
    rows = tuple(GaugeRow(name, new.get(name), old.get(name)) for name in {**new, **old})
    if rows:
        yield GaugeTable(
            name="thread-cpu-load",
            title="CPU load by thread",
            head="Thread",
            unit="fraction",
            rows=tuple(sorted(rows, key=_busiest_first)),
            has_baseline=baseline is not None,
            note=_THREAD_CPU_NOTE,
        )


def thread_allocation_table(
    recording: Recording, baseline: Recording | None, threads: Sequence[str]
) -> Breakdown | None:
    """Returns the table of what threads allocated, or None if that is not known of one of the recordings."""
    new, old = _allocated(recording, threads), _allocated(baseline, threads)
    if not new or (baseline is not None and not old):
        return None
    return Breakdown(
        name="thread-allocation",
        title="Allocation by thread, as the JVM counts it",
        heads=("Thread",),
        counted="Threads",
        unit="bytes",
        whole=sum_of(new.values()),
        rows=merged_rows(new, old),
        baseline=None if baseline is None else sum_of(old.values()),
        note=" ".join(_allocation_notes(recording, threads)),
    )


def unread_gauges(recording: Recording, threads: Sequence[str]) -> Iterator[str]:
    """Yields the types of events that were recorded, but have no reading in what is shown."""
    read = {gauge.kind for gauge in recording.gauges if gauge.thread is None}
    has_reading = {
        "jdk.CPULoad": bool(threads) or not read.isdisjoint(_CPU),
        "jdk.GCHeapSummary": bool(threads) or not read.isdisjoint(_HEAP),
        "jdk.ThreadCPULoad": bool(_thread_loads(recording, threads)),
        "jdk.ThreadAllocationStatistics": bool(_allocated(recording, threads)),
    }
    for name, is_read in has_reading.items():
        if not is_read and recording.state_of(name) is EventState.RECORDED:
            yield name


def _named(recording: Recording | None, names: Mapping[GaugeKind, str]) -> dict[str, Readings]:
    if recording is None:
        return {}
    return {names[gauge.kind]: _readings(gauge.values) for gauge in recording.gauges if gauge.kind in names}


def _readings(values: GaugeValues) -> Readings:
    return Readings(values.count, values.sum / values.count, values.min, values.max)


def _thread_loads(recording: Recording | None, threads: Sequence[str]) -> dict[str, Readings]:
    loads: dict[str, Readings] = {}
    if recording is None:
        return loads
    for gauge in recording.gauges:
        if gauge.kind is not GaugeKind.CPU_THREAD or not _is_chosen(recording, gauge.thread, threads):
            continue
        name = _thread_name(recording, gauge.thread)
        readings = _readings(gauge.values)
        loads[name] = _together(loads[name], readings) if name in loads else readings
    return loads


def _together(readings: Readings, other: Readings) -> Readings:
    count = readings.count + other.count
    average = (readings.average * readings.count + other.average * other.count) / count
    return Readings(count, average, min(readings.min, other.min), max(readings.max, other.max))


def _busiest_first(row: GaugeRow) -> tuple[float, str]:
    sums = [side.average * side.count for side in (row.readings, row.baseline) if side is not None]
    return (-max(sums), row.name)


def _is_chosen(recording: Recording, thread: int | None, threads: Sequence[str]) -> bool:
    name = "" if thread is None else recording.threads[thread].name
    return not threads or any(part in name for part in threads)


def _thread_name(recording: Recording, thread: int | None) -> str:
    return recording.thread_name(thread) or "(unnamed)"


def _allocated(recording: Recording | None, threads: Sequence[str]) -> dict[Keys, Figures]:
    allocated: dict[Keys, Figures] = {}
    if recording is None:
        return allocated
    for allocation in recording.thread_allocations:
        if allocation.bytes is not None and _is_chosen(recording, allocation.thread, threads):
            keys = (_thread_name(recording, allocation.thread),)
            figures = Figures(1, allocation.bytes)
            allocated[keys] = allocated[keys] + figures if keys in allocated else figures
    return allocated


def _allocation_notes(recording: Recording, threads: Sequence[str]) -> Iterator[str]:
    yield (
        "Exact sizes, from the first reading of a thread, or its start if that was later, to its last "
        "reading; what it allocates after that is not known."
    )
    unknown = sum(
        one.bytes is None and _is_chosen(recording, one.thread, threads)
        for one in recording.thread_allocations
    )
    if unknown:
        threads_left_out = format_count(unknown, "thread")
        yield f"{threads_left_out} with one reading, so that the size is not known, left out."
