"""Times for which the driver did not run: gaps, and shorter pauses (`clock` of `driver` in `race.json`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.driver_facts import cpu_count, listed, number, part
from pacenote.model.finding import Finding, by_doubt, doubtful_after
from pacenote.model.measured_window import MeasuredWindow, measured_window
from pacenote.model.result import TaskResult
from pacenote.units import format_count, format_rate

NOT_RUNNING = "its process was stopped, or its virtual machine was paused"
"""Why the driver does not run for less than a gap."""

READING_INTERVAL_S = 0.02
"""Mean interval at which the driver notices pauses."""

LENGTH_RANGES = 24
"""Number of ranges of lengths by which the driver counts short pauses, from the shortest one to the interval
of the readings. Each ends at the same multiple of its begin.
"""

MIN_SHORT_PAUSES = 5
"""Number of noticed pauses below this interval from which the ones that were not noticed are estimated."""

_SHORTEST_S = 0.001
"""Length of the shortest pause in seconds."""

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
    """Reports times for which the driver did not run: all measured times that include one are too long. Those
    in which no task was measured are in no measured time, and have no finding (`gaps_between_tasks_text`).
    """
    gaps, ran = tuple(_gaps(clock)), tuple(tasks)
    outside = _gaps_between(gaps, ran)
    inside = [gap for gap in gaps if gap not in outside]
    # An earlier version listed 32 gaps at most, but added up all.
    unlisted_s = number(clock, "gaps_s") - sum(gap.length_s for gap in gaps)
    if unlisted_s < _SHORTEST_S:
        unlisted_s = 0.0
    if inside:
        finding = _gap_finding(inside, unlisted_s, ", and measured times include this")
        windows = {task.task: measured_window(task) for task in ran}
        shares = {name: _gaps_s(gaps, own) / max(own.length_s, 1e-9) for name, own in windows.items()}
        interrupted = {name: share for name, share in shares.items() if share}
        if not interrupted:
            yield finding
        for names, doubtful_from in by_doubt(interrupted):
            yield replace(finding, tasks=names, doubtful_from=doubtful_from)
    elif outside and unlisted_s:
        # It is not known what ran in those that are not listed.
        yield _gap_finding(outside, unlisted_s, "")


def gaps_between_tasks_text(clock: Mapping[str, object], tasks: Sequence[TaskResult]) -> str:
    """Returns how often the driver did not run while no task was measured; empty if it always did."""
    outside = _gaps_between(tuple(_gaps(clock)), tasks)
    if not outside:
        return ""
    return f"{_times_text(outside)}, while no task was measured: measured times are not affected"


def _gaps_between(gaps: Sequence[_Gap], tasks: Sequence[TaskResult]) -> list[_Gap]:
    """Returns the gaps in which no task was measured."""
    windows = list(map(measured_window, tasks))
    return [gap for gap in gaps if gap.to_s is not None and not any(map(gap.within_s, windows))]


def _times_text(gaps: Sequence[_Gap], unlisted_s: float = 0.0) -> str:
    """Returns for how long, how often and when the driver did not run: in these gaps, and in more that are
    not listed.
    """
    first, count = gaps[0], sum(gap.count for gap in gaps)
    times = f"{first.at_s:.1f} s after its start"
    if first.count == 1:
        times = f"for {format_rate(first.length_s)} s, {times}"
    if count > 1:
        total_s = sum(gap.length_s for gap in gaps) + unlisted_s
        at_least = "at least " if unlisted_s else ""
        times = f"{at_least}{count} times, {format_rate(total_s)} s in total, the first time {times}"
    return f"the driver did not run {times}"


def _gap_finding(gaps: Sequence[_Gap], unlisted_s: float, where: str) -> Finding:
    """Returns the finding of these gaps, and of more that are not listed, without tasks."""
    return Finding(
        f"{_times_text(gaps, unlisted_s)}{where}: its process was stopped, its virtual machine was paused, "
        "or it had no core",
        "machine",
        REPEAT_IDLE,
    )


def pause_findings(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Reports pauses that are shorter than a gap but so many that they matter, unless they are recorded with
    their times: those are judged by task.
    """
    clock = part(driver, "clock")
    total_s = number(clock, "paused_s")
    without_time_s = total_s - _noticed_s(driver)
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
    """Returns for how long the driver did not run while a task was measured, in seconds, with gaps."""
    window = measured_window(task)
    paused = paused_s(driver, window.began_s, window.ended_s)
    return paused + _gaps_s(_gaps(part(driver, "clock")), window)


def is_paused(driver: Mapping[str, object], task: TaskResult) -> bool:
    """Returns whether the driver did not run for a share of a measured window that matters, without gaps."""
    window = measured_window(task)
    length_s = paused_s(driver, window.began_s, window.ended_s)
    return length_s > max(MIN_PAUSED_IN_TASK_S, PAUSED_SHARE * window.length_s)


def paused_s(driver: Mapping[str, object], from_s: float, to_s: float) -> float:
    """Returns the length of the pauses between two times of the race, in seconds, in which the driver did not
    run: its process was stopped, or its virtual machine was paused. Gaps are not included.

    A pause that is shorter than the interval of the readings is noticed only if one is due in it, so that
    each noticed one stands for an interval of pauses. A few may be chance, and count with their own length. A
    short one counts only if the process was stopped, or as far as the hypervisor took the time from the
    virtual machine: otherwise, only the reading was late (`late_readings`). Of races of earlier versions,
    which did not record this, only the length of what was noticed is certain.
    """
    noticed = list(_noticed_pauses(driver, from_s, to_s))
    are_few = _count(noticed) < MIN_SHORT_PAUSES
    return sum(
        second.long_s + (second.explained_s if are_few else second.explained_intervals_s)
        for second in noticed
    )


def late_readings(
    driver: Mapping[str, object], from_s: float, to_s: float, *, without_explained: bool
) -> LateReadings:
    """Returns the readings between two times of the race that were late by less than their interval. With
    `without_explained`, those in which the driver did not run, as `paused_s` counts them, are left out.
    """
    counts, total_s = list[tuple[float, float]](), 0.0
    for second in _noticed_pauses(driver, from_s, to_s):
        late = second.unexplained if without_explained else second.late
        counts.extend(late.counts)
        total_s += late.total_s
    return LateReadings(tuple(sorted(counts, reverse=True)), total_s)


class _Gap(Struct, frozen=True):
    """A time of more than 0.5 s for which the driver did not run, or several ones during the same tasks."""

    at_s: float
    """When the first one began, in seconds since the driver started."""

    length_s: float
    """Their total length in seconds."""

    from_s: float
    """When the first one began, in seconds since the race's first step began."""

    to_s: float | None
    """When the last one ended; None if that is not known."""

    count: int
    """Their number."""

    def within_s(self, window: MeasuredWindow) -> float:
        """Returns the length of these gaps in a measured window in seconds."""
        if self.to_s is None or self.to_s <= self.from_s:
            return 0.0
        ended_s = min(window.ended_s, self.to_s)
        share = max(0.0, ended_s - max(window.began_s, self.from_s)) / (self.to_s - self.from_s)
        return self.length_s * share


def _gaps(clock: Mapping[str, object]) -> Iterator[_Gap]:
    """Yields the gaps of a race. Earlier versions did not merge them, nor did the first record their ends."""
    for gap in listed(clock, "gaps"):
        if isinstance(gap, Mapping):
            length_s, to_s = number(gap, "length_s"), number(gap, "to_s") if "to_s" in gap else None
            from_s = number(gap, "from_s") if "from_s" in gap else (to_s or 0.0) - length_s
            count = max(1, int(number(gap, "gaps")))
            yield _Gap(number(gap, "at_s"), length_s, from_s, to_s, count)


def _gaps_s(gaps: Iterable[_Gap], window: MeasuredWindow) -> float:
    """Returns the length of gaps in a measured window in seconds."""
    return sum(gap.within_s(window) for gap in gaps)


class LateReadings(Struct, frozen=True):
    """Readings of the driver's clocks that were late by less than their interval."""

    counts: tuple[tuple[float, float], ...] = ()
    """How late some of them were at most, in seconds, and their number; the latest first."""

    total_s: float = 0.0
    """Lateness of all of them in seconds."""

    @property
    def count(self) -> float:
        """Their number; of a second that is partly in the time that was asked for, the same part."""
        return sum(count for _, count in self.counts)

    @property
    def longest_s(self) -> float:
        """How late the latest one was, in seconds."""
        return self.counts[0][0] if self.counts else 0.0


class _PausedSecond(Struct, frozen=True):
    """Pauses of the driver that fell on a reading of its clocks in a second, or in several ones: of a time
    that is only partly in the one that was asked for, the same part.
    """

    long_s: float
    """Length of those in seconds that are not shorter than the interval of the readings."""

    short: float
    """Number of those that are shorter."""

    explained_s: float
    """For how long the driver did not run in short ones, as far as that is known, in seconds."""

    explained_intervals_s: float
    """The same if each noticed one stands for an interval of the readings."""

    late: LateReadings
    """The short ones."""

    unexplained: LateReadings
    """The part of them in which the driver is not known to have been stopped or without a CPU."""


def _noticed_pauses(driver: Mapping[str, object], from_s: float, to_s: float) -> Iterator[_PausedSecond]:
    """Yields the seconds with noticed pauses between two times of the race."""
    cpus = cpu_count(driver)
    for second in listed(part(driver, "clock"), "paused"):
        if not isinstance(second, Mapping):
            continue
        began_s, ended_s = number(second, "from_s"), number(second, "to_s")
        within_s = min(to_s, ended_s) - max(from_s, began_s)
        if within_s > 0:
            share = within_s / (ended_s - began_s)
            is_summed = "unexplained_s" in second
            yield _summed_second(second, share) if is_summed else _unsummed_second(second, share, cpus)


def _summed_second(second: Mapping[str, object], share: float) -> _PausedSecond:
    """Returns a part of some seconds: what of their pauses is explained was decided in each second."""
    short, short_s = number(second, "short") * share, number(second, "short_s") * share
    longest_s = number(second, "longest_short_s")
    late, unexplained = (
        LateReadings(tuple(_by_length(listed(second, name), longest_s, share)), total_s)
        for name, total_s in (("lengths", short_s), ("unexplained", number(second, "unexplained_s") * share))
    )
    return _PausedSecond(
        long_s=number(second, "paused_s") * share - short_s,
        short=short,
        explained_s=number(second, "explained_s") * share,
        explained_intervals_s=max(0.0, short - unexplained.count) * READING_INTERVAL_S,
        late=late,
        unexplained=unexplained,
    )


def _by_length(counts: Sequence[object], longest_s: float, share: float) -> Iterator[tuple[float, float]]:
    """Yields how long the pauses of each range of lengths were at most, and their number."""
    ratio = READING_INTERVAL_S / _SHORTEST_S
    for position, count in enumerate(counts[:LENGTH_RANGES], start=1):
        if isinstance(count, int | float) and count > 0:
            most_s = _SHORTEST_S * ratio ** (position / LENGTH_RANGES)
            yield min(most_s, longest_s), count * share


def _unsummed_second(second: Mapping[str, object], share: float, cpus: int) -> _PausedSecond:
    """Returns a part of some seconds of a race of an earlier version. That decides by their sums what is
    explained, and each short pause may have been as long as the longest one. What was stolen from 0 CPUs, if
    their number is unknown, is unknown.
    """
    short, short_s = number(second, "short"), number(second, "short_s")
    # The others of them lasted at least 1 ms.
    longest_s = min(READING_INTERVAL_S, max(0.0, short_s - max(short - 1, 0.0) * _SHORTEST_S))
    longest_s = number(second, "longest_short_s") or longest_s
    stolen_s = number(second, "stolen_s") / cpus if cpus > 0 else 0.0

    def explained_s(interval_s: float) -> float:
        if "stopped" not in second:
            return short_s
        stopped, stopped_s = number(second, "stopped"), number(second, "stopped_s")
        others_s = max(short_s - stopped_s, (short - stopped) * interval_s)
        return max(stopped_s, stopped * interval_s) + min(others_s, stolen_s)

    intervals_s = explained_s(READING_INTERVAL_S)
    whole_s = short * READING_INTERVAL_S
    unexplained = max(0.0, 1.0 - intervals_s / whole_s) if whole_s > 0 else 0.0
    late, left = (
        LateReadings(((longest_s, short * of_it),), short_s * of_it) for of_it in (share, share * unexplained)
    )
    return _PausedSecond(
        long_s=(number(second, "paused_s") - short_s) * share,
        short=short * share,
        explained_s=explained_s(0.0) * share,
        explained_intervals_s=intervals_s * share,
        late=late,
        unexplained=left,
    )


def _count(noticed: Iterable[_PausedSecond]) -> float:
    """Returns the number of short pauses."""
    return sum(second.short for second in noticed)


def _noticed_s(driver: Mapping[str, object]) -> float:
    """Returns the length of all pauses of a race that are recorded with their times, in seconds."""
    return sum(second.long_s + second.late.total_s for second in _noticed_pauses(driver, 0, math.inf))
