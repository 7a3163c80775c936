"""The chart of each metric of a trend, and the tables with its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from pacenote.model.printable import single_line, whole_line
from pacenote.model.trend import MetricTrend, Trend, TrendPoint
from pacenote.report.comparison_rows import backlog_mark, change_text
from pacenote.report.comparison_texts import full_metric_name, short_metric_name
from pacenote.report.page.drawing import (
    Bar,
    Caption,
    Dot,
    DotForm,
    Drawing,
    DrawingRow,
    KeyEntry,
    Mark,
    MarkStyle,
    Stroke,
    Tick,
    Trace,
)
from pacenote.report.page.page import PageCell, PageColumn, PageTable, RowGroup
from pacenote.report.page.scale import Scale, scale_of
from pacenote.report.page.tone import Tone
from pacenote.report.trend import capitalized, race_text, tone_of, verdict_text
from pacenote.units import format_count, format_number

_HEIGHT_PX = 150
_LEFT, _RIGHT = 0.12, 0.985
"""Shares of the width between which the races are: on the left are the labels of the values."""

_TICK = 0.008
"""Share of the width that the mark of a value has."""

_TICKS = 6
_MOST_TITLES = 600
"""Largest number of dots of a page that have a text of their own; the tables have the values."""

_MOST_BARS = 40
"""Largest number of races whose intervals are drawn one by one; those of more are an area."""

_TONES: Mapping[str, Tone] = {
    **{"worse": "wrong", "unclear": "doubtful", "no verdict": "quiet", "better": "good"},
    **{"probably better": "good", "changed": "doubtful", "probably changed": "doubtful"},
}
_KEY = (
    KeyEntry("accent", "a race"),
    KeyEntry("doubtful", "a doubtful value", "ring"),
    KeyEntry("quiet", "left out by the search", "cross"),
    KeyEntry("lane2", "level with its 95 % interval", "line"),
    KeyEntry("quiet", "change, with its number", "dashed"),
)


def verdict_tone(metric: MetricTrend) -> Tone:
    """Returns how the verdict on a metric is shown."""
    return _TONES.get(tone_of(metric), "")


def table_id(trend: Trend, metric_trend: MetricTrend) -> str:
    """Returns the id of the table with the values of a metric: one for each task."""
    tasks = list(dict.fromkeys(metric.metric.task for metric in trend.metrics))
    return f"data-task-{tasks.index(metric_trend.metric.task)}"


def charts(trend: Trend, metrics: Sequence[MetricTrend]) -> Iterator[Drawing]:
    """Yields a chart for each metric."""
    has_titles = len(trend.races) * len(metrics) <= _MOST_TITLES
    for number, metric in enumerate(metrics):
        drawing = _chart(trend, metric, f"metric-{number}", has_titles=has_titles)
        yield replace(drawing, key=_KEY if number == 0 else ())


def _chart(trend: Trend, metric: MetricTrend, own_id: str, *, has_titles: bool) -> Drawing:
    values = [value for point in metric.points for value in (point.value, point.low, point.high)]
    scale = scale_of([value for value in values if value is not None], padding=0.12)
    marks: list[Mark] = [
        *_values_axis(scale),
        *_intervals(trend, metric, scale),
        *_levels(trend, metric, scale),
        *_change_lines(trend, metric),
        *_dots(trend, metric, scale, has_titles=has_titles),
    ]
    unit = f" in {whole_line(metric.metric.unit)}" if metric.metric.unit else ""
    return Drawing(
        id=own_id,
        title=f"{capitalized(full_metric_name(metric.metric))}{unit}",
        summary=_summary(trend, metric),
        table=table_id(trend, metric),
        rows=(DrawingRow("", tuple(marks), height_px=_HEIGHT_PX),),
        ticks=tuple(_ticks(trend)),
    )


def _summary(trend: Trend, metric: MetricTrend) -> str:
    verdict = verdict_text(trend, metric)
    parts = [f"{capitalized(verdict)}."]
    if metric.reason:
        return parts[0]
    parts.append(f"{format_count(len(metric.points), 'race')}, the oldest on the left.")
    if metric.drift is not None:
        parts.append("It changes gradually.")
    for change in metric.changes:
        size = "" if change.matters else ", too small to matter"
        number = event_number(trend, change.before, change.after)
        named = f"Change {number}" if number else "A change"
        since = race_text(trend, change.after)
        parts.append(f"{named}: {change_text(change.change)} ({change.word}{size}) since {since}.")
    return " ".join(parts)


def event_number(trend: Trend, before: int, after: int) -> int:
    """Returns the number of an event on the page, from 1; 0 if there is none."""
    places = [(event.before, event.after) for event in trend.events]
    return places.index((before, after)) + 1 if (before, after) in places else 0


def _x(trend: Trend, race: float) -> float:
    """Returns the position of a race, all of which are equally far from each other."""
    return _LEFT + (_RIGHT - _LEFT) * (race + 0.5) / len(trend.races)


def _y(scale: Scale, value: float) -> float:
    return 1 - scale.at(value)


def _values_axis(scale: Scale) -> Iterator[Mark]:
    for value in scale.steps(4):
        y = _y(scale, value)
        yield Stroke(_LEFT, y, _LEFT + _TICK, y, "quiet", is_thin=True)
        yield Caption(_LEFT - 0.01, y, format_number(value), "end")


def _intervals(trend: Trend, metric: MetricTrend, scale: Scale) -> Iterator[Mark]:
    """Yields the intervals that the operations of the races give percentiles."""
    known = [(point.race, point.low, point.high) for point in metric.points]
    bounded = [(race, low, high) for race, low, high in known if low is not None and high is not None]
    if len(bounded) <= _MOST_BARS:
        for race, low, high in bounded:
            x = _x(trend, race)
            yield Stroke(x, _y(scale, low), x, _y(scale, high), "accent", is_thin=True)
    else:
        upper = [(_x(trend, race), _y(scale, high)) for race, _, high in bounded]
        lower = [(_x(trend, race), _y(scale, low)) for race, low, _ in reversed(bounded)]
        yield Trace((*upper, *lower), "accent", is_area=True)


def _levels(trend: Trend, metric: MetricTrend, scale: Scale) -> Iterator[Mark]:
    for level in metric.levels:
        start, end = _x(trend, level.first - 0.5), _x(trend, level.last + 0.5)
        unit = whole_line(metric.metric.unit)
        title = f"{format_number(level.value)} {unit} in {format_count(level.races, 'race')}"
        yield Bar(start, end, _y(scale, level.high), _y(scale, level.low), "lane2", is_faint=True)
        y = _y(scale, level.value)
        yield Stroke(start, y, end, y, "lane2", title=title)


def _change_lines(trend: Trend, metric: MetricTrend) -> Iterator[Mark]:
    for change in metric.changes:
        number = event_number(trend, change.before, change.after)
        if number:
            x = _x(trend, (change.before + change.after) / 2)
            style: MarkStyle = "wrong" if "worse" in change.word else "good"
            title = f"Change {number}: {change_text(change.change)}, {change.word}"
            yield Stroke(x, 0.0, x, 1.0, style, is_dashed=True, title=title)
            yield Caption(x + 0.008, 0.06, str(number), "start", style)


def _dots(trend: Trend, metric: MetricTrend, scale: Scale, *, has_titles: bool) -> Iterator[Mark]:
    for point in metric.points:
        is_doubtful = point.is_doubtful or point.has_backlog
        form: DotForm = "cross" if point.is_outlier else "ring" if is_doubtful else "disc"
        style: MarkStyle = "quiet" if point.is_outlier else "doubtful" if is_doubtful else "accent"
        title = ""
        if has_titles:
            value = f"{format_number(point.value)} {metric.metric.unit}"
            title = whole_line(f"{race_text(trend, point.race)}: {value} {backlog_mark(point)}")
        yield Dot(_x(trend, point.race), _y(scale, point.value), style, form, title)


def _ticks(trend: Trend) -> Iterator[Tick]:
    count = len(trend.races)
    step = max(1, -(-count // _TICKS))
    is_one_day = len({race.timestamp.date() for race in trend.races}) == 1
    # The newest race always has a label.
    for number in range((count - 1) % step, count, step):
        began = trend.races[number].timestamp
        yield Tick(_x(trend, number), f"{began:%H:%M}" if is_one_day else f"{began:%m-%d}")


def value_tables(trend: Trend, metrics: Sequence[MetricTrend]) -> Iterator[PageTable]:
    """Yields a table for each task: the values of its metrics in each race."""
    for task in dict.fromkeys(each.metric.task for each in metrics):
        own = [each for each in metrics if each.metric.task == task]
        columns = [PageColumn("Race", is_number=False), PageColumn("Began (UTC)", is_number=False)]
        columns += [PageColumn(_heading(each)) for each in own]
        points = [{point.race: point for point in each.points} for each in own]
        rows = tuple(
            (
                PageCell(single_line(race.name)),
                PageCell(f"{race.timestamp:%Y-%m-%d %H:%M}"),
                *(_value_cell(each.get(number)) for each in points),
            )
            for number, race in enumerate(trend.races)
        )
        caption = f"Values of {single_line(task)}" if task else "Values of the whole race"
        own_id = table_id(trend, own[0])
        yield PageTable(
            own_id, caption, tuple(columns), (RowGroup("", rows),), is_sortable=True, is_folded=True
        )


def _heading(metric: MetricTrend) -> str:
    unit = f" ({whole_line(metric.metric.unit)})" if metric.metric.unit else ""
    return f"{short_metric_name(metric.metric)}{unit}"


def _value_cell(point: TrendPoint | None) -> PageCell:
    if point is None:
        return PageCell("")
    text = format_number(point.value)
    if point.low is not None and point.high is not None:
        text += f" ({format_number(point.low)}–{format_number(point.high)})"
    is_doubtful = point.is_doubtful or point.has_backlog
    tone: Tone = "quiet" if point.is_outlier else "doubtful" if is_doubtful else ""
    return PageCell(f"{text} {backlog_mark(point)}".rstrip(), point.value, tone)
