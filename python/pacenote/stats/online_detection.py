"""Finds a worsening as soon as its races show it, with a known rate of false alarms.

`change_points` asks, of a whole series, where it changed; it has to correct for every place, and is certain
late. Here, each new race is asked whether the newest ones have left the level before them. Every number is
the result of one race, in the order in which the races ran, and what is said of a race uses no later ones,
so that the same series always had the same alarms.

*Statistic.* For each possible first race of a new level, the newest races (2 to `WINDOW` of them) are
compared with those of the level before it, at least `MIN_REFERENCE`. Races that resemble the race before
them are prewhitened: what the race before predicts is subtracted, with the correlation of the level before.
The difference, divided by its standard error, has Student's distribution if nothing changed, and is
transformed to a normal z. Its likelihood ratio for a change by `TARGET` standard deviations against no
change is exp(lambda z - lambda^2 / 2), whose mean is 1 if nothing changed: an e-value. Their sum over all
possible first races is the statistic of Shiryaev and Roberts, here an e-detector. If it reaches A, that is
an alarm, of which there is at most one in A races on average (M. Pollak, "Optimal detection of a change in
distribution", Annals of Statistics 13, 1985; J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a
nonparametric framework for sequential change detection", New England Journal of Statistics in Data Science
2, 2024). Because the sum jumps beyond A, there are fewer in fact: `_OVERSHOOT` of that (D. Siegmund,
"Sequential Analysis", Springer 1985, chapter 10). That levels are compared without known means and
deviations is the method of D. M. Hawkins, P. Qiu and C. W. Kang, "The changepoint model for statistical
process control", Journal of Quality Technology 35, 2003.

*One race is not a change.* A value further than `_CLIPPED` standard deviations from the level before it
counts as one at that distance, and a window has two races at least.

*The end of an alarm.* An alarm lasts until the old level is back: from the races since it, Page's sum of
log likelihood ratios for the old level against one that is worse by what was found reaches log(1000), which
happens by chance in one of 1000 races at most (E. S. Page, "Continuous inspection schemes", Biometrika 41,
1954; G. Lorden, Annals of Mathematical Statistics 42, 1971). This also ends an alarm that was false.

`benchmarks/online_simulations.py` counts false alarms and delays; docs/trend.md has the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from pacenote.stats.change_points import MIN_SEGMENT, NORMAL, OUTLIER_DEVIATIONS
from pacenote.stats.student import StudentEstimate, detectable_shift, t_quantile

if TYPE_CHECKING:  # Slow to import.
    import numpy as np

    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Counts = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

MIN_REFERENCE = 10
"""Number of races of a level from which on it can be left with an alarm."""

RACES_PER_YEAR = 365
"""Number of races for which rates of false alarms are stated: one each night."""

WINDOW = 40
"""Largest number of newest races that are compared with those before them."""

TARGET = 2.4
"""The change, in standard deviations of a race, for which alarms are fastest."""

_OVERSHOOT = math.exp(-0.583 * TARGET)
"""False alarms, divided by those that the limit of the statistic allows: what it jumps beyond its limit."""

_CLIPPED = 3.5
"""Standard deviations from a level beyond which a value counts as one at that distance."""

_BIAS = 1.0
"""How much of the bias of an estimated correlation is corrected."""

_REACH = 2
"""Number of races on either side whose median is compared with a value."""

_NOISE_RACES = 40
"""Number of races whose differences show the noise by which outliers are known."""

_MAX_CORRELATION = 0.8
"""A higher correlation of consecutive races is taken for this one."""

IMPROVED = 10.0
"""How many times as much evidence it needs that a level became better: it only moves the level."""

BACK = math.log(1000)
"""The sum of log likelihood ratios from which on the old level is back."""

_LOW_SHARE = 0.9
"""Probability that a step is at least as large as the one against which the return of the level is tested."""

_SHARE = 0.6
"""Share of the limit that the likelihood ratio of one window has to reach: others reach the rest."""

_BISECTIONS = 40
"""Number of times that the range of a step is halved."""

_MAX_EXPONENT = 300.0
"""The largest logarithm of a likelihood ratio: a sum of so large ones is a number."""


class OnlineAlarm(Struct, frozen=True):
    """A worsening that was found."""

    at: int
    """Index of the first value of the new level, as far as it is known."""

    raised: int
    """Index of the value with which it was found."""

    step: StudentEstimate
    """The level from there to the newest value, or to the end of the alarm, minus the level before."""

    ended: int | None = None
    """Index of the value with which the old level was back; None if it is not."""


class AlarmOptions(Struct, frozen=True):
    """What raises an alarm."""

    per_year: float
    """False alarms in `RACES_PER_YEAR` races, on average, if races are independent."""

    smallest_step: float
    """The smallest step that matters, above 0."""

    resolution: float
    """The resolution of the values."""

    increase_is_worse: bool
    """Whether larger values are worse."""

    @property
    def limit(self) -> float:
        """The statistic from which on there is an alarm."""
        return RACES_PER_YEAR * _OVERSHOOT / self.per_year


def find_alarms(values: Sequence[float], options: AlarmOptions) -> tuple[OnlineAlarm, ...]:
    """Returns the alarms of a series of logarithms, or of error rates, in their order."""
    import numpy as np

    sign = 1.0 if options.increase_is_worse else -1.0
    alarms = _Monitor(sign * np.asarray(values, dtype=np.float64), options).run()
    return tuple(replace(alarm, step=replace(alarm.step, value=sign * alarm.step.value)) for alarm in alarms)


class _Level(Struct, frozen=True):
    """The races of a level."""

    mean: float
    """Their mean."""

    variance: float
    """Their variance."""

    correlation: float
    """Correlation between a race and the race before it."""

    races: int
    """Their number."""

    @classmethod
    def of(cls, values: Numbers, least: float) -> _Level:
        """Returns the level of at least two values; `least` is the smallest standard deviation."""
        count = len(values)
        rests = values - values.mean()
        squares = float(rests @ rests)
        products = float(rests[1:] @ rests[:-1])
        correlation = _without_bias(products / squares, count) if squares > 0 else 0.0
        variance = max(squares / (count - 1), least * least)
        return cls(float(values.mean()), variance, min(max(correlation, 0.0), _MAX_CORRELATION), count)

    @property
    def error_variance(self) -> float:
        """The variance of a race in sums of races: larger than that of a race if they resemble each other."""
        return self.variance * (1 + self.correlation) / (1 - self.correlation)


class _Open(Struct, frozen=True):
    """An alarm that has not ended. Positions count the races that are compared."""

    alarm: OnlineAlarm
    """The alarm."""

    before: _Level
    """The level before it."""

    start: int
    """Position of the first race of that level."""

    at: int
    """Position of the first race of the new level."""

    raised: int
    """Position of the race that raised the alarm."""

    shift: float
    """By how much the new level is worse, at least."""


class _Event(Struct, frozen=True):
    """A change of the level, or its return. Positions count the races that are compared."""

    at: int
    """Position of the first race of the level."""

    known: int
    """Position of the race with which it is known."""

    is_worse: bool = False
    """Whether it is an alarm."""

    ends: int | None = None
    """Number of the open alarm that ends, with those after it; None if none does."""


class _Monitor:
    """Goes through the races of a series, of which larger values are worse."""

    def __init__(self, values: Numbers, options: AlarmOptions) -> None:
        import numpy as np

        self._values = values
        self._options = options
        self._least = options.resolution / 2
        self._cleaned = _cleaned(values, self._least)
        # The races that are compared: those between an alarm and the return of its level are taken out.
        self._kept = np.arange(len(values))
        self._start = 0
        self._next = 0
        self._open: list[_Open] = []
        self._ended: list[OnlineAlarm] = []

    def run(self) -> tuple[OnlineAlarm, ...]:
        """Returns the alarms."""
        while (event := self._first_event()) is not None:
            if event.ends is not None:
                self._end(event, event.ends)
            else:
                self._begin(event)
            self._next = max(self._next, event.known + 1)
        last = [self._estimated(number, len(self._kept)) for number in range(len(self._open))]
        return tuple(sorted((*self._ended, *last), key=lambda alarm: alarm.raised))

    def _first_event(self) -> _Event | None:
        events = [event for number in range(len(self._open)) if (event := self._return(number)) is not None]
        if (change := self._change()) is not None:
            events.append(change)
        return min(events, key=lambda event: event.known, default=None)

    def _change(self) -> _Event | None:
        """Returns the next change of the level."""
        kept = self._kept[self._start :]
        if len(kept) < MIN_REFERENCE + 2:
            return None
        limit = self._options.limit
        first: _Event | None = None
        evidence_by_direction = _evidence(self._values[kept], self._cleaned[kept], self._least)
        for (evidence, sizes), needed in zip(evidence_by_direction, (limit, limit * IMPROVED), strict=True):
            above = (evidence >= needed).nonzero()[0]
            above = above[above + self._start >= self._next]
            if len(above) and (first is None or above[0] + self._start < first.known):
                known = int(above[0])
                at = known - int(sizes[known]) + 1
                first = _Event(at + self._start, known + self._start, is_worse=needed == limit)
        return first

    def _begin(self, event: _Event) -> None:
        if event.is_worse:
            before = _Level.of(self._cleaned[self._kept[self._start : event.at]], self._least)
            at, raised = int(self._kept[event.at]), int(self._kept[event.known])
            step = _step(before, self._level_values(event.at, event.known + 1))
            low = step.value - t_quantile(step.degrees, _LOW_SHARE) * step.standard_error
            shift = max(low, self._options.smallest_step)
            alarm = OnlineAlarm(at, raised, step)
            self._open.append(_Open(alarm, before, self._start, event.at, event.known, shift))
        self._start = event.at

    def _return(self, number: int) -> _Event | None:
        """Returns the event with which the level before an open alarm is back."""
        alarm = self._open[number]
        variance = alarm.before.error_variance
        lowest = alarm.before.mean - 2 * math.sqrt(alarm.before.variance)
        middle = alarm.before.mean + alarm.shift / 2
        total, at = 0.0, alarm.raised + 1
        for position in range(alarm.raised + 1, len(self._kept)):
            value = max(float(self._values[self._kept[position]]), lowest)
            total += alarm.shift * (middle - value) / variance
            if total <= 0:
                total, at = 0.0, position + 1
            elif total >= BACK and position >= max(at + MIN_SEGMENT - 1, self._next):
                return _Event(at, position, ends=number)
        return None

    def _end(self, event: _Event, number: int) -> None:
        """Ends an alarm with those that followed it, and takes its races out."""
        import numpy as np

        first = self._open[number]
        known = int(self._kept[event.known])
        self._ended += [
            replace(self._estimated(at, event.at), ended=known) for at in range(number, len(self._open))
        ]
        del self._open[number:]
        self._kept = np.concatenate([self._kept[: first.at], self._kept[event.at :]])
        self._start = first.start
        self._next = event.known + 1 - (event.at - first.at)

    def _estimated(self, number: int, end: int) -> OnlineAlarm:
        """Returns an open alarm with the step to its level, which ends at a position or the next alarm."""
        open_alarm = self._open[number]
        if number + 1 < len(self._open):
            end = min(end, self._open[number + 1].at)
        return replace(
            open_alarm.alarm,
            step=_step(open_alarm.before, self._level_values(open_alarm.at, max(end, open_alarm.at + 1))),
        )

    def _level_values(self, first: int, end: int) -> Numbers:
        """Returns the values of a new level. Whether its newest races are outliers is not known yet."""
        values = self._cleaned[self._kept[first:end]]
        values[-_REACH:] = self._values[self._kept[first:end]][-_REACH:]
        return values


def _step(before: _Level, values: Numbers) -> StudentEstimate:
    """Returns by how much values are worse than the level before them."""
    error = math.sqrt(before.error_variance * (1 / before.races + 1 / len(values)))
    return StudentEstimate(float(values.mean()) - before.mean, error, before.races - 1)


def _without_bias(correlation: Any, count: Any) -> Any:
    """Returns a correlation of consecutive values of a level, without the bias of its estimate (M. G.
    Kendall, Biometrika 41, 1954).
    """
    return correlation + _BIAS * (1 + 3 * correlation) / count


def _evidence(values: Numbers, cleaned: Numbers, least: float) -> list[tuple[Numbers, Counts]]:
    """Returns, for each race, the statistic of Shiryaev and Roberts for an increase and for a decrease, each
    with the number of newest races that show it best.
    """
    import numpy as np
    from scipy.special import ndtri, stdtr

    count = len(values)
    clipped = _clipped(values, cleaned, least)
    # Sums of the first races: of values, squares, and products with the race before.
    sums, squares = (np.concatenate([[0.0], np.cumsum(series)]) for series in (cleaned, cleaned**2))
    products = np.concatenate([[0.0, 0.0], np.cumsum(cleaned[1:] * cleaned[:-1])])
    newest = np.concatenate([[0.0], np.cumsum(clipped)])
    last = np.arange(MIN_REFERENCE + 1, count)[:, None]
    size = np.arange(2, WINDOW + 1)[None, :]
    first = last - size + 1
    is_long = first >= MIN_REFERENCE
    # Windows without a sufficient reference are computed like the longest one that has one, and left out.
    first = np.maximum(first, MIN_REFERENCE)
    size = last - first + 1
    mean = sums[first] / first
    spread = np.maximum(squares[first] - first * mean**2, (first - 1) * least**2)
    shared = (
        products[first] - mean * (2 * sums[first] - cleaned[0] - cleaned[first - 1]) + (first - 1) * mean**2
    )
    correlation = np.clip(_without_bias(shared / spread, first), 0.0, _MAX_CORRELATION)
    fresh = 1 - correlation
    start = clipped[first] - mean - correlation * (clipped[first - 1] - mean)
    rest = newest[last + 1] - newest[first + 1] - correlation * (newest[last] - newest[first])
    rest -= (size - 1) * fresh * mean
    # The first race of a level deviates by the whole step from what the race before it predicts, each later
    # one by the rest of it; they are weighted by that.
    weights, information = 1 + (size - 1) * fresh, 1 + (size - 1) * fresh**2
    deviation = np.sqrt(spread / (first - 1) * (1 - correlation**2))
    error = np.sqrt(information + weights**2 / first)
    z = -ndtri(stdtr(first - 2, -(start + fresh * rest) / (deviation * error)))
    shift = TARGET * information / error
    evidence_by_direction: list[tuple[Numbers, Counts]] = []
    for score in (z, -z):
        ratios = np.where(is_long, np.exp(np.minimum(shift * score - shift**2 / 2, _MAX_EXPONENT)), 0.0)
        evidence, sizes = np.zeros(count), np.zeros(count, dtype=np.int64)
        evidence[MIN_REFERENCE + 1 :] = ratios.sum(axis=1)
        sizes[MIN_REFERENCE + 1 :] = size[np.arange(len(last)), ratios.argmax(axis=1)]
        evidence_by_direction.append((evidence, sizes))
    return evidence_by_direction


def _clipped(values: Numbers, cleaned: Numbers, least: float) -> Numbers:
    """Returns the values, at most `_CLIPPED` standard deviations from the level of the races before them."""
    import numpy as np

    # Whether the newest two races before a value are outliers depends on that value.
    before = np.arange(MIN_REFERENCE, len(values)) - _REACH
    sums, squares = (np.cumsum(series)[before - 1] for series in (cleaned, cleaned**2))
    means = sums / before
    bounds = _CLIPPED * np.sqrt(np.maximum((squares - before * means**2) / (before - 1), least**2))
    clipped = cleaned.copy()
    clipped[MIN_REFERENCE:] = np.clip(values[MIN_REFERENCE:], means - bounds, means + bounds)
    return clipped


def _cleaned(values: Numbers, least: float) -> Numbers:
    """Returns the values, with the median of the five races around it in place of each that is far from it,
    as the search for change points does it, but with the noise of the races until then.
    """
    import numpy as np

    count = len(values)
    if count <= 2 * _REACH:
        return values
    steps = np.abs(np.diff(values))
    padded = np.concatenate([np.full(_NOISE_RACES - 1, np.nan), steps])
    windows = np.lib.stride_tricks.sliding_window_view(padded, _NOISE_RACES)
    noise = np.maximum(NORMAL / math.sqrt(2) * np.nanmedian(windows, axis=1), least)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, 2 * _REACH + 1), axis=1)
    # The noise is that of the races until the newest one of the five.
    centers = np.arange(count).clip(_REACH, count - 1 - _REACH)
    center = medians[centers - _REACH]
    bound = OUTLIER_DEVIATIONS * noise[centers + _REACH - 1]
    return np.where(np.abs(values - center) <= bound, values, center)


def soonest_step(races: int, deviation: float, correlation: float, options: AlarmOptions) -> float | None:
    """Returns the smallest worsening step that raises an alarm with its third race or earlier, with a
    probability of 80 % or more, if so many races of a level precede it; None if these are too few, or if no
    step does.

    Of the windows that end with the third race, the one that begins with the step decides; that it is enough
    for its likelihood ratio to reach `_SHARE` of the limit was found by simulation.
    """
    if races < MIN_REFERENCE:
        return None
    from scipy.special import ndtr

    fresh = 1 - min(correlation, _MAX_CORRELATION)
    later = MIN_SEGMENT - 1
    information, weights = 1 + later * fresh**2, 1 + later * fresh
    error = math.sqrt(information + weights**2 / races)
    shift = TARGET * information / error
    z = math.log(_SHARE * options.limit) / shift + shift / 2
    innovation = deviation * math.sqrt(1 - min(correlation, _MAX_CORRELATION) ** 2)
    needed = detectable_shift(races - 2, 2 * float(ndtr(z)) - 1) * innovation * error / information
    if needed >= (_CLIPPED - 0.2) * deviation:
        return None
    low, high = 0.0, 2 * _CLIPPED
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean_clipped(middle) < needed / deviation else (low, middle)
    return high * deviation


def _mean_clipped(shift: float) -> float:
    """Returns the mean of values that deviate by a shift, in standard deviations, after they were clipped."""
    from scipy.special import ndtr

    room = _CLIPPED - shift
    density = math.exp(-(room**2) / 2) / math.sqrt(2 * math.pi)
    return _CLIPPED - room * float(ndtr(room)) - density
