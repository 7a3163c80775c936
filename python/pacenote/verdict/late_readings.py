"""Judges readings of the driver's clocks that were late although the driver was not stopped: the CPU of the
reading thread, which had nothing to do, was woken late.

Threads that wait for replies are woken in the same way, so that they may have read as many replies as late.
No other program runs meanwhile, and a busy driver is not late: no time is lost but that of these replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from pacenote.model.finding import EVERYTHING, Finding, doubtful_after
from pacenote.model.measured_window import measured_window
from pacenote.model.result import TaskResult
from pacenote.units import format_excess, format_seconds
from pacenote.verdict.driver_pauses import (
    MIN_SHORT_PAUSES,
    PAUSED_SHARE,
    READING_INTERVAL_S,
    LateReadings,
    is_paused,
    late_readings,
)

SERVICE_SHARE = 0.10
"""Highest acceptable lateness of readings as a share of the service time, compared at each percentile."""

_PERCENTILES = (50.0, 90.0, 99.0)
"""Percentiles that late replies may change."""

_ADVICE = (
    "repeat the race on a machine whose idle CPUs wake up in time, or keep those of this one from halting, "
    "for example with idle=poll"
)


class _Lateness(Struct, frozen=True):
    """Lateness of readings while a task was measured that may have changed its figures."""

    share: float
    """Share of the readings that were late."""

    most_s: float
    """How late the replies may be that the first doubtful percentile consists of, in seconds."""

    doubtful_from: float
    """The figures that it makes doubtful, as in `Finding`."""


def late_reply_findings(tasks: Iterable[TaskResult], driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields findings about tasks of which so many replies may have been read late that a figure changed;
    tasks with the same doubtful figures share one.
    """
    groups: dict[float, dict[str, _Lateness]] = {}
    for task in tasks:
        if (lateness := _lateness(task, driver)) is not None:
            groups.setdefault(lateness.doubtful_from, {})[task.task] = lateness
    for doubtful_from, alike in sorted(groups.items()):
        up_to = "up to " if len(alike) > 1 else ""
        share = format_excess(max(each.share for each in alike.values()), PAUSED_SHARE)
        late = format_seconds(max(each.most_s for each in alike.values()))
        figures = "all figures are" if doubtful_from == EVERYTHING else f"p{doubtful_from:g} is"
        yield Finding(
            f"{up_to}{share} of the readings of the driver's clocks were up to {late} late, although no "
            "other program had its core, and as many replies may have been read late "
            f"(limit {PAUSED_SHARE * 100:.0f} %): {figures} doubtful",
            "machine",
            _ADVICE,
            tuple(alike),
            doubtful_from,
        )


def _lateness(task: TaskResult, driver: Mapping[str, object]) -> _Lateness | None:
    """Returns the lateness of readings while a task was measured, or None if it changed no figure."""
    window = measured_window(task)
    without_explained = is_paused(driver, task)
    late = late_readings(driver, window.began_s, window.ended_s, without_explained=without_explained)
    readings = window.length_s / READING_INTERVAL_S
    service = task.service_time
    if service is None or late.count < MIN_SHORT_PAUSES or late.count <= PAUSED_SHARE * readings:
        return None
    share = late.count / readings
    # The mean reply is late by the mean over all readings.
    added_ms = late.total_s / readings * 1000
    if doubtful_after(added_ms / max(service.mean_ms, 1e-9)) == EVERYTHING:
        return _Lateness(share, late.longest_s, EVERYTHING)
    for q in _PERCENTILES:
        percentile, late_s = service.at(q), _late_at(late, q, readings)
        if percentile is None or not percentile.supported:
            continue
        if late_s * 1000 > SERVICE_SHARE * percentile.ms:
            return _Lateness(share, late_s, q)
    return None


def _late_at(late: LateReadings, q: float, readings: float) -> float:
    """Returns by how many seconds the readings above the percentile `q` were late at least, as if each one
    were as late as the latest that is counted with it; 0 if fewer were late.
    """
    above, limit = 0.0, (1 - q / 100) * readings
    for most_s, count in late.counts:
        above += count
        if above > limit:
            return most_s
    return 0.0
