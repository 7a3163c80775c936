"""Times for which the driver did not run: gaps, and shorter pauses (`clock` of `driver` in `race.json`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pacenote.model.driver_facts import listed, number, part
from pacenote.model.finding import Finding, by_doubt, doubtful_after
from pacenote.model.result import TaskResult
from pacenote.units import format_count, format_rate

NOT_RUNNING = "its process was stopped, or its virtual machine was paused"
"""Why the driver does not run for less than a gap."""

READING_INTERVAL_S = 0.02
"""Mean interval at which the driver notices pauses."""

MIN_SHORT_PAUSES = 5
"""Number of noticed pauses below this interval from which the ones that were not noticed are estimated."""

REPEAT_IDLE = "repeat the race on an idle machine"
"""What to do after the driver did not run."""

PAUSED_SHARE = 0.01
"""Highest acceptable share of a task, or of a race, for which the driver did not run: about as many of its
samples would be late, which changes its 99th percentile.
"""

MIN_PAUSED_S = 0.5
"""Total length of the pauses of a race in seconds from which they are judged: one may occur anywhere."""

MIN_PAUSED_IN_TASK_S = 0.05
"""The same for the pauses in a task."""


def gap_findings(clock: Mapping[str, object], tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Reports times for which the driver did not run: all measured times that include one are too long."""
    gaps = [gap for gap in listed(clock, "gaps") if isinstance(gap, Mapping)]
    if not gaps:
        return
    first = f"{format_rate(number(gaps[0], 'length_s'))} s, {number(gaps[0], 'at_s'):.1f} s after its start"
    if len(gaps) == 1:
        times = f"for {first}"
    else:
        total = f"{format_rate(number(clock, 'gaps_s'))} s in total"
        times = f"{len(gaps)} times, {total}, the first time for {first}"
    finding = Finding(
        f"the driver did not run {times}, and measured times include this: its process was stopped, its "
        "virtual machine was paused, or it had no core",
        "machine",
        REPEAT_IDLE,
    )
    shares = {task.task: _gaps_s(clock, task) / max(task.duration_s, 1e-9) for task in tasks}
    interrupted = {name: share for name, share in shares.items() if share}
    if not interrupted:
        yield finding
    for names, doubtful_from in by_doubt(interrupted):
        yield replace(finding, tasks=names, doubtful_from=doubtful_from)


def pause_findings(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Reports pauses that are shorter than a gap but so many that they matter, unless they are recorded with
    their times: those are judged by task.
    """
    clock = part(driver, "clock")
    total_s = number(clock, "paused_s")
    without_time_s = total_s - _noticed_pauses(driver, 0, math.inf).length_s
    limit_s = max(MIN_PAUSED_S, PAUSED_SHARE * number(driver, "wall_s"))
    if without_time_s > limit_s:
        yield Finding(
            f"the driver did not run in {format_count(int(number(clock, 'pauses')), 'pause')}, "
            f"{format_rate(total_s)} s in total (limit {PAUSED_SHARE * 100:.0f} % of the race): "
            f"{NOT_RUNNING}",
            "machine",
            REPEAT_IDLE,
            doubtful_from=doubtful_after(without_time_s / max(number(driver, "wall_s"), 1e-9)),
        )


def stopped_s(driver: Mapping[str, object], task: TaskResult) -> float:
    """Returns for how long the driver did not run during a task, in seconds, with gaps."""
    paused = paused_s(driver, task.started_s, task.started_s + task.duration_s)
    return paused + _gaps_s(part(driver, "clock"), task)


def paused_s(driver: Mapping[str, object], from_s: float, to_s: float) -> float:
    """Returns the length of the pauses between two times of the race, in seconds, in which the driver did not
    run: its process was stopped, or its virtual machine was paused. Gaps are not included.

    A pause that is shorter than the interval of the readings is noticed only if one is due in it, so that
    each noticed one stands for an interval of pauses. A few may be chance, and count with their own length.
    """
    noticed = _noticed_pauses(driver, from_s, to_s)
    if noticed.short < MIN_SHORT_PAUSES:
        return noticed.length_s
    return noticed.length_s + noticed.short * READING_INTERVAL_S - noticed.short_s


def _gaps_s(clock: Mapping[str, object], task: TaskResult) -> float:
    """Returns the length of the gaps during a task; an earlier version did not record when they ended."""
    began_s, ended_s, found_s = task.started_s, task.started_s + task.duration_s, 0.0
    for gap in listed(clock, "gaps"):
        if isinstance(gap, Mapping):
            to_s = number(gap, "to_s")
            found_s += max(0.0, min(ended_s, to_s) - max(began_s, to_s - number(gap, "length_s")))
    return found_s


@dataclass(frozen=True, slots=True)
class _NoticedPauses:
    """Pauses of the driver that fell on a reading of its clocks."""

    length_s: float = 0.0
    """Length of all of them in seconds."""

    short: float = 0.0
    """Number of those that are shorter than the interval of the readings."""

    short_s: float = 0.0
    """Length of these in seconds."""


def _noticed_pauses(driver: Mapping[str, object], from_s: float, to_s: float) -> _NoticedPauses:
    """Returns the noticed pauses between two times of the race: of a second that is only partly between them,
    the same part.
    """
    found = _NoticedPauses()
    for second in listed(part(driver, "clock"), "paused"):
        if not isinstance(second, Mapping):
            continue
        began_s, ended_s = number(second, "from_s"), number(second, "to_s")
        within_s = min(to_s, ended_s) - max(from_s, began_s)
        if within_s > 0:
            share = within_s / (ended_s - began_s)
            found = _NoticedPauses(
                found.length_s + number(second, "paused_s") * share,
                found.short + number(second, "short") * share,
                found.short_s + number(second, "short_s") * share,
            )
    return found
