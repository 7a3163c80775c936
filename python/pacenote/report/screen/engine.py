"""What the engine did during the race, in phrases. Values that are 0 or unknown are omitted."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.system_metrics import SystemMetrics
from pacenote.report.screen.screen import Paragraph
from pacenote.units import format_bytes, format_count, format_seconds

_WORK = (
    ("indexing", "total_time", ""),
    ("refresh", "refresh_time", "refresh_count"),
    ("merge", "merge_time", "merge_count"),
    ("flush", "flush_time", "flush_count"),
    ("indexing throttled", "indexing_throttle_time", ""),
    ("merge throttled", "merge_throttle_time", ""),
)
_COLLECTORS = (
    ("young GC", "young_gc_time", "young_gc_count"),
    ("old GC", "old_gc_time", "old_gc_count"),
    ("ZGC cycles", "zgc_cycles_gc_time", "zgc_cycles_gc_count"),
    ("ZGC pauses", "zgc_pauses_gc_time", "zgc_pauses_gc_count"),
)
_SIZES = (("store", "store_size"), ("dataset", "dataset_size"))


def engine_paragraph(system: SystemMetrics) -> Paragraph:
    """Returns the engine's work, its garbage collections, and the size of its data."""
    work = tuple(_times(system, _WORK))
    state = (*_times(system, _COLLECTORS), *_sizes(system))
    return Paragraph("Engine", tuple(group for group in (work, state) if group))


def _times(system: SystemMetrics, names: tuple[tuple[str, str, str], ...]) -> Iterator[str]:
    """Yields times, each with the number of events if it is known."""
    for name, time, count in names:
        spent_ms, events = getattr(system, time), getattr(system, count) if count else None
        if spent_ms or events:
            yield f"{name} {format_seconds((spent_ms or 0) / 1000)}" + (
                f" ({format_count(events, 'time')})" if events else ""
            )


def _sizes(system: SystemMetrics) -> Iterator[str]:
    for name, field in _SIZES:
        if size := getattr(system, field):
            yield f"{name} {format_bytes(size)}"
    if system.segment_count:
        yield format_count(system.segment_count, "segment")
