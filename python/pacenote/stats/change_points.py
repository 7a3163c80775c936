"""Change points: where a series of races jumps to another level, and how sure that is.

Every number is the result of one race, in the order in which the races ran. Logarithms are used, so that a
step is a ratio (of error rates, which may be 0, the rates themselves). The search has three parts, none of
which draws random numbers:

1. *Outliers.* For the search only, a value that is further than `OUTLIER_DEVIATIONS` standard deviations from
   the median of the five races around it is replaced by that median. A level that lasts for `MIN_SEGMENT`
   races passes such a filter unchanged, a single race does not (F. R. Hampel, "The influence curve and its
   role in robust estimation", Journal of the American Statistical Association 69, 1974).
2. *Places.* The partition with the least squared error plus a penalty for each part, among all partitions
   whose parts have `MIN_SEGMENT` races or more (B. Jackson et al., "An algorithm for optimal partitioning of
   data on an interval", IEEE Signal Processing Letters 12, 2005; PELT finds the same one faster in series of
   thousands: R. Killick et al., Journal of the American Statistical Association 107, 2012). In contrast to a
   division in two, and again in two, it also finds a level that is left again.
3. *Certainty.* A change point is kept if Student's test between the levels beside it rejects "no change".
   The place was chosen because it shows the largest difference, so that the p-value is multiplied by the
   number of places that were possible (Bonferroni; D. M. Hawkins, "Testing a sequence of observations for a
   shift in location", Journal of the American Statistical Association 72, 1977). The least certain one is
   removed first, and the others are placed again. Races that resemble the race before them count for less:
   the standard error is multiplied by the square root of (1 + r) / (1 - r), where r is their correlation.

A series that a straight line describes clearly better than its steps do, with a slope that Student's test
confirms, drifts, and has no change points. Clearly is a difference of Schwarz's criterion by `_CLEARLY`,
which is strong evidence (R. E. Kass and A. E. Raftery, "Bayes factors", Journal of the American Statistical
Association 90, 1995); without a step that passes its test, any difference is. The assumptions are those of
Student's test: apart from steps, races of one level are independent and normally distributed.
`benchmarks/trend_simulations.py` counts the false alarms if they are not, and the races until a step is
found; docs/trend.md has the result.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from msgspec import Struct

from pacenote.stats.effect import RESOLUTION
from pacenote.stats.student import StudentEstimate, detectable_shift, t_quantile

MIN_SEGMENT = 3
"""Number of races from which on a level can be a new one; fewer are outliers."""

MIN_RACES = 2 * MIN_SEGMENT
"""Number of races from which on there can be a change point."""

LEVEL = 0.001
"""The p-value below which a place is a change point; docs/trend.md has the false alarms that this leaves."""

OUTLIER_DEVIATIONS = 4.0
"""Standard deviations from the median of the races around it beyond which a value is an outlier."""

_REACH = 2
"""Number of races on either side whose median is compared with a value."""

NORMAL = 1.4826
"""Standard deviation of a normal distribution, divided by the median of absolute deviations."""

_PENALTY = 3.0
"""Penalty of each part of a partition, in variances and for each unit of the logarithm of the number of
races. It is low: the test removes the parts that are too many.
"""

_SEARCHED = 1.1
"""By how much a step has to be larger to be found than the test of a given place needs: the search may choose
another place, and the variance of few races counts if it is large. It was found by simulation.
"""

_CLEARLY = 6.0
"""Difference of Schwarz's criterion from which on a line is clearly better than steps."""

_MAX_CORRELATION = 0.9
"""A higher correlation of consecutive races is taken for this one."""


SmallestError = Callable[[int, int, int], float]
"""Returns the smallest standard error that is believed of the difference between two parts of a series: from
the first index to the second one, and from there to the third one, which is excluded.
"""


def no_smallest_error(_start: int, _cut: int, _end: int) -> float:
    """Returns 0: the standard error of any difference is that of the values."""
    return 0.0


class ChangePoint(Struct, frozen=True):
    """A place at which a series jumps."""

    at: int
    """Index of the first value of the new level."""

    step: StudentEstimate
    """The new level minus the old one, without outliers: the logarithm of their ratio."""

    p: float
    """Probability of such a step anywhere between its neighbours if nothing changed."""


class Drift(Struct, frozen=True):
    """A series that changes steadily."""

    slope: float
    """Change of the logarithm from one race to the next."""

    races: int
    """Number of races."""

    @property
    def per_race(self) -> float:
        """The relative change from one race to the next; 0.01 is 1 %."""
        return math.expm1(self.slope)

    @property
    def total(self) -> float:
        """The relative change from the first race to the last one."""
        return math.expm1(self.slope * (self.races - 1))


class Segmentation(Struct, frozen=True):
    """A series, divided into levels."""

    changes: tuple[ChangePoint, ...]
    """Its change points in their order; none if it drifts."""

    levels: tuple[float, ...]
    """The mean of the logarithms of each level, without outliers; one if it drifts."""

    outliers: tuple[int, ...]
    """Indices of the values that the search replaced."""

    deviation: float
    """Standard deviation of the logarithms of races of one level; around the line if the series drifts."""

    degrees: int
    """Degrees of freedom of the standard deviation."""

    correlation: float
    """Correlation between a race and the race before it, without the steps; at least 0."""

    drift: Drift | None = None
    """The steady change, if it describes the series better than steps do."""

    def edges(self, count: int) -> list[int]:
        """Returns the beginnings of the levels of a series with this number of values, and its end."""
        return [0, *(change.at for change in self.changes), count]

    def bounds(self, count: int) -> list[tuple[int, int]]:
        """Returns the beginning and the end of each level of a series with this number of values."""
        return list(itertools.pairwise(self.edges(count)))

    def level_error(self, races: int, smallest_error: float = 0.0) -> StudentEstimate:
        """Returns the error of a level of so many races, as an estimate around 0."""
        error = self.deviation * _inflation(self.correlation) / math.sqrt(races)
        return StudentEstimate(0.0, max(error, smallest_error), max(self.degrees, 1))


def find_changes(
    values: Sequence[float],
    level: float = LEVEL,
    resolution: float | None = None,
    smallest_error: SmallestError = no_smallest_error,
) -> Segmentation | None:
    """Returns the change points of a series whose probability is below `level`.

    With a `resolution`, which is that of the values, differences count instead of ratios. `smallest_error` is
    a lower limit of the standard error of a step. Returns None with fewer than `MIN_RACES` values, or if one
    of them has no logarithm that is needed.
    """
    if len(values) < MIN_RACES or not all(map(math.isfinite, values)):
        return None
    if resolution is None and min(values) <= 0:
        return None
    raw = list(values) if resolution is not None else [math.log(value) for value in values]
    least = (RESOLUTION if resolution is None else resolution) / 2
    logs, outliers = _without_outliers(raw, least)
    cuts = _partition(logs, _noise(logs, least))
    while True:
        cuts = _placed_again(logs, cuts)
        fit = _Fit.of(logs, cuts, least)
        tested = [fit.tested(number, smallest_error) for number in range(len(cuts))]
        worst = max(tested, key=lambda change: change.p, default=None)
        if worst is None or worst.p < level:
            break
        cuts = [cut for cut in cuts if cut != worst.at]
    line = _line(logs, least)
    lead = _CLEARLY if cuts else 0.0
    if resolution is None and line.p < level and line.criterion + lead < fit.criterion:
        drift = Drift(line.slope, len(logs))
        mean = math.fsum(logs) / len(logs)
        return Segmentation((), (mean,), outliers, line.deviation, len(logs) - 2, 0.0, drift)
    return Segmentation(
        tuple(tested), tuple(fit.means), outliers, fit.deviation, fit.degrees, fit.correlation
    )


def detectable_step(
    segmentation: Segmentation, before: int, after: int, level: float = LEVEL, smallest_error: float = 0.0
) -> float:
    """Returns the smallest step, as a logarithm, that is found with a probability of 80 % if so many races of
    a level precede it and so many follow. `smallest_error` is a lower limit of its standard error.
    """
    places = max(1, before + after - MIN_RACES + 1)
    error = segmentation.deviation * _inflation(segmentation.correlation) * math.sqrt(1 / before + 1 / after)
    shift = detectable_shift(max(segmentation.degrees, 1), 1 - level / places)
    return _SEARCHED * shift * max(error, smallest_error)


def correlation_p(correlation: float, count: int) -> float:
    """Returns the probability that consecutive values of so many independent ones have a correlation of at
    least this one: it is normal with the variance 1 / count (M. S. Bartlett, Journal of the Royal Statistical
    Society B 8, Supplement, 1946).
    """
    return math.erfc(correlation * math.sqrt(count / 2)) / 2


class LastDeviation(Struct, frozen=True):
    """The newest races, which are off the level of those before them, but too few for a new one."""

    races: int
    """Number of these races: one or two."""

    step: float
    """Logarithm of the last value divided by the level before them."""


def last_deviation(
    values: Sequence[float],
    segmentation: Segmentation,
    level: float = LEVEL,
    resolution: float | None = None,
    smallest_error: SmallestError = no_smallest_error,
) -> LastDeviation | None:
    """Returns by how much the newest race, or the newest two in the same direction, is off the level; None if
    what the races of the level predict for one more race includes it, or if fewer than three precede it.

    The level is the median, and the bounds are those of a prediction of one more value of a normal
    distribution with the standard deviation of the series.
    """
    start = segmentation.changes[-1].at if segmentation.changes else 0
    last_level = [value if resolution is not None else math.log(value) for value in values[start:]]
    deviating = None
    for count in (1, 2):
        known = last_level[:-count]
        if len(known) < MIN_SEGMENT or segmentation.drift is not None:
            break
        steps = [value - median(known) for value in last_level[-count:]]
        error = segmentation.deviation * math.sqrt(1 + 1 / len(known))
        first = len(values) - count
        error = max(error, smallest_error(start, first, first + 1))
        bound = t_quantile(max(segmentation.degrees, 1), 1 - level / 2) * error
        if min(steps) <= bound and max(steps) >= -bound:
            break
        deviating = LastDeviation(count, steps[-1])
    return deviating


class _Fit(Struct, frozen=True):
    """Levels that are fitted to a series."""

    logs: Sequence[float]
    """The series."""

    edges: Sequence[int]
    """The beginnings of the levels, and the end."""

    means: Sequence[float]
    """The levels."""

    squares: float
    """Sum of the squared differences from the levels."""

    correlation: float
    """Correlation between consecutive differences; at least 0."""

    least: float
    """The smallest standard deviation that is believed: half of the resolution of the values."""

    @classmethod
    def of(cls, logs: Sequence[float], cuts: Sequence[int], least: float) -> _Fit:
        edges = [0, *cuts, len(logs)]
        parts = [logs[start:end] for start, end in itertools.pairwise(edges)]
        means = [math.fsum(part) / len(part) for part in parts]
        rests = [value - mean for part, mean in zip(parts, means, strict=True) for value in part]
        squares = math.fsum(rest * rest for rest in rests)
        products = math.fsum(old * new for old, new in itertools.pairwise(rests))
        correlation = products / squares if squares > 0 else 0.0
        # That of the rests is lower by about this much, because each level is fitted to them.
        correlation += len(parts) / len(logs)
        return cls(logs, edges, means, squares, min(max(correlation, 0.0), _MAX_CORRELATION), least)

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the deviation."""
        return len(self.logs) - len(self.means)

    @property
    def deviation(self) -> float:
        """Standard deviation of a value."""
        return max(math.sqrt(self.squares / self.degrees), self.least)

    @property
    def criterion(self) -> float:
        """Schwarz's criterion: each change has a place and a level."""
        return _criterion(self.squares, len(self.logs), 2 * (len(self.means) - 1), self.least)

    def tested(self, number: int, smallest_error: SmallestError) -> ChangePoint:
        """Returns a change point with the probability of its difference."""
        start, cut, end = self.edges[number : number + 3]
        sides = (self.logs[start:cut], self.logs[cut:end])
        pooled = self.deviation**2 * math.fsum(1 / len(side) for side in sides)
        # If one of the levels varies more than the others, its own variance counts.
        unpooled = math.fsum(_squares(side) / (len(side) - 1) / len(side) for side in sides)
        error = math.sqrt(max(pooled, unpooled)) * _inflation(self.correlation)
        error = max(error, smallest_error(start, cut, end))
        step = StudentEstimate(self.means[number + 1] - self.means[number], error, self.degrees)
        places = end - start - MIN_RACES + 1
        return ChangePoint(cut, step, min(1.0, places * step.p))


def _inflation(correlation: float) -> float:
    return math.sqrt((1 + correlation) / (1 - correlation))


def _without_outliers(raw: Sequence[float], least: float) -> tuple[list[float], tuple[int, ...]]:
    """Returns the series without its outliers, and their indices."""
    count = len(raw)
    medians = []
    for at in range(count):
        # At the ends, too, five races decide: three of them are a level.
        start = min(max(at - _REACH, 0), count - 2 * _REACH - 1)
        medians.append(median(raw[start : start + 2 * _REACH + 1]))
    bound = OUTLIER_DEVIATIONS * _noise(raw, least)
    pairs = zip(raw, medians, strict=True)
    logs = [value if abs(value - center) <= bound else center for value, center in pairs]
    return logs, tuple(at for at in range(count) if logs[at] != raw[at])


def _noise(logs: Sequence[float], least: float) -> float:
    """Returns the standard deviation of a value from the differences of consecutive ones, most of which are
    within a level.
    """
    steps = [abs(new - old) for old, new in itertools.pairwise(logs)]
    return max(NORMAL * median(steps) / math.sqrt(2), least)


def _partition(logs: Sequence[float], noise: float) -> list[int]:
    """Returns the beginnings of all parts but the first of the best partition."""
    import numpy as np  # Slow to import, and most commands do not need it.

    count = len(logs)
    centered = np.asarray(logs) - logs[0]
    sums = np.concatenate([[0.0], np.cumsum(centered)])
    squares = np.concatenate([[0.0], np.cumsum(centered**2)])
    penalty = _PENALTY * math.log(count) * noise * noise
    costs = np.full(count + 1, math.inf)
    costs[0] = 0.0
    starts = [0] * (count + 1)
    lengths = np.arange(count, MIN_SEGMENT - 1, -1)
    for end in range(MIN_SEGMENT, count + 1):
        last = end - MIN_SEGMENT + 1
        totals = sums[end] - sums[:last]
        within = squares[end] - squares[:last] - totals**2 / lengths[count - end :]
        candidates = costs[:last] + within + penalty
        starts[end] = int(candidates.argmin())
        costs[end] = candidates[starts[end]]
    return sorted(_walk(starts, count))


def _walk(starts: Sequence[int], end: int) -> Iterator[int]:
    while starts[end] > 0:
        end = starts[end]
        yield end


def _placed_again(logs: Sequence[float], cuts: Sequence[int]) -> list[int]:
    """Returns the change points, each at the place between its neighbours with the least squared error."""
    placed = list(cuts)
    for number in range(len(placed)):
        start = placed[number - 1] if number else 0
        end = placed[number + 1] if number + 1 < len(placed) else len(logs)
        placed[number] = start + _best_cut(logs[start:end])
    return placed


def _best_cut(part: Sequence[float]) -> int:
    """Returns where a division in two leaves the least squared error."""
    count, mean = len(part), math.fsum(part) / len(part)
    sums = list(itertools.accumulate(value - mean for value in part))
    # A division after n values reduces the error by the square of their sum * count / (n * (count - n)).
    return max(
        range(MIN_SEGMENT, count - MIN_SEGMENT + 1), key=lambda n: sums[n - 1] ** 2 / (n * (count - n))
    )


def _squares(part: Sequence[float]) -> float:
    mean = math.fsum(part) / len(part)
    return math.fsum((value - mean) ** 2 for value in part)


class _Line(Struct, frozen=True):
    """A straight line that is fitted to a series."""

    slope: float
    """Its slope for each race."""

    deviation: float
    """Standard deviation of a value from the line."""

    p: float
    """Probability of such a slope if nothing changes."""

    criterion: float
    """Schwarz's criterion: the slope is a parameter."""


def _line(logs: Sequence[float], least: float) -> _Line:
    count = len(logs)
    middle, mean = (count - 1) / 2, math.fsum(logs) / count
    spread = math.fsum((at - middle) ** 2 for at in range(count))
    slope = math.fsum((at - middle) * value for at, value in enumerate(logs)) / spread
    squares = math.fsum((value - mean - slope * (at - middle)) ** 2 for at, value in enumerate(logs))
    deviation = max(math.sqrt(squares / (count - 2)), least)
    p = StudentEstimate(slope, deviation / math.sqrt(spread), count - 2).p
    return _Line(slope, deviation, p, _criterion(squares, count, 1, least))


def _criterion(squares: float, count: int, parameters: int, least: float) -> float:
    """Returns Schwarz's criterion of a fit; lower is better."""
    return count * math.log(max(squares / count, least * least)) + parameters * math.log(count)
