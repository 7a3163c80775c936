"""Builds the page of a trend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from pacenote.model.printable import shortened, single_line, whole_line
from pacenote.model.trend import MetricTrend, Trend, TrendAnswer, TrendEvent
from pacenote.report.comparison_rows import BACKLOG_FOOTNOTE, backlog_mark, change_text, interval_text
from pacenote.report.comparison_texts import full_metric_name
from pacenote.report.page.page import (
    Block,
    FactList,
    Item,
    ItemList,
    KeyFigure,
    PageCell,
    PageColumn,
    PageCommand,
    PageTable,
    Question,
    ReportPage,
    RowGroup,
    Section,
    Text,
)
from pacenote.report.page.texts import command_blocks, sentence
from pacenote.report.page.tone import Tone
from pacenote.report.page.trend.charts import charts, event_number, value_tables, verdict_tone
from pacenote.report.trend import (
    ShownFact,
    answer_text,
    badge_text,
    capitalized,
    change_sentence,
    changes_of,
    event_title,
    last_change_text,
    level_text,
    other_texts,
    power_text,
    race_text,
    races_text,
    revision_text,
    shown_facts,
    size_of,
    trust_texts,
    verdict_text,
)
from pacenote.units import format_count, format_number

MOST_METRICS = 20
"""Largest number of metrics with a chart."""

_MOST_FACTS = 100
_MOST_FACT = 200
_NAMED = 4

_TONES: Mapping[TrendAnswer, Tone] = {
    "regression": "wrong",
    "earlier regression": "wrong",
    "newest races unusable": "wrong",
    "last race deviates": "doubtful",
    "no regression": "good",
    "too few races": "doubtful",
}


class TrendPageSources(Struct, frozen=True):
    """What the page of a trend is built from."""

    trend: Trend
    """The trend."""

    commands: tuple[tuple[str, str], ...] = ()
    """Commands with their purposes."""

    version: str = ""
    """Version of Pacenote."""


def build_trend_page(sources: TrendPageSources) -> ReportPage:
    """Returns the page of a trend."""
    trend = sources.trend
    shown = _charted(trend)
    sections = (
        Section("metrics", "Metrics", tuple(_metric_blocks(trend))),
        Section("charts", "Charts", (*charts(trend, shown), *value_tables(trend, shown))),
        Section("changes", "What changed", tuple(_event_items(trend))),
        Section("races", "Races", tuple(_race_blocks(trend))),
    )
    names = [single_line(name) for name in (trend.track, trend.challenge) if name]
    return ReportPage(
        title=f"Trend of {names[0]}" if names else "Trend",
        badge=badge_text(trend),
        tone=_TONES[trend.answer],
        heading=" / ".join(names) or "Trend",
        subtitle=races_text(trend),
        figures=tuple(_figures(trend)),
        questions=(
            Question("Is there a regression?", tuple(_answer(trend))),
            Question("Since when, and what changed?", tuple(_newest_event(trend))),
            Question("Which change would be found?", tuple(_power(trend))),
            Question("Which races were used?", tuple(_used(trend))),
            Question("What next?", tuple(_commands(sources))),
        ),
        sections=tuple(section for section in sections if section.blocks),
        footer=f"Pacenote {sources.version}".strip(),
    )


def _charted(trend: Trend) -> list[MetricTrend]:
    """Returns the metrics with a chart, in their order: those that are not 0 in all races or, if these are
    too many, the ones that changed.
    """
    nonzero = [each for each in trend.metrics if any(point.value for point in each.points)]
    ranked = sorted(nonzero, key=lambda each: (not each.is_worse, not (each.changes or each.drift)))
    kept = ranked[:MOST_METRICS]
    return [each for each in nonzero if each in kept]


def _figures(trend: Trend) -> Iterator[KeyFigure]:
    worse = [each for each in trend.metrics if each.is_worse]
    count = str(len(worse)) if worse else "none"
    judged = [each for each in trend.metrics if not each.reason]
    detail = f"of {format_count(len(judged), 'metric')} with a verdict"
    is_known = trend.answer not in ("earlier regression", "newest races unusable")
    tone: Tone = "wrong" if worse else "good" if judged and is_known else "doubtful"
    known = worse or (judged and is_known)
    yield KeyFigure("Regressions", count if known else "not known", detail, tone)
    if trend.regressions:
        metric, change = max(trend.regressions, key=lambda pair: size_of(*pair))
        size = change.total or change.change
        detail = f"95 % interval {interval_text(size)}"
        yield KeyFigure(capitalized(full_metric_name(metric.metric)), change_text(size), detail, "wrong")
        since = trend.races[change.after].timestamp
        yield KeyFigure("Since", f"{since:%Y-%m-%d}", f"{since:%H:%M} UTC")
    yield KeyFigure("Races", f"{len(trend.races)}", f"the newest: {race_text(trend, len(trend.races) - 1)}")


def _answer(trend: Trend) -> Iterator[Text]:
    tone: Tone = "wrong" if _TONES[trend.answer] == "wrong" else ""
    yield Text(sentence(answer_text(trend)), tone)
    for metric, change in trend.regressions[:_NAMED]:
        yield Text(sentence(change_sentence(metric, change)))
    yield from (Text(sentence(text)) for text in other_texts(trend))


def _newest_event(trend: Trend) -> Iterator[Text]:
    """Yields the newest place of a regression or, without one, of a change, and what changed there."""
    if not trend.events:
        yield Text("No metric changed by what matters.")
        return
    places = {(change.before, change.after) for _, change in trend.regressions}
    wanted = [event for event in trend.events if (event.before, event.after) in places] or trend.events
    event = wanted[-1]
    yield Text(f"{event_title(trend, event)}.")
    here, elsewhere = shown_facts(event)
    for fact in here[:_NAMED]:
        yield Text(f"Changed here and nowhere else: {shortened(fact.text, _MOST_FACT)}")
    if engine := revision_text(trend, event):
        yield Text(f"Engine: {engine}")
    if more := max(0, len(here) - _NAMED) + len(elsewhere):
        yield Text(f"{format_count(more, 'more fact')} listed below, as change {_number(trend, event)}.")
    if not here and not elsewhere:
        yield Text("Nothing that was recorded differs between both races.", "doubtful")


def _number(trend: Trend, event: TrendEvent) -> int:
    return event_number(trend, event.before, event.after)


def _power(trend: Trend) -> Iterator[Text]:
    text = power_text(trend)
    yield Text(sentence(text) if text else "That is not known: no metric has a level.")


def _used(trend: Trend) -> Iterator[Text]:
    yield Text(f"{sentence(races_text(trend))}")
    yield from (Text(sentence(text), "quiet") for text in trust_texts(trend))


def _commands(sources: TrendPageSources) -> Iterator[Text | PageCommand]:
    yield from command_blocks(sources.commands)
    if not sources.commands:
        yield Text("Nothing.")


def _metric_blocks(trend: Trend) -> Iterator[Block]:
    rows = tuple(
        (
            PageCell(full_metric_name(each.metric)),
            PageCell(verdict_text(trend, each), tone=verdict_tone(each)),
            PageCell(last_change_text(each)),
            PageCell(level_text(each), each.levels[-1].value if each.levels else None),
        )
        for each in trend.metrics
    )
    numbers = ("Races", "Level", "Last change", "95 % interval")
    heads = ("Metric", "Verdict", "Last change", "Level")
    columns = tuple(PageColumn(head, is_number=head in numbers) for head in heads)
    caption = "The newest level of each metric"
    yield PageTable("data-metrics", caption, columns, (RowGroup("", rows),), is_sortable=True)
    if any(map(backlog_mark, (point for each in trend.metrics for point in each.points))):
        yield Text(sentence(BACKLOG_FOOTNOTE), "quiet")
    levels = tuple(
        (
            PageCell(full_metric_name(each.metric)),
            PageCell(race_text(trend, level.first)),
            PageCell(race_text(trend, level.last)),
            PageCell(str(level.races), level.races),
            PageCell(f"{format_number(level.value)} {whole_line(each.metric.unit)}", level.value),
            PageCell(f"{format_number(level.low)}–{format_number(level.high)}"),
        )
        for each in trend.metrics
        for level in each.levels
        if len(each.levels) > 1
    )
    if levels:
        names = ("Metric", "From", "To", "Races", "Level", "95 % interval")
        columns = tuple(PageColumn(name, is_number=name in numbers) for name in names)
        caption = "The levels of metrics that changed"
        yield PageTable("data-levels", caption, columns, (RowGroup("", levels),), is_folded=True)


def _event_items(trend: Trend) -> Iterator[Block]:
    for event in reversed(trend.events):
        metrics = tuple(
            Item(
                f"{change.word}: {change_sentence(metric, change)}",
                (),
                "wrong" if change.is_regression else "",
            )
            for metric, change in changes_of(trend, event)
        )
        yield ItemList(f"Change {_number(trend, event)}: {event_title(trend, event)}", metrics)
        if engine := revision_text(trend, event):
            yield FactList((("Engine", engine),))
        yield from _fact_table(trend, event)
        yield from (Text(sentence(whole_line(note)), "quiet") for note in event.notes)


def _fact_table(trend: Trend, event: TrendEvent) -> Iterator[Block]:
    here, elsewhere = shown_facts(event)
    if not here and not elsewhere:
        yield Text("Nothing that was recorded differs between both races.")
        return
    rows = [(*_fact_cells(fact), PageCell("only here")) for fact in here]
    rows += [(*_fact_cells(fact), PageCell("elsewhere, too", tone="quiet")) for fact in elsewhere]
    columns = tuple(PageColumn(head, is_number=False) for head in ("Fact", "Before", "After", "Differs"))
    count = format_count(len(rows), "fact")
    caption = f"{count} between {trend.races[event.before].name} and {trend.races[event.after].name}"
    own_id = f"data-change-{_number(trend, event)}"
    group = RowGroup("", tuple(rows[:_MOST_FACTS]))
    yield PageTable(own_id, single_line(caption), columns, (group,), is_sortable=True)
    if (more := len(rows) - _MOST_FACTS) > 0:
        yield Text(f"And {format_count(more, 'more fact')}: `pacenote diff` has all.", "quiet")


def _fact_cells(fact: ShownFact) -> tuple[PageCell, PageCell, PageCell]:
    old, new = (PageCell(shortened(text, _MOST_FACT)) for text in (fact.old, fact.new))
    return PageCell(fact.key), old, new


def _race_blocks(trend: Trend) -> Iterator[Block]:
    rows = tuple(
        (
            PageCell(single_line(race.race_id)),
            PageCell(f"{race.timestamp:%Y-%m-%d %H:%M}"),
            PageCell(race.verdict, tone="doubtful" if race.verdict == "suspect" else ""),
            PageCell(single_line(race.engine)),
            PageCell(single_line(race.revision)),
            PageCell(single_line(", ".join(f"{key}={value}" for key, value in race.tags.items()))),
        )
        for race in trend.races
    )
    heads = ("Race", "Began (UTC)", "Verdict", "Engine", "Revision", "Tags")
    columns = tuple(PageColumn(head, is_number=False) for head in heads)
    caption = format_count(len(rows), "race")
    yield PageTable("data-races", caption, columns, (RowGroup("", rows),), is_sortable=True, is_folded=True)
    left = tuple(Item(sentence(whole_line(text))) for text in trend.left_out)
    if left:
        yield ItemList("Left out", left)
