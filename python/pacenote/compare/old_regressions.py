"""How far back a trend has to look, so that a regression does not end because its old level is too long ago.

The races before the newest ones are judged in windows of as many races, each half of them later than the one
before. What was a regression in one window, and of which the next one does not have the whole old level, is
one as long as the newest level of that window is worse than that old level by what matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import Struct

from pacenote.compare.metric_scale import MetricScale
from pacenote.compare.metric_trend import NEAR, TrendCriteria, metric_trend
from pacenote.compare.metrics import Datum
from pacenote.model.trend import MetricTrend, TrendLevel, TrendPoint

_NEWEST = 3
"""Number of values whose median is the newest level of a metric that drifts."""


class _Regression(Struct, frozen=True):
    """A regression that was found."""

    first: int
    """Index of the first race of its old level."""

    after: int
    """Index of the first race of its new level."""

    value: float
    """The old level."""


def first_race_needed(
    scale: MetricScale, points: Sequence[tuple[TrendPoint, Datum]], criteria: TrendCriteria, last: int
) -> int:
    """Returns the index of the first of the newest `last` races or, if a regression of a metric was found
    before them and lasts, that of the old level, of which `last` races count.
    """
    newest = criteria.races - last
    lasting: list[_Regression] = []
    for start in (*range(0, newest, max(1, last // 2)), newest):
        own = [entry for entry in points if start <= entry[0].race < start + last]
        if not own:
            continue
        trend = metric_trend(scale, own, criteria)
        regressions = list(_regressions(trend))
        lasting = [each for each in lasting if each.first < start and _lasts(each, trend, scale)]
        if start == newest:
            return min(
                (max(each.first, each.after - last) for each in lasting if not _is_near(each, regressions)),
                default=newest,
            )
        lasting += [each for each in regressions if not _is_near(each, lasting)]
    return newest


def _regressions(trend: MetricTrend) -> Iterator[_Regression]:
    for change in trend.regressions:
        level = _level_with(trend, change.before)
        if level is not None:
            yield _Regression(level.first, change.after, level.value)
    if trend.drift is not None and trend.drift.is_regression:
        first = trend.points[0]
        yield _Regression(first.race, first.race, _newest_level(trend) / (1 + trend.drift.total))


def _level_with(trend: MetricTrend, race: int) -> TrendLevel | None:
    return next((level for level in trend.levels if level.first <= race <= level.last), None)


def _lasts(regression: _Regression, trend: MetricTrend, scale: MetricScale) -> bool:
    """Returns whether the newest level of a metric is still worse by what matters."""
    if trend.reason:
        return True
    return scale.word(scale.step_between(regression.value, _newest_level(trend))) == "worse"


def _newest_level(trend: MetricTrend) -> float:
    if trend.levels:
        return trend.levels[-1].value
    return median(point.value for point in trend.points[-_NEWEST:])


def _is_near(regression: _Regression, others: Sequence[_Regression]) -> bool:
    return any(abs(other.after - regression.after) <= NEAR for other in others)
