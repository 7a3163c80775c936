"""Rows for logs of OpenJ9: the summary table of IBM's Garbage Collection and Memory Visualizer, and more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from pacenote.model.gc_log import GcLog
from pacenote.model.openj9_report import OpenJ9Report, OpenJ9Summary
from pacenote.report.gc_row import GcRow, GcValue

MISSING = "not available"
"""Shown for what a log does not contain, and for means without collections."""


class OpenJ9Row(Struct, frozen=True):
    """A row of the table."""

    name: str
    """GCMV's name of the row."""
    value: float | int | str | None
    """The figure, counted as GCMV does."""
    text: str
    """The figure, rounded as GCMV does."""


def summary_rows(log: GcLog, *, by_cycle: bool = False) -> tuple[OpenJ9Row, ...]:
    """Returns the rows of the table, or none if the log is not one of OpenJ9.

    With `by_cycle`, each cycle is one collection; this differs only if scavenges are concurrent.
    """
    if log.openj9 is None:
        return ()
    figures = _figures(log, log.openj9.summary_of_cycles if by_cycle else log.openj9.summary)
    return tuple(OpenJ9Row(name, value, _text(name, value)) for name, value in figures.items())


def openj9_rows(logs: Sequence[GcLog]) -> Iterator[GcRow]:
    """Yields the rows of the table for several logs side by side, and those of what else only OpenJ9 logs.

    Rows by cycle are only those whose figures differ.
    """
    if all(log.openj9 is None for log in logs):
        return
    tables = [summary_rows(log) for log in logs]
    yield from _side_by_side(tables, "")
    cycles = [summary_rows(log, by_cycle=True) for log in logs]
    counted = {
        row.name for rows, others in zip(tables, cycles, strict=True) for row in set(others) - set(rows)
    }
    yield from _side_by_side([[row for row in rows if row.name in counted] for rows in cycles], ", by cycle")
    for metric, unit, read in _FURTHER:
        yield GcRow(metric, tuple(read(log.openj9) if log.openj9 else None for log in logs), unit)


def _side_by_side(tables: Sequence[Sequence[OpenJ9Row]], suffix: str) -> Iterator[GcRow]:
    names = dict.fromkeys(row.name for rows in tables for row in rows)
    for name in names:
        matching = [next((row for row in rows if row.name == name), None) for rows in tables]
        values = tuple(row.value if row else None for row in matching)
        yield GcRow(name + suffix, values, "", tuple(row.text if row else MISSING for row in matching))


def openj9_notes(logs: Sequence[GcLog]) -> Iterator[str]:
    """Yields how to read the table."""
    reports = [log.openj9 for log in logs if log.openj9 is not None]
    if reports:
        yield (
            "OpenJ9: rows with the names of GCMV count as GCMV does, except the amount tenured of global "
            "collections, whose definition is not known: it is what was promoted while one was active"
        )
    if any(report.concurrent_scavenge for report in reports):
        yield (
            "concurrent scavenges: GCMV counts each of their pauses as a collection, and omits what is copied"
            ' between them; compare with other logs by the rows "by cycle"'
        )


def _outside_tlh(report: OpenJ9Report) -> float | None:
    allocated = report.allocated
    return 100 * allocated.outside_tlh_bytes / allocated.bytes if allocated and allocated.bytes else None


_FURTHER: tuple[tuple[str, str, Callable[[OpenJ9Report], GcValue]], ...] = (
    ("Concurrent scavenge", "", lambda report: "yes" if report.concurrent_scavenge else "no"),
    ("Nursery used for allocation", "%", lambda report: report.tilt_percent),
    ("Allocated outside thread-local heaps", "%", _outside_tlh),
    (
        "Thread that allocated most",
        "",
        lambda report: next((each.thread for each in report.largest_consumers), None),
    ),
    ("Scavenges that became global collections", "", lambda report: report.incidents.percolations),
    ("Scavenges aborted for lack of memory", "", lambda report: report.incidents.aborted_scavenges),
    ("Objects that scavenges could not copy", "", lambda report: report.incidents.objects_not_copied),
    ("Overflows of the remembered set", "", lambda report: report.incidents.remembered_set_overflows),
    ("Concurrent scavenges ended early", "", lambda report: report.incidents.ended_scavenges),
    ("Final global pauses that began early", "", lambda report: report.incidents.early_globals),
    (
        "Allocations that failed after a collection",
        "",
        lambda report: report.incidents.unsatisfied_allocations,
    ),
    ("Reports of excessive collection", "", lambda report: report.incidents.excessive_activity),
)
"""Name, unit and value of further rows."""


def _figures(log: GcLog, summary: OpenJ9Summary) -> dict[str, float | int | str | None]:
    number = "Number of collections"
    pause, interval = "Mean garbage collection pause (ms)", "Mean interval between collections (ms)"
    flipped, tenured = "Total amount flipped (MB)", "Total amount tenured (MB)"
    return {
        "Concurrent collection count": summary.concurrent_collections,
        "Forced collection count": summary.forced_collections,
        "GC Mode": log.jvm.collector,
        f"Global collections - {pause}": summary.global_mean_pause_ms,
        f"Global collections - {interval}": summary.global_mean_interval_ms,
        f"Global collections - {number}": summary.global_collections,
        f"Global collections - {tenured}": summary.global_tenured_mb,
        "Largest memory request (bytes)": summary.largest_request_bytes,
        "Number of collections triggered by allocation failure": summary.allocation_failures,
        f"Nursery collections - {pause}": summary.nursery_mean_pause_ms,
        f"Nursery collections - {interval}": summary.nursery_mean_interval_ms,
        f"Nursery collections - {number}": summary.nursery_collections,
        f"Nursery collections - {flipped}": summary.nursery_flipped_mb,
        f"Nursery collections - {tenured}": summary.nursery_tenured_mb,
        "Proportion of time spent in garbage collection pauses (%)": summary.paused_percent,
        "Proportion of time spent unpaused (%)": summary.unpaused_percent,
        "Rate of garbage collection (MB/minutes)": summary.collected_mb_per_minute,
    }


def _text(name: str, value: float | int | str | None) -> str:
    """Rounds a figure as GCMV does: to three significant digits, but to all digits before the decimal point;
    shares are rounded to two decimals.
    """
    if value is None:
        return MISSING
    if not isinstance(value, float):
        return str(value)
    is_share = name.endswith("(%)")
    decimals = 2 if is_share or value < 10 else 1 if value < 100 else 0
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
