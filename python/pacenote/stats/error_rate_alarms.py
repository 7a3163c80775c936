"""Finds that more operations fail as soon as races show it, from the numbers of operations that failed.

The method is that of `online_detection`, with an exact likelihood ratio in place of Student's: error rates
are mostly 0, so that they have neither a normal distribution nor a standard deviation.

*Statistic.* The newest races (2 to `WINDOW` of them) are compared with those of the level before, at least
`MIN_REFERENCE`. If the error rate did not change, each failure is one of the newest races with the
probability q, their share of all operations, whatever the rate is: given m failures in all, the number x of
newest ones is hypergeometric, and less dispersed than the binomial distribution of m and q (W. Hoeffding,
"Probability inequalities for sums of bounded random variables", Journal of the American Statistical
Association 58, 1963, section 6). The likelihood ratio for odds that are w times as high,
w^x / (1 - q + q w)^m, has therefore a mean of 1 at most: an e-value. The mean of those for several w is one,
too; the sum over all possible first races is the statistic of Shiryaev and Roberts, which reaches A once in A
races at most, on average. Windows whose rate is not worse by what matters do not count.

*One race is not a change.* Of the newest races, the one with the most failures counts like the one with the
second most. Failures that come in bursts are not independent: numbers of failures are divided by the
dispersion of the level before (R. A. Fisher, "Statistical Methods for Research Workers", 1925, section 16),
if that is above 1.

*The end of an alarm* is that of `online_detection`: Page's sum for the old rate against the one that was
found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pacenote.stats.absolute_effect import OperationCount, counting_error, dispersion, total
from pacenote.stats.change_points import MIN_SEGMENT
from pacenote.stats.online_detection import (
    BACK,
    IMPROVED,
    MIN_REFERENCE,
    RACES_PER_YEAR,
    WINDOW,
    AlarmOptions,
    OnlineAlarm,
)
from pacenote.stats.student import StudentEstimate

if TYPE_CHECKING:  # Slow to import.
    import numpy as np

    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_ODDS = (2.0, 5.0, 20.0, 100.0)
"""By how much the odds of a failure are higher in the levels for which alarms are fastest."""

_MOST_RATE = 1 - 1e-9
"""The highest error rate for whose likelihood there is a logarithm."""

_MAX_EXPONENT = 300.0
"""The largest logarithm of a likelihood ratio: a sum of so large ones is a number."""


def find_error_rate_alarms(races: Sequence[OperationCount], options: AlarmOptions) -> tuple[OnlineAlarm, ...]:
    """Returns the alarms of a series of races, in their order; their steps are in points of a percentage."""
    monitor = _Monitor(races, options)
    for race in range(len(races)):
        monitor.add(race)
    return monitor.alarms()


class _Open(Struct):
    """An alarm that has not ended."""

    alarm: OnlineAlarm
    """The alarm; its step is that of the level until its end or the next alarm."""

    before: list[int]
    """The races of the level before it."""

    evidence: float = 0.0
    """Page's sum for the old level."""

    back: int = 0
    """The race since which that sum is above 0."""


class _Monitor:
    """Goes through the races of a series."""

    def __init__(self, races: Sequence[OperationCount], options: AlarmOptions) -> None:
        self._races = races
        self._options = options
        self._limit = RACES_PER_YEAR / options.per_year
        self._level: list[int] = []
        self._open: list[_Open] = []
        self._ended: list[OnlineAlarm] = []

    def alarms(self) -> tuple[OnlineAlarm, ...]:
        """Returns the alarms until now."""
        alarms = [*self._ended, *(self._estimated(open_alarm) for open_alarm in self._open)]
        return tuple(sorted(alarms, key=lambda alarm: alarm.raised))

    def add(self, race: int) -> None:
        """Judges a race by those before it."""
        for number, open_alarm in enumerate(self._open):
            if self._is_back(open_alarm, race):
                self._end(number, race)
                return
        self._level.append(race)
        if len(self._level) < MIN_REFERENCE + 2:
            return
        worse, better = self._evidence()
        if worse.sum() >= self._limit:
            self._begin(race, 2 + int(worse.argmax()))
        elif better.sum() >= IMPROVED * self._limit and not any(alarm.evidence for alarm in self._open):
            # The level before is not that of the newest races any more.
            self._level = self._level[-2 - int(better.argmax()) :]

    def _evidence(self) -> tuple[Numbers, Numbers]:
        """Returns the e-values of the newest 2, 3, … races for a higher rate, and for a lower one."""
        import numpy as np

        operation_counts = [self._races[race] for race in self._level]
        if not any(count.failed for count in operation_counts):
            return np.zeros(1), np.zeros(1)
        failed = np.array([count.failed for count in operation_counts], dtype=np.float64)
        operations = np.array([count.operations for count in operation_counts], dtype=np.float64)
        sizes = np.arange(2, min(WINDOW, len(operation_counts) - MIN_REFERENCE) + 1)
        first = len(operation_counts) - sizes
        newest = np.sort(np.tril(np.broadcast_to(failed[::-1][: sizes[-1]], (len(sizes), sizes[-1])), 1))
        winsorized = newest.sum(axis=1) - newest[:, -1] + newest[:, -2]
        sums, counts, squares = (
            np.concatenate([[0.0], np.cumsum(numbers)])
            for numbers in (failed, operations, failed**2 / operations)
        )
        before, known = sums[first], counts[first]
        of_newest = counts[-1] - known
        rate = before / known
        spread = np.maximum(squares[first] - before * rate, 0.0)
        expected = rate * (1 - rate) * (first - 1)
        dispersions = np.maximum(
            np.divide(spread, expected, out=np.ones(len(sizes)), where=expected > 0), 1.0
        )
        share = of_newest / counts[-1]
        more = winsorized / of_newest - rate >= self._options.smallest_step / 100
        less = rate - newest.sum(axis=1) / of_newest >= self._options.smallest_step / 100
        ratios = []
        for counted, odds, counts_at_all in ((winsorized, 1.0, more), (newest.sum(axis=1), -1.0, less)):
            logs = [
                (counted * math.log(factor**odds) - (before + counted) * np.log1p(share * (factor**odds - 1)))
                / dispersions
                for factor in _ODDS
            ]
            mean = np.exp(np.minimum(np.array(logs), _MAX_EXPONENT)).mean(axis=0)
            ratios.append(np.where(counts_at_all, mean, 0.0))
        return ratios[0], ratios[1]

    def _begin(self, race: int, size: int) -> None:
        before, self._level = self._level[:-size], self._level[-size:]
        alarm = OnlineAlarm(self._level[0], race, StudentEstimate(0.0, 1.0, 1))
        self._open.append(_Open(alarm, before, back=race + 1))

    def _is_back(self, open_alarm: _Open, race: int) -> bool:
        """Returns whether the level before an alarm is back with a race."""
        count = self._races[race]
        old, new = self._total(open_alarm.before), self._total(self._since(open_alarm))
        low = (old.failed + 1) / (old.operations + 2)
        high = max(new.failed / new.operations, low + self._options.smallest_step / 100)
        high = min(high, _MOST_RATE)
        passed = count.operations - count.failed
        open_alarm.evidence += count.failed * math.log(low / high) + passed * math.log((1 - low) / (1 - high))
        if open_alarm.evidence <= 0:
            open_alarm.evidence, open_alarm.back = 0.0, race + 1
        return open_alarm.evidence >= BACK and race - open_alarm.back + 1 >= MIN_SEGMENT

    def _end(self, number: int, race: int) -> None:
        """Ends an alarm with those that followed it, and takes its races out."""
        first = self._open[number]
        self._ended += [replace(self._estimated(alarm), ended=race) for alarm in self._open[number:]]
        del self._open[number:]
        self._level = [*first.before, *range(first.back, race + 1)]

    def _since(self, open_alarm: _Open) -> list[int]:
        """Returns the races of the level that an alarm is about."""
        following = self._open[self._open.index(open_alarm) + 1 :]
        last = following[0].before if following else self._level
        return [
            race
            for race in last
            if open_alarm.alarm.at <= race and (race < open_alarm.back or not open_alarm.evidence)
        ]

    def _total(self, races: Sequence[int]) -> OperationCount:
        return total([self._races[race] for race in races])

    def _estimated(self, open_alarm: _Open) -> OnlineAlarm:
        """Returns an alarm with the step to its level."""
        since = self._since(open_alarm)
        old, new = self._total(open_alarm.before), self._total(since)
        sides = [[self._races[race] for race in races] for races in (open_alarm.before, since)]
        error = counting_error(old, new) * math.sqrt(max(dispersion(*sides), 1.0))
        step = new.failed / new.operations - old.failed / old.operations
        degrees = len(open_alarm.before) + len(since) - 2
        return replace(open_alarm.alarm, step=StudentEstimate(100 * step, 100 * error, degrees))
