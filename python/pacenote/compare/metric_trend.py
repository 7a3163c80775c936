"""Where a metric of a series of races changed, and whether it is a regression."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.compare.estimate import PROBABLE, estimated_change
from pacenote.compare.metric_scale import MetricScale
from pacenote.compare.metrics import Datum, operation_count, race_counts
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.comparison import EstimatedChange, MetricWord
from pacenote.model.trend import (
    MetricTrend,
    TrendChange,
    TrendDeviation,
    TrendDrift,
    TrendLevel,
    TrendPoint,
)
from pacenote.model.unserved import ENDLESS_REASON
from pacenote.model.warmup_backlog import backlog_reason
from pacenote.stats.absolute_effect import AbsoluteEffect, OperationCount, counting_error
from pacenote.stats.change_points import (
    MIN_RACES,
    MIN_SEGMENT,
    ChangePoint,
    Drift,
    LastDeviation,
    Segmentation,
    SmallestError,
    correlation_p,
    detectable_step,
    find_changes,
    last_deviation,
)
from pacenote.stats.effect import CONFIDENCE, RESOLUTION, Effect, bounded_effect
from pacenote.stats.error_rate_alarms import find_error_rate_alarms
from pacenote.stats.online_detection import AlarmOptions, OnlineAlarm, find_alarms, soonest_step
from pacenote.stats.student import StudentEstimate
from pacenote.stats.words import word_of
from pacenote.units import format_count

ZERO_REASON = "0 in all races"
"""Why no change can be found in an error rate of 0."""

_MAX_DOUBTFUL = 0.5
"""Share of the values of a level that may be doubtful if a change is to be more than probable."""

_MAX_STEP = 700.0
"""The largest logarithm of a ratio that is a number."""

NEAR = 5
"""Number of races between two places that may be the same change: the place of one that was just found is
uncertain.
"""

_WORSE: tuple[MetricWord, ...] = ("worse", "probably worse")


class TrendCriteria(Struct, frozen=True):
    """By what the changes of all metrics are judged."""

    level: float
    """The level of significance of each metric."""

    alarms_per_year: float
    """False alarms of the online detector for each metric, on average."""

    races: int
    """Number of races of the series."""

    new_from: int
    """Index of the first of the newest races: what the races before it show is not new."""

    only_new: bool = False
    """Whether only new changes are regressions."""

    accepted: Mapping[str, Sequence[tuple[int, AcceptedRegression]]] = field(default_factory=dict)
    """Accepted regressions by label of the metric, each with the index of its race."""


def metric_trend(
    scale: MetricScale, points: Sequence[tuple[TrendPoint, Datum]], criteria: TrendCriteria
) -> MetricTrend:
    """Returns the changes of a metric, whose values are in the order of the races."""
    shown = MetricTrend(scale.metric, scale.smallest_effect, tuple(point for point, _ in points))
    if reason := _reason(scale, points):
        return replace(shown, reason=reason)
    counted = [(point, datum) for point, datum in points if _counts(scale, datum)]
    series = _Series(scale, [point for point, _ in counted], [datum for _, datum in counted], criteria)
    segmentation = series.segmentation(len(series.points))
    if segmentation is None:
        return replace(shown, points=tuple(series.points), reason="a value is not a number")
    outliers = set(segmentation.outliers)
    marked = tuple(replace(point, is_outlier=at in outliers) for at, point in enumerate(series.points))
    smallest_error = series.smallest_error(segmentation.outliers)
    last = last_deviation(series.values, segmentation, criteria.level, scale.resolution, smallest_error)
    detectable = None if segmentation.drift else series.detectable(segmentation)
    return replace(
        shown,
        points=marked,
        levels=() if segmentation.drift else tuple(_levels(scale, segmentation, marked, smallest_error)),
        changes=tuple(series.changes(segmentation)),
        noise=scale.change(segmentation.deviation),
        correlation=segmentation.correlation,
        correlation_p=correlation_p(segmentation.correlation, len(marked)),
        detectable=detectable,
        drift=None if segmentation.drift is None else series.drift(segmentation.drift),
        deviation=_deviation(scale, last),
        is_missing=series.is_missing,
    )


def _counts(scale: MetricScale, datum: Datum) -> bool:
    """Returns whether a value counts: not a percentile of too few samples, latency with the backlog of a
    warm-up or without end, or a value without a ratio to others.
    """
    return datum.is_usable and (scale.resolution is not None or datum.value > 0)


def _reason(scale: MetricScale, points: Sequence[tuple[TrendPoint, Datum]]) -> str:
    """Returns why no change can be found; empty if one can."""
    if scale.metric.q >= 100:
        return "a maximum does not decide"
    if not any(point.value for point, _ in points):
        return ZERO_REASON
    counted = [datum for _, datum in points if _counts(scale, datum)]
    if len(counted) >= MIN_RACES:
        return ""
    short = [datum for _, datum in points if datum.samples_needed]
    if any(datum.has_backlog for _, datum in points) and len(points) >= MIN_RACES:
        return backlog_reason(scale.metric.kind)
    if any(datum.is_endless for _, datum in points) and len(points) >= MIN_RACES:
        return ENDLESS_REASON
    if short and len(points) >= MIN_RACES:
        if not short[0].is_count_known:
            return f"not known whether each race has {short[0].samples_needed:,} samples, which it needs"
        return f"too few samples: a race needs {short[0].samples_needed:,}"
    return f"{format_count(len(counted), 'race')}: {MIN_RACES} are needed to find a change"


class _Series(Struct, frozen=True):
    """The values of a metric that count, with what they are judged by."""

    scale: MetricScale
    """How they are compared."""

    points: Sequence[TrendPoint]
    """The values with their races."""

    data: Sequence[Datum]
    """What the races have of them."""

    criteria: TrendCriteria
    """By what their changes are judged."""

    @property
    def values(self) -> list[float]:
        """The values."""
        return [point.value for point in self.points]

    @property
    def is_missing(self) -> bool:
        """Whether the newest race has no value, which nobody accepted."""
        last = self.points[-1].race
        accepted = self.criteria.accepted.get(self.scale.metric.label, ())
        is_accepted = any(race > last and entry.change is None for race, entry in accepted)
        return last < self.criteria.races - 1 and not is_accepted

    def segmentation(self, count: int) -> Segmentation | None:
        """Returns the levels of the first `count` values; None if these are too few, or one is 0."""
        values, level, resolution = self.values[:count], self.criteria.level, self.scale.resolution
        segmentation = find_changes(values, level, resolution, self.smallest_error())
        if segmentation is not None and segmentation.outliers and self.scale.metric.kind == "error rate":
            # Which races are outliers does not depend on it; their operations do not count.
            segmentation = find_changes(values, level, resolution, self.smallest_error(segmentation.outliers))
        return segmentation

    def smallest_error(self, outliers: Collection[int] = ()) -> SmallestError:
        """Returns the standard error of the difference between two parts of a series of error rates that
        follows from the number of their operations, without those of outliers.

        It is 0 for other metrics, and if the number of operations is unknown.
        """

        def counted(start: int, end: int) -> OperationCount | None:
            return operation_count([self.data[at] for at in range(start, end) if at not in outliers])

        def smallest_error(start: int, cut: int, end: int) -> float:
            old, new = counted(start, cut), counted(cut, end)
            return 0.0 if old is None or new is None else counting_error(old, new) * 100

        return smallest_error

    @property
    def _alarm_options(self) -> AlarmOptions:
        increase_is_worse = not self.scale.metric.higher_is_better
        per_year = self.criteria.alarms_per_year
        resolution = self.scale.resolution or RESOLUTION
        return AlarmOptions(per_year, self.scale.margin, resolution, increase_is_worse=increase_is_worse)

    @property
    def _has_alarms(self) -> bool:
        """Whether the online detector watches it: not what cannot become worse, and error rates of which the
        numbers of operations are not known.
        """
        if self.scale.metric.kind == "error rate":
            return race_counts(self.data) is not None
        return self.scale.metric.higher_is_better is not None

    def alarms(self) -> tuple[OnlineAlarm, ...]:
        """Returns the alarms of the online detector."""
        if not self._has_alarms:
            return ()
        if self.scale.metric.kind == "error rate":
            return find_error_rate_alarms(race_counts(self.data) or (), self._alarm_options)
        values = self.values
        if self.scale.resolution is None:
            values = [math.log(value) for value in values]
        return find_alarms(values, self._alarm_options)

    def detectable(self, segmentation: Segmentation) -> float | None:
        """Returns the smallest worsening that is found by its third race in 80 % of cases."""
        start, end = segmentation.bounds(len(self.points))[-1]
        after = min(MIN_SEGMENT, end - start - 1)
        least = self.smallest_error(segmentation.outliers)(start, end - after, end)
        steps = [detectable_step(segmentation, end - start, MIN_SEGMENT, self.criteria.level, least)]
        if self._has_alarms and self.scale.metric.kind != "error rate":
            soonest = soonest_step(
                end - start, segmentation.deviation, segmentation.correlation, self._alarm_options
            )
            steps += [] if soonest is None else [soonest]
        step = min(steps)
        return self.scale.change(step) if step < _MAX_STEP else None

    def changes(self, segmentation: Segmentation) -> Iterator[TrendChange]:
        """Yields the changes between levels and the alarms that have not ended and matter, in their order."""
        known_count = sum(point.race < self.criteria.new_from for point in self.points)
        known = self.segmentation(known_count)
        alarms = self._unexplained(segmentation.drift)
        earlier: list[_Place] = [*(known.changes if known else ())]
        earlier += [alarm for alarm in alarms if alarm.raised < known_count]
        changes: list[tuple[_Place, TrendChange]] = [
            (change, self._between_levels(segmentation, number))
            for number, change in enumerate(segmentation.changes)
        ]
        changes += [
            (alarm, self._alarmed(alarm))
            for alarm in alarms
            if alarm.ended is None
            and not _is_near(alarm, segmentation.changes)
            and abs(alarm.step.value) >= self.scale.margin
        ]
        for place, change in sorted(changes, key=lambda entry: entry[0].at):
            yield self._judged(replace(change, is_new=not _is_near(place, earlier)))

    def _unexplained(self, drift: Drift | None) -> tuple[OnlineAlarm, ...]:
        """Returns the alarms that a drift does not explain. One that became worse explains all or, if it was
        accepted, those until then.
        """
        if drift is None or self.drift(drift).word != "worse":
            return self.alarms()
        accepted = self._accepted_drift(drift)
        if accepted is None:
            return ()
        return tuple(
            alarm for alarm in self.alarms() if accepted[0] - self.points[alarm.at].race < MIN_SEGMENT
        )

    def _between_levels(self, segmentation: Segmentation, number: int) -> TrendChange:
        """Returns a change between levels; it is worse if the newest level still is by what matters."""
        scale, change = self.scale, segmentation.changes[number]
        start, cut, end = segmentation.edges(len(self.points))[number : number + 3]
        sides = (self.points[start:cut], self.points[cut:end])
        effect = self._effect(change.step, min(map(len, sides)))
        word = self._word(effect, sides)
        since = segmentation.levels[-1] - segmentation.levels[number]
        shown = TrendChange(
            before=self.points[cut - 1].race,
            after=self.points[cut].race,
            word=word,
            change=estimated_change(effect, self.scale.metric),
            p=change.p,
            matters=abs(change.step.value) >= scale.margin,
        )
        if shown.matters:
            lasts = scale.word(change.step.value) == scale.word(since) == "worse"
            return replace(shown, is_regression=lasts and word in _WORSE)
        return self._with_stairs(segmentation, number, shown)

    def _with_stairs(self, segmentation: Segmentation, number: int, shown: TrendChange) -> TrendChange:
        """Returns a change that is too small to matter; with the total, if the small steps since then are
        worse together by what matters.
        """
        scale = self.scale
        since = segmentation.levels[-1] - segmentation.levels[number]
        small = math.fsum(
            change.step.value
            for change in segmentation.changes[number:]
            if abs(change.step.value) < scale.margin
        )
        own = segmentation.changes[number].step.value
        if not scale.is_worse(own) or not scale.word(small) == scale.word(since) == "worse":
            return shown
        edges = segmentation.edges(len(self.points))
        old, new = edges[number + 1] - edges[number], edges[-1] - edges[-2]
        errors = (segmentation.level_error(count).standard_error for count in (old, new))
        step = StudentEstimate(since, math.hypot(*errors), max(segmentation.degrees, 1))
        effect = self._effect(step, min(old, new))
        word = self._word(effect, (self.points[edges[number] : edges[number + 1]], self.points[edges[-2] :]))
        if word not in _WORSE:
            return shown
        return replace(
            shown,
            word=word,
            total=estimated_change(effect, self.scale.metric),
            matters=True,
            is_regression=True,
        )

    def _alarmed(self, alarm: OnlineAlarm) -> TrendChange:
        """Returns the change that an alarm is about: it is probable at most."""
        effect = self._effect(alarm.step, MIN_SEGMENT)
        return TrendChange(
            before=self.points[alarm.at - 1].race,
            after=self.points[alarm.at].race,
            word="probably worse",
            change=estimated_change(effect, self.scale.metric),
            p=alarm.step.p,
            matters=True,
            raised=self.points[alarm.raised].race,
            is_regression=True,
        )

    def _effect(self, step: StudentEstimate, count: int) -> Effect | AbsoluteEffect:
        if self.scale.resolution is None:
            return bounded_effect(step, count, paired=False, drift_excluded=False)
        return AbsoluteEffect(
            step.value, step.standard_error, step.degrees, count, paired=False, drift_excluded=False
        )

    def _word(self, effect: Effect | AbsoluteEffect, sides: Sequence[Sequence[TrendPoint]]) -> MetricWord:
        scale = self.scale
        word = word_of(effect, scale.smallest_effect, higher_is_better=scale.metric.higher_is_better)
        if any(sum(point.is_doubtful for point in side) > _MAX_DOUBTFUL * len(side) for side in sides):
            word = PROBABLE.get(word, word)
        return word

    def _judged(self, change: TrendChange) -> TrendChange:
        """Returns a change, which is not a regression if it was accepted, or if only new ones are."""
        if not change.is_regression:
            return change
        if self.criteria.only_new and not change.is_new:
            return replace(change, is_regression=False)
        accepted = self._acceptance(change.after, change.total or change.change)
        return replace(change, accepted=accepted, is_regression=not accepted)

    def _acceptance(self, after: int, change: EstimatedChange) -> str:
        """Returns why a change was accepted; empty if it was not, or is worse than that by what matters."""
        for race, entry in self.criteria.accepted.get(self.scale.metric.label, ()):
            # The level of the race with which a drift was accepted had begun some races before.
            is_same = (entry.kind != "drift" and abs(race - after) <= NEAR) or (
                entry.kind in ("drift", None) and race - after >= MIN_SEGMENT
            )
            if entry.change is None or not is_same:
                continue
            more = abs(self.scale.step(change.value)) - abs(self.scale.step(entry.change))
            if more < self.scale.margin:
                return entry.reason
        return ""

    def drift(self, fitted: Drift) -> TrendDrift:
        """Returns a drift: it is a regression if it is worse by what matters, also since it was accepted."""
        scale = self.scale
        drift = TrendDrift(fitted.per_race, fitted.total, scale.word(math.log1p(fitted.total)))
        if drift.word != "worse":
            return drift
        accepted = self._accepted_drift(fitted)
        if accepted is not None:
            return replace(drift, accepted=accepted[1].reason)
        return replace(drift, is_regression=True)

    def _accepted_drift(self, drift: Drift) -> tuple[int, AcceptedRegression] | None:
        """Returns the accepted drift, with the index of its race, since which this one did not go on by what
        matters; None without one.
        """
        last = self.points[-1].race
        for race, entry in self.criteria.accepted.get(self.scale.metric.label, ()):
            if entry.kind in ("drift", None) and self.scale.word(drift.slope * (last - race)) == "same":
                return race, entry
        return None


_Place = ChangePoint | OnlineAlarm


def _is_near(place: _Place, others: Iterable[_Place]) -> bool:
    """Returns whether a change may be the same as one of others: near it, and in its direction."""
    is_lower = place.step.value < 0
    return any(abs(other.at - place.at) <= NEAR and (other.step.value < 0) == is_lower for other in others)


def _levels(
    scale: MetricScale,
    segmentation: Segmentation,
    points: Sequence[TrendPoint],
    smallest_error: SmallestError,
) -> Iterator[TrendLevel]:
    for (start, end), level in zip(segmentation.bounds(len(points)), segmentation.levels, strict=True):
        # A half of a level differs from the other one by twice the error of the whole.
        least = smallest_error(start, (start + end) // 2, end) / 2
        half = segmentation.level_error(end - start, least).half_width(CONFIDENCE)
        low, high = (scale.value(level + side * half) for side in (-1, 1))
        yield TrendLevel(points[start].race, points[end - 1].race, end - start, scale.value(level), low, high)


def _deviation(scale: MetricScale, last: LastDeviation | None) -> TrendDeviation | None:
    if last is None or scale.word(last.step) == "same":
        return None
    return TrendDeviation(last.races, scale.change(last.step), scale.word(last.step))
