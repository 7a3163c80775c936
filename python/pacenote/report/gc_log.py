"""The statistics of GC logs as rows with one value per log, side by side. `render.gc_log` prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.gc_log import Durations, GcLog, GcStatistics, NamedDurations
from pacenote.report.gc_row import GcRow, GcValue
from pacenote.report.openj9_table import openj9_notes, openj9_rows

_MIB = 1 << 20

_MOST_NAMES = 12
"""Kinds, causes or operations of which rows are shown; JSON has all of them."""


class GcReport(Struct, frozen=True):
    """Statistics of logs side by side."""

    names: tuple[str, ...]
    """The names of the logs."""

    rows: tuple[GcRow, ...]
    """The statistics that at least one of the logs has."""

    notes: tuple[str, ...]
    """What is missing or damaged, and how to read the values."""


_Reader: TypeAlias = Callable[[GcLog], GcValue]


def build_gc_report(names: Sequence[str], logs: Sequence[GcLog], problems: Iterable[str]) -> GcReport:
    """Returns the report of logs, which have these names."""
    settings = [GcRow(metric, tuple(read(log) for log in logs), unit) for metric, unit, read in _JVM]
    readers = (*_pause_readers(logs), *_stop_readers(logs), *_HEAP, *_WORK, *_TROUBLE)
    events = [GcRow(metric, tuple(read(log) for log in logs), unit) for metric, unit, read in readers]
    events += openj9_rows(logs)
    incomplete = tuple(log.statistics.is_incomplete for log in logs)
    if any(incomplete):
        events = [_with_bounds(row, incomplete) for row in events]
    shown = tuple(row for row in (*settings, *events) if any(value is not None for value in row.values))
    return GcReport(tuple(names), shown, (*problems, *_notes(logs), *openj9_notes(logs)))


def _with_bounds(row: GcRow, incomplete: Sequence[bool]) -> GcRow:
    """Marks the numbers of incomplete logs as lower bounds, of which 0 says nothing; shares are none."""
    if row.unit == "%":
        return row
    values = tuple(
        None if is_incomplete and value == 0 else value
        for value, is_incomplete in zip(row.values, incomplete, strict=True)
    )
    at_least = tuple(
        is_incomplete and isinstance(value, int | float)
        for value, is_incomplete in zip(values, incomplete, strict=True)
    )
    return replace(row, values=values, at_least=at_least)


def _notes(logs: Sequence[GcLog]) -> Iterator[str]:
    if any(log.openj9 is not None and not _states_collections(log) for log in logs):
        yield "a log of OpenJ9 has no collection: read it again when the JVM has collected"
    logs = [log for log in logs if log.openj9 is None or _states_collections(log)]
    if any(log.statistics.duration_s is None for log in logs):
        yield (
            "a log has lines without times: shares, rates and intervals are not available; add the decorator "
            "uptime to -Xlog"
        )
    if any(_states_collections(log) and _collections(log.statistics) for log in logs):
        yield "a log of ZGC has no phases: pauses are not available; add gc* or gc+phases to -Xlog"
    if any(not _states_collections(log) for log in logs):
        yield "a log has no lines of collections: add gc* to -Xlog"
    if any(log.statistics.safepoints is None and log.openj9 is None for log in logs):
        yield (
            "a log has no safepoints: pauses do not include the time until all threads stand still; add "
            "safepoint to -Xlog"
        )
    if any(log.jvm.collector == "G1" for log in logs):
        yield "G1: promotion counts whole regions, so it is an upper bound, and so is survival"


def _mib(count: float | None) -> float | None:
    return None if count is None else count / _MIB


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _statistic(read: Callable[[GcStatistics], GcValue]) -> _Reader:
    return lambda log: read(log.statistics)


_JVM: tuple[tuple[str, str, _Reader], ...] = (
    ("Collector", "", lambda log: log.jvm.collector),
    ("JVM", "", lambda log: log.jvm.version),
    ("Processors", "", lambda log: log.jvm.cpus),
    ("Memory", "MiB", lambda log: _mib(log.jvm.memory_bytes)),
    ("Least heap", "MiB", lambda log: _mib(log.jvm.heap_min_bytes)),
    ("Largest heap", "MiB", lambda log: _mib(log.jvm.heap_max_bytes)),
    ("Region", "MiB", lambda log: _mib(log.jvm.region_bytes)),
    ("Compressed references", "", lambda log: log.jvm.compressed_references),
    ("Large pages", "", lambda log: log.jvm.large_pages),
    ("Parallel workers", "", lambda log: log.jvm.parallel_workers),
    ("Concurrent workers", "", lambda log: log.jvm.concurrent_workers),
    ("Time in the log", "s", _statistic(lambda found: found.duration_s)),
)

_HEAP: tuple[tuple[str, str, _Reader], ...] = (
    ("Allocation", "MiB/s", _statistic(lambda found: _mib(found.allocation.allocated_bytes_per_s))),
    ("Promotion", "MiB/s", _statistic(lambda found: _mib(found.allocation.promoted_bytes_per_s))),
    (
        "Young generation that survives",
        "%",
        _statistic(lambda found: _percent(found.allocation.survived_share)),
    ),
    (
        "Copied within the young generation",
        "MiB",
        _statistic(lambda found: _mib(found.allocation.flipped_bytes)),
    ),
    ("Mean tenuring threshold", "", _statistic(lambda found: found.tenuring_threshold_mean)),
    ("Smallest tenuring threshold", "", _statistic(lambda found: found.tenuring_threshold_min)),
    ("Most heap before a collection", "MiB", _statistic(lambda found: _mib(found.heap.before_max_bytes))),
    ("Mean heap after collections", "MiB", _statistic(lambda found: _mib(found.heap.after_mean_bytes))),
    ("Most heap after a collection", "MiB", _statistic(lambda found: _mib(found.heap.after_max_bytes))),
    ("Live objects, at most", "MiB", _statistic(lambda found: _mib(found.heap.live_bytes))),
    ("Changes of the heap's size", "", _statistic(lambda found: found.heap.resizes)),
)

_WORK: tuple[tuple[str, str, _Reader], ...] = (
    ("CPU time of pauses, user", "s", _statistic(lambda found: found.cpu_user_s)),
    ("CPU time of pauses, system", "s", _statistic(lambda found: found.cpu_system_s)),
    ("Time in concurrent phases", "s", _statistic(lambda found: found.concurrent_s)),
)

_TROUBLE: tuple[tuple[str, str, _Reader], ...] = (
    ("Full collections", "", _statistic(lambda found: found.trouble.full_collections)),
    ("Forced collections", "", _statistic(lambda found: found.trouble.forced_collections)),
    ("Evacuation failures", "", _statistic(lambda found: found.trouble.evacuation_failures)),
    ("Degenerated collections", "", _statistic(lambda found: found.trouble.degenerated_collections)),
    ("Concurrent collections given up", "", _statistic(lambda found: found.trouble.concurrent_aborts)),
    ("Pauses for humongous objects", "", _statistic(lambda found: found.trouble.humongous_pauses)),
    ("Allocation stalls", "", lambda log: _stalls(log, log.statistics.allocation_stalls)),
    ("Allocation stalls: sum", "s", _statistic(lambda found: _of(found.allocation_stalls, "total_s"))),
    ("Allocation stalls: longest", "ms", _statistic(lambda found: _of(found.allocation_stalls, "max_ms"))),
    ("Relocation stalls", "", lambda log: _stalls(log, log.statistics.relocation_stalls)),
    ("Relocation stalls: sum", "s", _statistic(lambda found: _of(found.relocation_stalls, "total_s"))),
)

_PAUSES = (
    ("mean", "ms", "mean_ms"),
    ("50th percentile", "ms", "p50_ms"),
    ("99th percentile", "ms", "p99_ms"),
    ("longest", "ms", "max_ms"),
    ("sum", "s", "total_s"),
    ("mean interval", "s", "interval_s"),
)
"""Rows of durations: name, unit and field."""


def _states_collections(log: GcLog) -> bool:
    return log.statistics.trouble.full_collections is not None


def _count(durations: Durations | None) -> int:
    """Returns the number of events; none of them is 0, because the log would state them."""
    return 0 if durations is None else durations.count


def _stalls(log: GcLog, durations: Durations | None) -> int | None:
    """Returns the number of stalls; only ZGC has and states them."""
    return None if log.jvm.collector != "ZGC" and durations is None else _count(durations)


def _of(durations: Durations | None, field: str) -> float | None:
    value: float | None = None if durations is None else getattr(durations, field)
    return value


def _named(named: Iterable[NamedDurations], name: str) -> Durations | None:
    return next((each.durations for each in named if each.name == name), None)


def _names(logs: Sequence[GcLog], read: Callable[[GcStatistics], Sequence[NamedDurations]]) -> list[str]:
    """Returns the names that take most time, in the order of the first log that has them."""
    names = (each.name for log in logs for each in read(log.statistics)[:_MOST_NAMES])
    return list(dict.fromkeys(names))


def _duration(select: Callable[[GcStatistics], Durations | None], field: str) -> _Reader:
    """Returns a reader of one field of durations."""
    return lambda log: _of(select(log.statistics), field)


def _named_duration(
    select: Callable[[GcStatistics], Sequence[NamedDurations]], name: str, field: str
) -> _Reader:
    """Returns a reader of one field of the durations with a name."""
    return _duration(lambda found: _named(select(found), name), field)


def _number(select: Callable[[GcStatistics], Sequence[NamedDurations]], name: str) -> _Reader:
    """Returns a reader of the number of pauses with a name; a log without such pauses has none."""

    def read(log: GcLog) -> GcValue:
        is_stated = log.statistics.pause_count is not None
        return _count(_named(select(log.statistics), name)) if is_stated else None

    return read


def _pause_readers(logs: Sequence[GcLog]) -> Iterator[tuple[str, str, _Reader]]:
    yield "Pauses", "", _statistic(lambda found: found.pause_count)
    yield "Collections", "", _statistic(_collections)
    for title, unit, field in _PAUSES:
        yield f"Pauses: {title}", unit, _duration(lambda found: found.pauses, field)
    yield "Time in pauses", "%", _statistic(lambda found: _percent(found.pause_share))
    for name in _names(logs, lambda found: found.pause_kinds):
        yield f"{name}: number", "", _number(lambda found: found.pause_kinds, name)
        for title, unit, field in _PAUSES[:4]:
            yield f"{name}: {title}", unit, _named_duration(lambda found: found.pause_kinds, name, field)
    for name in _names(logs, lambda found: found.pause_causes):
        yield f"Cause {name}: pauses", "", _number(lambda found: found.pause_causes, name)


def _collections(statistics: GcStatistics) -> int | None:
    """Returns the number of collections of a log that does not state their pauses."""
    if (
        statistics.pause_count is not None
        or statistics.young_collections is None
        or statistics.old_collections is None
    ):
        return None
    return statistics.young_collections + statistics.old_collections


def _safepoint_time(field: str) -> _Reader:
    def read(log: GcLog) -> GcValue:
        times = log.statistics.safepoints
        value: float | None = None if times is None else getattr(times, field)
        return value

    return read


def _utilisation(window_s: float) -> _Reader:
    def read(log: GcLog) -> GcValue:
        minima = (each.minimum for each in log.statistics.utilisation if each.window_s == window_s)
        return _percent(next(minima, None))

    return read


def _stops(statistics: GcStatistics) -> Durations | None:
    return None if statistics.safepoints is None else statistics.safepoints.stops


def _stop_readers(logs: Sequence[GcLog]) -> Iterator[tuple[str, str, _Reader]]:
    yield "Time stopped at safepoints", "%", _statistic(lambda found: _percent(found.stop_share))
    yield "Safepoints", "", _duration(_stops, "count")
    yield "Safepoints for collections: sum", "s", _safepoint_time("gc_s")
    yield "Safepoints for other operations: sum", "s", _safepoint_time("other_s")
    yield "Time to safepoint: sum", "s", _safepoint_time("reaching_s")
    yield "Time to safepoint: longest", "ms", _safepoint_time("reaching_max_ms")
    for window_s in sorted({each.window_s for log in logs for each in log.statistics.utilisation}):
        yield f"Minimum utilisation in {window_s:g} s", "%", _utilisation(window_s)
