"""The answers of a trend in words: is there a regression, since when, by how much, what changed with it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pacenote.model.comparison import MetricWord
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import whole_line
from pacenote.model.trend import ChangedFact, MetricTrend, Trend, TrendChange, TrendEvent, TrendRace
from pacenote.report.comparison_differences import shown_differences
from pacenote.report.comparison_rows import backlog_mark, change_text, interval_text
from pacenote.report.comparison_texts import full_metric_name
from pacenote.units import (
    format_change,
    format_count,
    format_difference,
    format_number,
    format_range,
    format_share,
)

SPARKS = "▁▂▃▄▅▆▇█"
"""The heights of a sparkline."""

_FLAT = 0.01
"""A range below this share of the values does not fill a sparkline: noise must not look like a change."""

_BADGES = {
    "regression": "regression",
    "earlier regression": "regression before",
    "newest races unusable": "newest races cannot be used",
    "last race deviates": "repeat the last race",
    "no regression": "no regression",
    "too few races": "too few races",
}

_ZERO = "0 in all races"

_NAMED = 4
"""Number of metrics that a sentence names."""


def badge_text(trend: Trend) -> str:
    """Returns the answer in one or two words."""
    return _BADGES[trend.answer]


def headline_text(trend: Trend) -> str:
    """Returns what the answer is about: the metric that says most, or the track."""
    names = " / ".join(name for name in (trend.track, trend.challenge) if name)
    if trend.answer == "earlier regression" and trend.earlier is not None:
        return headline_text(trend.earlier)
    if trend.regressions:
        metric, change = max(trend.regressions, key=lambda pair: size_of(*pair))
        since = race_text(trend, change.after)
        size = change_text(change.total or change.change)
        return f"{full_metric_name(metric.metric)} {size} since {since}"
    drifts = [each for each in trend.metrics if each.drift is not None and each.drift.is_regression]
    if drifts:
        return f"{full_metric_name(drifts[0].metric)} {_drift_text(drifts[0])}"
    return whole_line(f"{names}, {format_count(len(trend.races), 'race')}")


def size_of(metric: MetricTrend, change: TrendChange) -> float:
    """Returns the size of a change compared with the smallest one that matters."""
    value = (change.total or change.change).value
    if change.change.is_absolute:
        return abs(value) / metric.smallest_effect
    return abs(math.log1p(value)) / math.log1p(metric.smallest_effect)


def capitalized(text: str) -> str:
    """Returns a text as the beginning of a sentence. A percentile such as p99 stays as it is."""
    return text if re.match(r"p\d", text) else f"{text[:1].upper()}{text[1:]}"


def race_text(trend: Trend, number: int) -> str:
    """Returns a race as `2026-03-01 12:30 (b625d810)`."""
    race = trend.races[number]
    return f"{race.timestamp:%Y-%m-%d %H:%M} ({whole_line(race.name)})"


def answer_text(trend: Trend) -> str:
    """Returns whether there is a regression, in how many metrics, and whether it is new."""
    if trend.answer == "earlier regression" and trend.earlier is not None:
        return f"yes: {earlier_text(trend.earlier)}"
    judged = [each for each in trend.metrics if not each.reason]
    if not judged:
        reasons = [each.reason for each in trend.metrics if each.reason != _ZERO]
        return f"not known: {reasons[0]}" if reasons else "not known: the races have no metric that decides"
    worse = [each for each in trend.metrics if each.is_worse]
    count = format_count(len(judged), "metric")
    if worse:
        return f"yes: {len(worse)} of {count} became worse{_new_text(trend, worse)}"
    if trend.answer == "newest races unusable":
        missing = [full_metric_name(each.metric) for each in trend.metrics if each.is_missing]
        reason = trend.newest_unusable or f"{list_with_rest(missing, _NAMED)} not counted in the newest race"
        return whole_line(f"not known: {reason}")
    return f"no: none of {count} is worse"


def earlier_text(earlier: Trend) -> str:
    """Returns with which regression the series before ended, and what ends it."""
    worse = [full_metric_name(each.metric) for each in earlier.metrics if each.is_worse]
    verb = "is" if len(worse) == 1 else "are"
    races = format_count(len(earlier.races), "race")
    return whole_line(
        f"{list_with_rest(worse, _NAMED)} {verb} worse in the {races} until {race_text(earlier, -1)}, before "
        "the machine, the data or the work of a task changed; it was not accepted"
    )


def _new_text(trend: Trend, worse: Sequence[MetricTrend]) -> str:
    """Returns how many of the worse metrics have a regression that is new."""
    new = sum(any(change.is_new for change in each.regressions) for each in worse)
    count = len(trend.races) - trend.new_from
    if not new:
        return ", none of them newly: it stays one until it is accepted or the level is back"
    which = "" if new == len(worse) else f", {new} of them"
    return f"{which}, found within the newest {format_count(count, 'race')}"


def other_texts(trend: Trend) -> Iterator[str]:
    """Yields what else the newest races show: drifts, deviations, improvements, earlier changes."""
    if trend.answer == "regression" and trend.earlier is not None:
        yield earlier_text(trend.earlier)
    for races, what, advice in (
        (1, "the last race deviates", "one race is no verdict: repeat it"),
        (2, "the last 2 races deviate", "two races are no verdict: run one more"),
    ):
        off = [each for each in trend.metrics if each.deviation and each.deviation.races == races]
        if off:
            named = [f"{full_metric_name(each.metric)} {_deviation_text(each)}" for each in off]
            yield f"{what} ({list_with_rest(named, _NAMED)}); {advice}"
    for metric in trend.metrics:
        name = full_metric_name(metric.metric)
        if metric.drift is not None:
            reason = f" (accepted: {whole_line(metric.drift.accepted)})" if metric.drift.accepted else ""
            yield f"{name} {_drift_text(metric)}{reason}"
    changes = [change for each in trend.metrics for change in each.changes if change.matters]
    accepted = [change for change in changes if change.accepted]
    if accepted:
        reasons = list(dict.fromkeys(whole_line(change.accepted) for change in accepted))
        count = format_count(len(accepted), "accepted regression")
        yield f"{count}: {list_with_rest(reasons, _NAMED)}"
    others = [change for change in changes if not change.is_regression and not change.accepted]
    if others:
        better = sum("better" in change.word for change in others if change.is_new)
        new = f", {better} of them new and better" if better else ""
        yield f"{format_count(len(others), 'other change')}{new}"


def _drift_text(metric: MetricTrend) -> str:
    if metric.drift is None:
        return ""
    per_race, total = format_change(metric.drift.per_race), format_change(metric.drift.total)
    return f"changes gradually: by {per_race} per race, {total} in all"


def _deviation_text(metric: MetricTrend) -> str:
    if metric.deviation is None:
        return ""
    value = metric.deviation.change
    return (
        format_difference(value, metric.metric.difference_unit)
        if metric.is_absolute
        else format_change(value)
    )


def power_text(trend: Trend) -> str:
    """Returns which changes would be found; empty if no metric has levels."""
    relative = [
        each.detectable for each in trend.metrics if each.detectable is not None and not each.is_absolute
    ]
    if not relative:
        return ""
    sizes = format_range(relative, format_share)
    power = "is found by its third race with a probability of 80 % or more"
    return f"a worsening of {sizes}, depending on the metric, {power}"


def races_text(trend: Trend) -> str:
    """Returns the races and what they have in common."""
    first, last = trend.races[0], trend.races[-1]
    days = f"{first.timestamp:%Y-%m-%d} to {last.timestamp:%Y-%m-%d}"
    if first.timestamp.date() == last.timestamp.date():
        days = f"{first.timestamp:%Y-%m-%d}"
    common = ", ".join(_common(trend))
    return whole_line(f"{format_count(len(trend.races), 'race')}, {days}{f'; {common}' if common else ''}")


def _common(trend: Trend) -> Iterator[str]:
    engines = dict.fromkeys(race.engine for race in trend.races if race.engine)
    if engines:
        more = f" and {format_count(len(engines) - 1, 'other version')}" if len(engines) > 1 else ""
        yield f"{list(engines)[-1]}{more}"
    for name in ("car", "machine", "data"):
        if (value := trend.configuration.get(name)) and value != "external":
            yield f"{name} {value}" if name == "car" else value


def trust_texts(trend: Trend) -> Iterator[str]:
    """Yields what limits the answer, and which races were left out."""
    yield from (whole_line(note) for note in trend.notes)
    yield from (f"left out: {whole_line(text)}" for text in trend.left_out)


def level_text(metric: MetricTrend) -> str:
    """Returns the newest level with its unit or, without levels, the newest value."""
    if not metric.points:
        return ""
    if metric.levels:
        return whole_line(f"{format_number(metric.levels[-1].value)} {metric.metric.unit}")
    newest = metric.points[-1]
    text = whole_line(f"{format_number(newest.value)} {metric.metric.unit}")
    return f"{text} {backlog_mark(newest)}".rstrip()


def last_change_text(metric: MetricTrend) -> str:
    """Returns the last change that matters, without its verdict; empty if there is none."""
    if metric.drift is not None and not metric.regressions:
        return format_change(metric.drift.total)
    last = metric.last_change
    return change_text(last.total or last.change) if last else ""


def verdict_text(trend: Trend, metric: MetricTrend) -> str:
    """Returns what happened to a metric last, in few words."""
    if metric.reason:
        return metric.reason
    if metric.drift is not None and not metric.regressions:
        return f"drifts, {'accepted' if metric.drift.accepted else metric.drift.word}"
    if metric.deviation is not None and not metric.regressions:
        races = "last race" if metric.deviation.races == 1 else f"last {metric.deviation.races} races"
        return f"{races} {_deviation_text(metric)}"
    last = metric.last_change
    if last is None:
        return "no change"
    word = "accepted" if last.accepted else last.word
    return f"{word} since {trend.races[last.after].timestamp:%m-%d}"


def tone_of(metric: MetricTrend) -> MetricWord:
    """Returns the word that determines how the verdict is shown."""
    if metric.is_worse:
        return "worse"
    if metric.reason:
        return "no verdict"
    if metric.drift is not None:
        return metric.drift.word if metric.drift.word == "same" else "unclear"
    if metric.deviation is not None:
        return "unclear"
    last = metric.last_change
    return last.word if last is not None and last.is_new and "better" in last.word else "same"


def event_title(trend: Trend, event: TrendEvent) -> str:
    """Returns between which races an event is."""
    return f"Between {race_text(trend, event.before)} and {race_text(trend, event.after)}"


def change_sentence(metric: MetricTrend, change: TrendChange) -> str:
    """Returns a change in one line: the word, the metric, the estimate, its interval and how sure it is."""
    sure = f"p {change.p:.1g}" if change.p >= 1e-6 else "p < 0.000001"
    if change.raised is not None:
        sure = "found by the online detector"
    parts = [
        f"{full_metric_name(metric.metric)} {change_text(change.change)} (95 % interval "
        f"{interval_text(change.change)}, {sure})"
    ]
    if change.total is not None:
        parts.append(f"{change_text(change.total)} with the small changes since")
    if change.is_regression:
        parts.append("new regression" if change.is_new else "regression")
    if change.accepted:
        parts.append(f"accepted: {whole_line(change.accepted)}")
    return ", ".join(parts)


def changes_of(trend: Trend, event: TrendEvent) -> list[tuple[MetricTrend, TrendChange]]:
    """Returns the changes that matter of an event with their metrics."""
    return [
        (each, change)
        for each in trend.metrics
        for change in each.changes
        if change.matters and (change.before, change.after) == (event.before, event.after)
    ]


class ShownFact(Struct, frozen=True):
    """A fact that differs at an event, as texts of one line."""

    key: str
    """Its name."""

    old: str
    """Its values in the last race before the event."""

    new: str
    """Its values in the first race after it."""

    @property
    def text(self) -> str:
        """All of it in one line."""
        return f"{self.key}: {self.old} → {self.new}"


def shown_facts(event: TrendEvent) -> tuple[list[ShownFact], list[ShownFact]]:
    """Returns what differs only at an event, and what also differs elsewhere."""
    here = [fact for fact in event.facts if fact.only_here]
    elsewhere = [fact for fact in event.facts if not fact.only_here]
    return _shown(here), _shown(elsewhere)


def _shown(facts: Sequence[ChangedFact]) -> list[ShownFact]:
    return [
        ShownFact(whole_line(each.key), *(_values(values) for values in (each.baseline, each.contender)))
        for each in shown_differences([fact.difference for fact in facts])
    ]


def _values(values: Sequence[str]) -> str:
    return whole_line(", ".join(values)) or "–"


def revision_text(trend: Trend, event: TrendEvent) -> str:
    """Returns how the engine differs between the races of an event; empty if it does not, or is unknown."""
    old, new = trend.races[event.before], trend.races[event.after]
    texts = [_engine_text(race) for race in (old, new)]
    return f"{texts[0]} → {texts[1]}" if texts[0] != texts[1] else ""


def _engine_text(race: TrendRace) -> str:
    return whole_line(" ".join(part for part in (race.engine, race.revision[:12]) if part)) or "–"


def sparkline(values: Sequence[float], width: int) -> str:
    """Returns the values as bars of different heights, from the lowest to the highest; of more values than
    `width`, each bar is the mean of neighbours.
    """
    if not values or width < 1:
        return ""
    count = min(width, len(values))
    edges = [round(at * len(values) / count) for at in range(count + 1)]
    bars = [math.fsum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(bars), max(bars)
    middle = (low + high) / 2
    span = max(high - low, _FLAT * abs(middle))
    steps = len(SPARKS) - 1
    return "".join(
        SPARKS[round(steps * (0.5 + (bar - middle) / span))] if span else SPARKS[0] for bar in bars
    )
