"""Finds where the metrics of a series of races changed, and what of the configuration changed with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pacenote.compare.differences import group_differences
from pacenote.compare.estimate import PROBABLE, estimated_change
from pacenote.compare.metrics import (
    Datum,
    expanded_primary,
    metric_hint,
    operation_count,
    primary_metrics,
    race_metrics,
    smallest_effect_of,
)
from pacenote.compare.race_findings import is_doubtful
from pacenote.compare.race_series import race_series
from pacenote.errors import StoreError, UsageError
from pacenote.model.comparison import ComparedRace, MetricId, MetricWord
from pacenote.model.messages import list_with_rest
from pacenote.model.trend import (
    ChangedFact,
    MetricTrend,
    Trend,
    TrendAnswer,
    TrendChange,
    TrendDeviation,
    TrendDrift,
    TrendEvent,
    TrendLevel,
    TrendOptions,
    TrendPoint,
    TrendRace,
)
from pacenote.model.user_tags import tag_texts
from pacenote.model.warmup_backlog import BACKLOG_REASON
from pacenote.stats.absolute_effect import AbsoluteEffect, OperationCount, counting_error
from pacenote.stats.change_points import (
    LEVEL,
    MIN_RACES,
    MIN_SEGMENT,
    ChangePoint,
    Drift,
    LastDeviation,
    Segmentation,
    SmallestError,
    detectable_step,
    find_changes,
    last_deviation,
)
from pacenote.stats.effect import CONFIDENCE, Effect, bounded_effect
from pacenote.stats.words import word_of
from pacenote.units import format_count

FAMILY_LEVEL = 0.01
"""The sum of the levels of significance of all metrics, at most."""

_MAX_DOUBTFUL = 0.5
"""Share of the values of a level that may be doubtful if a change is to be more than probable."""

_MAX_STEP = 700.0
"""The largest logarithm of a ratio that is a number."""

_CORRELATED = 0.3
"""Correlation of consecutive races from which on false alarms are more frequent than stated."""

_NAMED = 4
"""Number of metrics that a note names."""

_ZERO = "0 in all races"


@dataclass(frozen=True, slots=True)
class _Scale:
    """How a metric is compared: by ratios or, if it may be 0, by differences."""

    metric: MetricId
    """The metric."""

    smallest_effect: float
    """The smallest change that matters: relative, or in the unit of the metric."""

    resolution: float | None
    """The resolution of differences; None for ratios."""

    @classmethod
    def of(cls, metric: MetricId, options: TrendOptions) -> _Scale:
        smallest = smallest_effect_of(metric)
        if metric.kind == "error rate":
            return cls(metric, smallest, smallest)
        return cls(metric, options.smallest_effect or smallest, None)

    @property
    def margin(self) -> float:
        """The smallest step that matters."""
        return self.smallest_effect if self.resolution is not None else math.log1p(self.smallest_effect)

    def change(self, step: float) -> float:
        """Returns the change that a step is."""
        return step if self.resolution is not None else math.expm1(step)

    def value(self, level: float) -> float:
        """Returns the value of a level in the unit of the metric."""
        return max(level, 0.0) if self.resolution is not None else math.exp(level)

    def is_worse(self, step: float) -> bool:
        """Returns whether a step is a worsening."""
        return (step < 0) == self.metric.higher_is_better

    def word(self, step: float) -> MetricWord:
        """Returns the verdict on a step that is certain: `same` if it is too small to matter."""
        if abs(step) < self.margin:
            return "same"
        return "worse" if self.is_worse(step) else "better"


def find_trend(races: Sequence[ComparedRace], options: TrendOptions) -> Trend:
    """Returns the trend of the races that have the configuration of the newest one that may be used.

    Raises StoreError if none may, and UsageError if a metric does not exist.
    """
    series = race_series(races, options)
    if not series.races:
        raise StoreError("no race can be used for a trend", hint="; ".join(series.left_out))
    values = [race_metrics(race.record) for race in series.races]
    metrics = _metrics(series.races, values, options)
    level = min(LEVEL, FAMILY_LEVEL / max(len(metrics), 1))
    new_from = _new_from(series.races, options)
    found = [
        _metric_trend(_Scale.of(metric, options), _points(metric, series.races, values), level, new_from)
        for metric in metrics
    ]
    first = series.races[-1].record
    return Trend(
        track=first.track.name,
        challenge=first.challenge,
        configuration={
            key: value for key, value in series.configuration.items() if key not in ("track", "challenge")
        },
        races=tuple(_race(race, options) for race in series.races),
        metrics=tuple(found),
        events=tuple(_events(series.races, found)),
        answer=_answer(found),
        new_from=new_from,
        level=level,
        left_out=series.left_out,
        notes=tuple(_notes(series.races, found)),
    )


def _metrics(
    races: Sequence[ComparedRace], values: Sequence[Mapping[MetricId, Datum]], options: TrendOptions
) -> list[MetricId]:
    """Returns the metrics to show, in the order of the newest race that has them. Raises UsageError."""
    known = list(dict.fromkeys(metric for own in reversed(values) for metric in own))
    if options.metrics:
        labels, unknown = expanded_primary(options.metrics, known)
        if unknown:
            raise UsageError(f"the races have no metric '{unknown[0]}'", hint=metric_hint(unknown[0], known))
    else:
        labels, _ = primary_metrics([race.record for race in races], known)
    return [metric for metric in known if metric.label in labels]


def _points(
    metric: MetricId, races: Sequence[ComparedRace], values: Sequence[Mapping[MetricId, Datum]]
) -> list[tuple[TrendPoint, Datum]]:
    return [
        (
            TrendPoint(
                number,
                own[metric].value,
                *own[metric].bounds,
                is_doubtful=is_doubtful(race.record, metric),
            ),
            own[metric],
        )
        for number, (race, own) in enumerate(zip(races, values, strict=True))
        if metric in own
    ]


def _new_from(races: Sequence[ComparedRace], options: TrendOptions) -> int:
    """Returns the index of the first race from which on a change is new."""
    if options.since is None:
        return max(0, len(races) - options.new_races)
    days = (race.began.date() if race.began else None for race in races)
    return next((at for at, day in enumerate(days) if day and day >= options.since), len(races))


def _metric_trend(
    scale: _Scale, points: Sequence[tuple[TrendPoint, Datum]], level: float, new_from: int
) -> MetricTrend:
    metric = scale.metric
    shown = MetricTrend(metric, scale.smallest_effect, tuple(point for point, _ in points))
    if reason := _reason(scale, points):
        return replace(shown, reason=reason)
    # Percentiles of races with too few samples, and latency with the backlog of a warm-up, do not count.
    counted = [point for point, datum in points if datum.is_usable]
    values = [point.value for point in counted]
    data = [datum for _, datum in points if datum.is_usable]
    smallest_error = _smallest_error(data)
    found = find_changes(values, level, scale.resolution, smallest_error)
    if found is not None and found.outliers:
        # Which races are outliers does not depend on it; their operations do not count.
        smallest_error = _smallest_error(data, found.outliers)
        found = find_changes(values, level, scale.resolution, smallest_error)
    if found is None:
        return replace(shown, points=tuple(counted), reason="a value is 0, so that there is no ratio")
    outliers = set(found.outliers)
    marked = tuple(replace(point, is_outlier=at in outliers) for at, point in enumerate(counted))
    bounds = found.bounds(len(values))
    parts = [marked[start:end] for start, end in bounds]
    changes = [
        _change(scale, each, (old, new), new_from)
        for each, (old, new) in zip(found.changes, itertools.pairwise(parts), strict=True)
    ]
    detectable = None
    if found.drift is None:
        start, end = bounds[-1]
        after = min(MIN_SEGMENT, end - start - 1)
        least = smallest_error(start, end - after, end)
        step = detectable_step(found, end - start, MIN_SEGMENT, level, least)
        detectable = scale.change(step) if step < _MAX_STEP else None
    return replace(
        shown,
        points=marked,
        levels=() if found.drift else tuple(_levels(scale, found, marked, smallest_error)),
        changes=tuple(_judged(scale, found, changes)),
        noise=scale.change(found.deviation),
        correlation=found.correlation,
        detectable=detectable,
        drift=None if found.drift is None else _drift(scale, found.drift),
        deviation=_deviation(scale, last_deviation(values, found, level, scale.resolution, smallest_error)),
    )


def _smallest_error(data: Sequence[Datum], outliers: Collection[int] = ()) -> SmallestError:
    """Returns the standard error of the difference between two parts of a series of error rates that follows
    from the number of their operations, without those of outliers.

    It is 0 for other metrics, and if the number of operations is unknown.
    """

    def counted(start: int, end: int) -> OperationCount | None:
        return operation_count([data[at] for at in range(start, end) if at not in outliers])

    def smallest_error(start: int, cut: int, end: int) -> float:
        old, new = counted(start, cut), counted(cut, end)
        return 0.0 if old is None or new is None else counting_error(old, new) * 100

    return smallest_error


def _reason(scale: _Scale, points: Sequence[tuple[TrendPoint, Datum]]) -> str:
    """Returns why no change can be found; empty if one can."""
    if scale.metric.q >= 100:
        return "a maximum does not decide"
    if not any(point.value for point, _ in points):
        return _ZERO
    counted = [datum for _, datum in points if datum.is_usable]
    if len(counted) >= MIN_RACES:
        return ""
    short = [datum for _, datum in points if datum.samples_needed]
    if any(datum.has_backlog for _, datum in points) and len(points) >= MIN_RACES:
        return BACKLOG_REASON
    if short and len(points) >= MIN_RACES:
        if not short[0].is_count_known:
            return f"not known whether each race has {short[0].samples_needed:,} samples, which it needs"
        return f"too few samples: a race needs {short[0].samples_needed:,}"
    return f"{format_count(len(counted), 'race')}: {MIN_RACES} are needed to find a change"


def _change(
    scale: _Scale, found: ChangePoint, sides: tuple[Sequence[TrendPoint], Sequence[TrendPoint]], new_from: int
) -> TrendChange:
    step, count = found.step, min(map(len, sides))
    if scale.resolution is None:
        effect: Effect | AbsoluteEffect = bounded_effect(step, count, paired=False, drift_excluded=False)
    else:
        effect = AbsoluteEffect(
            step.value, step.standard_error, step.degrees, count, paired=False, drift_excluded=False
        )
    word = word_of(effect, scale.smallest_effect, higher_is_better=scale.metric.higher_is_better)
    if any(sum(point.is_doubtful for point in side) > _MAX_DOUBTFUL * len(side) for side in sides):
        word = PROBABLE.get(word, word)
    after = sides[1][0].race
    return TrendChange(
        before=sides[0][-1].race,
        after=after,
        word=word,
        change=estimated_change(effect),
        p=found.p,
        matters=abs(step.value) >= scale.margin,
        is_new=after >= new_from,
    )


def _judged(scale: _Scale, found: Segmentation, changes: Sequence[TrendChange]) -> Iterator[TrendChange]:
    """Yields the changes, with whether they are new regressions: the newest level is still worse than that
    before the change by what matters.
    """
    for number, change in enumerate(changes):
        own = found.levels[number + 1] - found.levels[number]
        since = found.levels[-1] - found.levels[number]
        is_worse = change.word in ("worse", "probably worse")
        is_worse = is_worse and all(scale.word(step) == "worse" for step in (own, since))
        yield replace(change, is_regression=change.is_new and change.matters and is_worse)


def _levels(
    scale: _Scale, found: Segmentation, points: Sequence[TrendPoint], smallest_error: SmallestError
) -> Iterator[TrendLevel]:
    for (start, end), level in zip(found.bounds(len(points)), found.levels, strict=True):
        # A half of a level differs from the other one by twice the error of the whole.
        least = smallest_error(start, (start + end) // 2, end) / 2
        half = found.level_error(end - start, least).half_width(CONFIDENCE)
        low, high = (scale.value(level + side * half) for side in (-1, 1))
        yield TrendLevel(points[start].race, points[end - 1].race, end - start, scale.value(level), low, high)


def _drift(scale: _Scale, drift: Drift) -> TrendDrift:
    return TrendDrift(drift.per_race, drift.total, scale.word(math.log1p(drift.total)))


def _deviation(scale: _Scale, last: LastDeviation | None) -> TrendDeviation | None:
    if last is None or scale.word(last.step) == "same":
        return None
    return TrendDeviation(last.races, scale.change(last.step), scale.word(last.step))


def _answer(metrics: Sequence[MetricTrend]) -> TrendAnswer:
    if any(each.regressions for each in metrics):
        return "regression"
    if any(each.drift and each.drift.word == "worse" for each in metrics):
        return "drift"
    if any(each.deviation and each.deviation.word == "worse" for each in metrics):
        return "last race deviates"
    decided = any(not each.reason for each in metrics)
    return "no regression" if decided else "too few races"


def _events(races: Sequence[ComparedRace], metrics: Sequence[MetricTrend]) -> Iterator[TrendEvent]:
    """Yields the places of changes that matter, with what differs there."""
    places: dict[tuple[int, int], list[str]] = {}
    for each in metrics:
        for change in each.changes:
            if change.matters:
                places.setdefault((change.before, change.after), []).append(each.metric.label)
    ordered = sorted(places)
    for number, (before, after) in enumerate(ordered):
        start = ordered[number - 1][1] if number else 0
        end = ordered[number + 1][0] + 1 if number + 1 < len(ordered) else len(races)
        start, end = min(start, before), max(end, after + 1)
        facts, notes = _facts(races[start : before + 1], races[after:end])
        yield TrendEvent(before, after, tuple(places[before, after]), tuple(facts), notes)


def _facts(
    old: Sequence[ComparedRace], new: Sequence[ComparedRace]
) -> tuple[list[ChangedFact], tuple[str, ...]]:
    """Returns what differs between the races beside a change, first what differs nowhere else, and notes."""
    differences, notes = group_differences(old[-1:], new[:1])
    levels, _ = group_differences(old, new)
    single = {each.key for each in levels if len(each.baseline) <= 1 and len(each.contender) <= 1}
    facts = [ChangedFact(each, each.key in single) for each in differences]
    return sorted(facts, key=lambda fact: not fact.only_here), notes


def _notes(races: Sequence[ComparedRace], metrics: Sequence[MetricTrend]) -> Iterator[str]:
    suspect = sum(race.record.verdict.state == "suspect" for race in races)
    if suspect:
        yield f"{format_count(suspect, 'race is', 'races are')} suspect: `pacenote report` shows why"
    doubtful = [
        each.metric.label
        for each in metrics
        if not each.reason and any(point.is_doubtful for point in each.points)
    ]
    if doubtful:
        yield (
            f"values of {list_with_rest(doubtful, _NAMED)} are doubtful in some races; changes of levels "
            "with mostly such values are probable at most"
        )
    correlated = [each.metric.label for each in metrics if each.correlation >= _CORRELATED]
    if correlated:
        yield (
            f"consecutive races resemble each other in {list_with_rest(correlated, _NAMED)}, so that false "
            "alarms are more frequent"
        )


def _race(race: ComparedRace, options: TrendOptions) -> TrendRace:
    record = race.record
    cluster = record.cluster
    engine = cluster.title or " ".join(part for part in (cluster.distribution, cluster.version) if part)
    return TrendRace(
        race_id=record.race_id,
        name=options.name(record.race_id),
        timestamp=record.timestamp,
        verdict=record.verdict.state,
        engine=engine,
        revision=cluster.build_hash or "",
        tags=tag_texts(record.user_tags),
    )
