"""The summary table of IBM's Garbage Collection and Memory Visualizer (GCMV) for logs of OpenJ9."""

from __future__ import annotations

from dataclasses import dataclass

from pacenote.model.gc_log import GcLog
from pacenote.model.openj9_report import OpenJ9Summary

MISSING = "not available"
"""Shown for what a log does not contain, and for means without collections."""


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A row of the table."""

    name: str
    """GCMV's name of the row."""
    value: str
    """The figure, counted and rounded as GCMV does."""
    by_cycle: str
    """The figure with each cycle as one collection; different only if scavenges are concurrent."""


def summary_rows(log: GcLog) -> tuple[SummaryRow, ...]:
    """Returns the rows of the table; none if the log is not one of OpenJ9."""
    if log.openj9 is None:
        return ()
    by_pause = _figures(log, log.openj9.summary)
    by_cycle = _figures(log, log.openj9.summary_of_cycles)
    return tuple(SummaryRow(name, value, by_cycle[name]) for name, value in by_pause.items())


def _figures(log: GcLog, summary: OpenJ9Summary) -> dict[str, str]:
    number = "Number of collections"
    pause, interval = "Mean garbage collection pause (ms)", "Mean interval between collections (ms)"
    flipped, tenured = "Total amount flipped (MB)", "Total amount tenured (MB)"
    return {
        "Concurrent collection count": str(summary.concurrent_collections),
        "Forced collection count": str(summary.forced_collections),
        "GC Mode": log.jvm.collector or MISSING,
        f"Global collections - {pause}": _figure(summary.global_mean_pause_ms),
        f"Global collections - {interval}": _figure(summary.global_mean_interval_ms),
        f"Global collections - {number}": str(summary.global_collections),
        f"Global collections - {tenured}": _figure(summary.global_tenured_mb),
        "Largest memory request (bytes)": _figure(summary.largest_request_bytes),
        "Number of collections triggered by allocation failure": str(summary.allocation_failures),
        f"Nursery collections - {pause}": _figure(summary.nursery_mean_pause_ms),
        f"Nursery collections - {interval}": _figure(summary.nursery_mean_interval_ms),
        f"Nursery collections - {number}": str(summary.nursery_collections),
        f"Nursery collections - {flipped}": _figure(summary.nursery_flipped_mb),
        f"Nursery collections - {tenured}": _figure(summary.nursery_tenured_mb),
        "Proportion of time spent in garbage collection pauses (%)": _percent(summary.paused_percent),
        "Proportion of time spent unpaused (%)": _percent(summary.unpaused_percent),
        "Rate of garbage collection (MB/minutes)": _figure(summary.collected_mb_per_minute),
    }


def _figure(value: float | None) -> str:
    """Returns three significant digits, but all digits before the decimal point."""
    if value is None:
        return MISSING
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return _without_zeros(f"{value:.{decimals}f}")


def _percent(value: float | None) -> str:
    return MISSING if value is None else _without_zeros(f"{value:.2f}")


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
