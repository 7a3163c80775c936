"""Finds where the metrics of a series of races changed, and what of the configuration changed with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from pacenote.compare.deciding import deciding_metrics
from pacenote.compare.differences import group_differences
from pacenote.compare.metric_scale import MetricScale
from pacenote.compare.metric_trend import TrendCriteria, metric_trend
from pacenote.compare.metrics import Datum, expanded_primary, metric_hint, race_metrics
from pacenote.compare.old_regressions import first_race_needed
from pacenote.compare.quality import check_directions
from pacenote.compare.race_findings import RaceDoubts
from pacenote.compare.race_series import RaceSeries, race_series
from pacenote.errors import StoreError, UsageError
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.comparison import ComparedRace, MetricId
from pacenote.model.custom_metrics import declared_metrics, quality_directions
from pacenote.model.messages import list_with_rest
from pacenote.model.trend import (
    ChangedFact,
    MetricTrend,
    Trend,
    TrendAnswer,
    TrendEvent,
    TrendOptions,
    TrendPoint,
    TrendRace,
)
from pacenote.model.user_tags import tag_texts
from pacenote.stats.change_points import LEVEL, MIN_RACES
from pacenote.stats.multiplicity import holm_confidences
from pacenote.units import format_count

FAMILY_LEVEL = 0.01
"""The sum of the levels of significance of all metrics, at most."""

ALARMS_PER_YEAR = 0.65
"""False alarms of the online detector in 365 races for all metrics together, on average, if races are
independent.
"""

_CORRELATED = 0.3
"""Correlation of consecutive races from which on false alarms are more frequent than stated."""

_NAMED = 4
"""Number of metrics that a note names."""


def find_trend(races: Sequence[ComparedRace], options: TrendOptions) -> Trend:
    """Returns the trend of the races that have the configuration of the newest one that may be used, and that
    of the series before if it ended with a regression.

    Raises StoreError if no race may be used, and UsageError if a metric does not exist, also one that has a
    direction.
    """
    series = race_series(races, options)
    if not series.races:
        raise StoreError("no race can be used for a trend", hint="; ".join(series.left_out))
    trend = _trend(series, options)
    earlier = _earlier_regression(series, options)
    if earlier is None:
        return trend
    answer = trend.answer if trend.answer == "regression" else "earlier regression"
    return replace(trend, earlier=earlier, answer=answer)


def _earlier_regression(series: RaceSeries, options: TrendOptions) -> Trend | None:
    """Returns the trend of the last series before this one that ended with a regression, if there is one:
    that the data or the machine changed neither accepts a regression nor removes it.
    """
    quality = (*options.quality, *options.checked_quality)
    own = replace(options, quality=quality, checked_quality=(), not_before=None, left_out=(), damaged=())
    for races in series.earlier:
        try:
            trend = _trend(race_series(races, own), own)
        except UsageError:
            continue  # These races lack a metric that was asked for.
        if trend.answer == "regression":
            return trend
    return None


def _trend(series: RaceSeries, options: TrendOptions) -> Trend:
    """Returns the trend of a series that has races. Raises UsageError."""
    newest = len(series.races) - min(options.last or len(series.races), len(series.races))
    customs = declared_metrics(
        [race.record.task_meta for race in series.races], quality_directions(options.quality)
    )
    values = [race_metrics(race.record, customs) for race in series.races]
    check_directions(options.checked_quality, (metric for own in values for metric in own), kind="")
    metrics = _metrics(series.races[newest:], values[newest:], options)
    first = _first_race(series, metrics, values, options)
    if first:
        older = f"{format_count(first, 'older race')}: --last includes more of them"
        series = replace(series, races=series.races[first:], left_out=(*series.left_out, older))
    values = values[first:]
    criteria = _criteria(series, len(metrics), options)
    points = _all_points(series, metrics, values)
    trends = [
        metric_trend(_scale(metric, values, options), own, criteria)
        for metric, own in zip(metrics, points, strict=True)
    ]
    record = series.races[-1].record
    return Trend(
        track=record.track.name,
        challenge=record.challenge,
        configuration={
            key: value for key, value in series.configuration.items() if key not in ("track", "challenge")
        },
        races=tuple(_race(race, options) for race in series.races),
        metrics=tuple(trends),
        events=tuple(_events(series.races, trends)),
        answer=_answer(trends, series),
        new_from=criteria.new_from,
        level=criteria.level,
        newest_unusable=series.newest_unusable,
        left_out=series.left_out,
        notes=(*_notes(series.races, trends), *_zero_notes(trends, points), *_older_note(newest - first)),
    )


def _first_race(
    series: RaceSeries,
    metrics: Sequence[MetricId],
    values: Sequence[Mapping[MetricId, Datum]],
    options: TrendOptions,
) -> int:
    """Returns the index of the first race to look at: that of the newest ones or, if a regression was found
    before them and lasts, that of its old level.
    """
    count = len(series.races)
    if options.last is None or options.last >= count or options.since is not None:
        return count - min(options.last or count, count)
    criteria = _criteria(series, len(metrics), options)
    points = _all_points(series, metrics, values)
    return min(
        (
            first_race_needed(_scale(metric, values, options), own, criteria, options.last)
            for metric, own in zip(metrics, points, strict=True)
        ),
        default=count - options.last,
    )


def _zero_notes(
    metrics: Sequence[MetricTrend], points: Sequence[Sequence[tuple[TrendPoint, Datum]]]
) -> Iterator[str]:
    """Yields which values of 0 do not count."""
    for metric, own in zip(metrics, points, strict=True):
        zeros = sum(point.value <= 0 for point, _ in own)
        if zeros and not metric.is_absolute:
            races = format_count(zeros, "race has", "races have")
            yield f"{races} a {metric.metric.label} of 0, which has no ratio to others and does not count"


def _older_note(older: int) -> Iterator[str]:
    """Yields that older races than asked for are looked at."""
    if older:
        races = format_count(older, "race before the newest ones is", "races before the newest ones are")
        yield f"{races} included, with the old level of a regression that was found among them"


def _scale(
    metric: MetricId, values: Sequence[Mapping[MetricId, Datum]], options: TrendOptions
) -> MetricScale:
    return MetricScale.of(metric, options, [own[metric].value for own in values if metric in own])


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
        labels = _deciding(races, values) | {
            metric.label
            for metric in known
            if metric.kind == "custom" and metric.higher_is_better is not None
        }
    return [metric for metric in known if metric.label in labels]


def _deciding(races: Sequence[ComparedRace], values: Sequence[Mapping[MetricId, Datum]]) -> frozenset[str]:
    """Returns the labels of the metrics that decide in so many races that a change can be found in them, and
    of tasks without such a metric all that decide.
    """
    counts = Counter[str]()
    for race, own in zip(races, values, strict=True):
        counts.update(deciding_metrics([race.record], own.keys())[0])
    frequent = {label for label, count in counts.items() if count >= MIN_RACES}
    tasks = {metric.label: metric.task for own in values for metric in own}
    known = {tasks.get(label) for label in frequent}
    return frozenset(frequent) | {label for label in counts if tasks.get(label) not in known}


def _all_points(
    series: RaceSeries, metrics: Sequence[MetricId], values: Sequence[Mapping[MetricId, Datum]]
) -> list[list[tuple[TrendPoint, Datum]]]:
    """Returns the values of each metric in the races of a series."""
    doubts = [RaceDoubts(race.record) for race in series.races]
    return [_points(metric, doubts, values) for metric in metrics]


def _points(
    metric: MetricId, doubts: Sequence[RaceDoubts], values: Sequence[Mapping[MetricId, Datum]]
) -> list[tuple[TrendPoint, Datum]]:
    return [
        (
            TrendPoint(
                number,
                own[metric].value,
                *own[metric].bounds,
                is_doubtful=own_doubts.is_doubtful(metric),
                has_backlog=own[metric].has_backlog,
            ),
            own[metric],
        )
        for number, (own_doubts, own) in enumerate(zip(doubts, values, strict=True))
        if metric in own
    ]


def _new_from(races: Sequence[ComparedRace], options: TrendOptions) -> int:
    """Returns the index of the first race from which on a change is new."""
    if options.since is None:
        return max(0, len(races) - options.new_races)
    days = (race.began.date() if race.began else None for race in races)
    return next((at for at, day in enumerate(days) if day and day >= options.since), len(races))


def _criteria(series: RaceSeries, metrics: int, options: TrendOptions) -> TrendCriteria:
    family = max(metrics, 1)
    return TrendCriteria(
        level=min(LEVEL, FAMILY_LEVEL / family),
        alarms_per_year=ALARMS_PER_YEAR / family,
        races=len(series.races),
        new_from=_new_from(series.races, options),
        only_new=options.since is not None,
        accepted=_accepted(series.races, options.accepted),
    )


def _accepted(
    races: Sequence[ComparedRace], accepted: Sequence[AcceptedRegression]
) -> dict[str, list[tuple[int, AcceptedRegression]]]:
    """Returns the accepted regressions of these races by metric, each with the index of its race."""
    places = {race.record.race_id: number for number, race in enumerate(races)}
    by_metric: dict[str, list[tuple[int, AcceptedRegression]]] = {}
    for entry in accepted:
        if entry.race_id in places:
            by_metric.setdefault(entry.metric, []).append((places[entry.race_id], entry))
    return by_metric


def _answer(metrics: Sequence[MetricTrend], series: RaceSeries) -> TrendAnswer:
    if any(each.is_worse for each in metrics):
        return "regression"
    if series.newest_unusable or any(each.is_missing for each in metrics):
        return "newest races unusable"
    if any(each.deviation and each.deviation.word == "worse" for each in metrics):
        return "last race deviates"
    decided = any(not each.reason for each in metrics)
    return "no regression" if decided else "too few races"


def _events(races: Sequence[ComparedRace], metrics: Sequence[MetricTrend]) -> Iterator[TrendEvent]:
    """Yields the places of changes that matter, with what differs there."""
    places: dict[tuple[int, int], list[str]] = {}
    for metric in metrics:
        for change in metric.changes:
            if change.matters:
                places.setdefault((change.before, change.after), []).append(metric.metric.label)
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
    missing = [each.metric.label for each in metrics if each.is_missing]
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        yield f"{list_with_rest(missing, _NAMED)} {verb} not count in the newest race"
    if correlated := _correlated(metrics):
        yield (
            f"consecutive races resemble each other in {list_with_rest(correlated, _NAMED)}, so that false "
            "alarms are more frequent"
        )


def _correlated(metrics: Sequence[MetricTrend]) -> list[str]:
    """Returns the labels of metrics in which consecutive races resemble each other: so much that chance does
    not explain it in one of so many metrics.
    """
    judged = [each for each in metrics if not each.reason]
    confidences = holm_confidences([each.correlation_p for each in judged])
    return [
        each.metric.label
        for each, confidence in zip(judged, confidences, strict=True)
        if each.correlation >= _CORRELATED and each.correlation_p < 1 - confidence
    ]


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
