"""The effects of a comparison: each change with its interval and its word, and the changes of percentiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.model.comparison import Comparison, ComparisonAnswer, EstimatedChange, MetricComparison
from pacenote.model.printable import single_line, whole_line
from pacenote.report.comparison_rows import (
    SHIFTS,
    change_text,
    detectable_text,
    interval_text,
    shift_text,
)
from pacenote.report.comparison_texts import metric_name, short_name, shown_change, smallest_effects_text
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
from pacenote.report.page.page import Block, PageCell, PageColumn, PageTable, RowGroup, Text
from pacenote.report.page.scale import Scale
from pacenote.report.page.texts import sentence
from pacenote.report.page.tone import Tone
from pacenote.report.quality_texts import quality_text
from pacenote.units import format_change, format_count, format_number

TONES: Mapping[ComparisonAnswer, Tone] = {
    **{"better": "good", "probably better": "good", "same": "", "unclear": "doubtful"},
    **{"probably worse": "wrong", "worse": "wrong", "mixed": "doubtful", "void": "wrong"},
    **{"partly void": "doubtful", "no verdict": "doubtful"},
    **{"changed": "doubtful", "probably changed": "doubtful"},
}
"""How words are shown."""

MOST_ROWS = 400
"""Largest number of metrics in the tables of a page."""

_MOST_PRIMARY = 60
_MOST_SECONDARY = 24
_MOST_SHIFTS = 8
_LEAST_PERCENTILES = 3
_WIDEST = 3.0
"""How much wider than the largest estimate an axis may be: an interval that ends beyond it is cut off."""

_SAID = ("better", "probably better", "probably worse", "worse", "changed", "probably changed")
_PX_OF_SHIFT = 150


class ShownEffect(Struct, frozen=True):
    """A change of a chart."""

    label: str
    """What changes."""

    word: ComparisonAnswer
    """The verdict."""

    change: EstimatedChange | None
    """The change with its interval, or None."""

    smallest: float | None = None
    """The smallest relative change that matters; None if it is not relative."""

    estimate: float | None = None
    """The relative change without an interval, if there is no other one."""

    bounds: tuple[float | None, float | None] | None = None
    """What the operations of one race each say about it, which decides nothing; None if nothing."""

    text: str = ""
    """The change as text."""

    @property
    def relative(self) -> EstimatedChange | None:
        """The change if it is relative."""
        return None if self.change is None or self.change.is_absolute else self.change

    @property
    def value(self) -> float | None:
        """The relative change."""
        return self.relative.value if self.relative else self.estimate


def metric_effect(metric: MetricComparison, prefix: str = "") -> ShownEffect:
    """Returns the effect on a metric; `prefix` names the contender if there are several."""
    is_relative = not metric.is_absolute
    return ShownEffect(
        label=f"{prefix}{metric_name(metric)}",
        word=metric.word,
        change=metric.change,
        smallest=metric.smallest_effect if is_relative else None,
        estimate=metric.relative_change if is_relative and metric.change is None else None,
        bounds=(metric.shift.low, metric.shift.high) if metric.shift else None,
        text=shown_change(metric),
    )


def effect_blocks(comparison: Comparison, prefix: str, most_rows: int = MOST_ROWS) -> Iterator[Block]:
    """Yields the effects on the metrics, the changes of percentiles, and a table with at most so many rows;
    `prefix` begins ids.
    """
    table = f"{prefix}data-metrics"
    quality = [metric_effect(each) for each in comparison.metrics if each.role == "quality"]
    if quality:
        text = f"{_words(quality)}. {sentence(quality_text(comparison))}"
        yield forest(f"{prefix}quality", "Quality", text, table, quality[:_MOST_PRIMARY])
    zero = [each for each in comparison.primary if each.is_zero and each.word != "void"]
    primary = [metric_effect(each) for each in comparison.primary if each not in zero]
    if primary:
        text = sentence(smallest_effects_text([each for each in comparison.primary if each not in zero]))
        shown = primary[:_MOST_PRIMARY]
        if len(shown) < len(primary):
            text += f" The first {len(shown)} are shown."
        yield forest(f"{prefix}effects", "Metrics that decide", f"{_words(primary)}. {text}", table, shown)
    else:
        yield Text("No metric decides.")
    if zero:
        yield Text(f"0 in all races: {', '.join(map(metric_name, zero))}.", "quiet")
    yield from _secondary(comparison, prefix, table)
    yield from _shifts(comparison, prefix, table)
    yield metric_table(comparison, table, most_rows)


def _secondary(comparison: Comparison, prefix: str, table: str) -> Iterator[Block]:
    others = [each for each in comparison.metrics if each.role == "secondary" and each.change is not None]
    moved = [metric_effect(each) for each in others if each.word in _SAID]
    if not others:
        return
    if not moved:
        yield Text(f"None of {format_count(len(others), 'other metric')} is said to have changed.", "quiet")
        return
    shown = moved[:_MOST_SECONDARY]
    text = f"{len(moved)} of {format_count(len(others), 'other metric')} changed; they do not decide."
    if len(shown) < len(moved):
        text += f" The first {len(shown)} are shown."
    yield forest(f"{prefix}secondary", "Other metrics that changed", text, table, shown)


def _words(effects: Sequence[ShownEffect]) -> str:
    counts = Counter(each.word for each in effects)
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def forest(name: str, title: str, summary: str, table: str, effects: Sequence[ShownEffect]) -> Drawing:
    """Returns the effects as a row each: the estimate, its interval, and what does not matter behind it."""
    scale = _scale(effects)
    rows = tuple(
        DrawingRow(each.label, tuple(_marks(each, scale)), _note(each), TONES[each.word]) for each in effects
    )
    key = [KeyEntry("quiet", "too small to matter", "area")]
    if any(each.relative for each in effects):
        key.append(KeyEntry("", "estimate with its interval"))
    if any(each.value is not None and each.relative is None for each in effects):
        key.append(KeyEntry("", "one race each: no interval of races", "ring"))
    return Drawing(name, title, summary, table, rows, scale.ticks(_percent, 0.0), "change", tuple(key))


def _note(effect: ShownEffect) -> str:
    return f"{effect.text} {effect.word}".strip()


def _percent(share: float) -> str:
    return "0 %" if share == 0 else f"{share * 100:+.4g} %"


def _scale(effects: Iterable[ShownEffect]) -> Scale:
    """Returns an axis with 0, all estimates, and their intervals unless these are much wider."""
    effects = tuple(effects)
    estimates = [each.value for each in effects if each.value is not None]
    matter = [each.smallest for each in effects if each.smallest is not None]
    most = _WIDEST * max(map(abs, (*estimates, *matter)), default=0.1)
    ends = [*estimates, *matter, *(-each / (1 + each) for each in matter)]
    for effect in effects:
        bounds = (effect.relative.low, effect.relative.known_high) if effect.relative else effect.bounds or ()
        ends += [min(max(bound, -most), most) for bound in bounds if bound is not None]
    low, high = min(ends, default=-0.1), max(ends, default=0.1)
    margin = (high - low) * 0.04
    return Scale(low - margin, high + margin)


def _marks(effect: ShownEffect, scale: Scale) -> Iterator[Mark]:
    if effect.smallest is not None:
        low, high = -effect.smallest / (1 + effect.smallest), effect.smallest
        title = f"from {format_change(low)} to {format_change(high)}: too small to matter"
        yield Bar(scale.at(low), scale.at(high), 0.0, 1.0, "quiet", is_faint=True, title=title)
    value = effect.value
    if value is None:
        return
    own = _colour(effect.word)
    if effect.relative is not None:
        title = f"{effect.label}: {effect.text} ({interval_text(effect.change)}), {effect.word}"
        yield from _interval(effect.relative.low, effect.relative.known_high, scale, own, title)
        yield Dot(scale.at(value), 0.5, own, "disc", title)
    else:
        if effect.bounds is not None:
            low_end, high_end = effect.bounds
            yield Stroke(
                scale.at(scale.low if low_end is None else low_end),
                0.5,
                scale.at(scale.high if high_end is None else high_end),
                0.5,
                "quiet",
                is_thin=True,
                title=SHIFTS,
            )
        yield Dot(scale.at(value), 0.5, own, "ring", f"{effect.label}: {effect.text}")


def _interval(low: float, high: float | None, scale: Scale, style: MarkStyle, title: str) -> Iterator[Mark]:
    """Yields the line of an interval, with arrows where it goes on beyond the axis."""
    left, right = scale.at(low), 1.0 if high is None else scale.at(high)
    yield Stroke(left, 0.5, right, 0.5, style, title=title)
    if low < scale.low:
        yield Caption(0.0, 0.5, "◂", "start", style)
    if high is None or high > scale.high:
        yield Caption(1.0, 0.5, "▸", "end", style)


def _colour(word: ComparisonAnswer) -> MarkStyle:
    return TONES[word] if word != "same" else ""


def _shifts(comparison: Comparison, prefix: str, table: str) -> Iterator[Block]:
    """Yields how the percentiles of each task changed, of those that changed most."""
    groups: dict[tuple[str, str], list[MetricComparison]] = {}
    for metric in comparison.metrics:
        if metric.metric.kind == "percentile" and metric.relative_change is not None:
            groups.setdefault((metric.metric.task, short_name(metric).partition(" ")[2]), []).append(metric)
    shifts = [(task, time, own) for (task, time), own in groups.items() if len(own) >= _LEAST_PERCENTILES]
    # Tasks with a schedule have both: what a user waits for is the latency.
    timed = {task for task, time, _ in shifts if time == "latency"}
    shifts = [each for each in shifts if each[1] == "latency" or each[0] not in timed]
    shifts.sort(key=lambda each: -max(abs(one.relative_change or 0.0) for one in each[2]))
    for number, (task, time, own) in enumerate(shifts[:_MOST_SHIFTS]):
        yield _shift(f"{prefix}shift-{number}", f"{single_line(task)}, {time}", table, own)
    if len(shifts) > _MOST_SHIFTS:
        count = format_count(len(shifts) - _MOST_SHIFTS, "task")
        yield Text(f"The percentiles of {count} that changed less are only in the table.", "quiet")


def _shift(name: str, title: str, table: str, own: Sequence[MetricComparison]) -> Drawing:
    own = sorted(own, key=lambda each: each.metric.q)
    effects = [metric_effect(each) for each in own]
    scale = _scale(effects)
    places = [(at + 0.5) / len(own) for at in range(len(own))]
    marks: list[Mark] = [*axis_lines(scale)]
    known = [
        (x, *_ends(each)) for x, each in zip(places, effects, strict=True) if _ends(each) != (None, None)
    ]
    if known:
        lows = [(x, 1 - scale.at(scale.low if low is None else low)) for x, low, _ in known]
        highs = [(x, 1 - scale.at(scale.high if high is None else high)) for x, _, high in known]
        marks.append(Trace((*lows, *reversed(highs)), "accent", is_area=True))
    values = [1 - scale.at(each.value or 0.0) for each in effects]
    marks.append(Trace(tuple(zip(places, values, strict=True)), "accent"))
    for x, y, effect in zip(places, values, effects, strict=True):
        form: DotForm = "disc" if effect.relative else "ring"
        text = f"{effect.label}: {_note(effect)}"
        marks.append(
            Dot(x, y, "accent", form, f"{text} ({interval_text(effect.change)})" if effect.change else text)
        )
    ticks = tuple(Tick(x, f"p{each.metric.q:g}") for x, each in zip(places, own, strict=True))
    largest = max(effects, key=lambda each: abs(each.value or 0.0))
    summary = f"Change of each percentile; the largest is that of {largest.label}: {_note(largest)}."
    key = [KeyEntry("accent", "change"), KeyEntry("accent", "its interval", "area")]
    if any(each.bounds for each in effects):
        key[1] = KeyEntry("accent", SHIFTS, "area")
    row = DrawingRow("", tuple(marks), height_px=_PX_OF_SHIFT)
    return Drawing(name, f"Percentiles of {title}", summary, table, (row,), ticks, "", tuple(key))


def _ends(effect: ShownEffect) -> tuple[float | None, float | None]:
    """Returns the interval of an effect; None for a bound that is not known."""
    if effect.relative is not None:
        return effect.relative.low, effect.relative.known_high
    return effect.bounds or (None, None)


def axis_lines(scale: Scale) -> Iterator[Mark]:
    """Yields horizontal lines with their relative changes."""
    for value in scale.steps(4):
        y = 1 - scale.at(value)
        yield Stroke(0.0, y, 1.0, y, "quiet", is_thin=True, is_dashed=value != 0)
        yield Caption(0.0, y - 0.06 if y > 0.12 else y + 0.07, _percent(value), "start")


def metric_table(comparison: Comparison, name: str, most_rows: int = MOST_ROWS) -> PageTable:
    """Returns the metrics with their changes: those that decide first, then those that changed."""
    heads = ("Metric", "Task", "Baseline", "Contender", "Unit", "Change", "Interval", "Would have been seen")
    texts = {"Metric", "Task", "Unit", "Verdict"}
    columns = tuple(PageColumn(head, head not in texts) for head in (*heads, "Verdict"))
    has_shifts = any(each.shift for each in comparison.metrics)
    ordered = sorted(comparison.metrics, key=lambda each: (not each.decides, each.word not in _SAID))
    rows = tuple(_metric_row(each) for each in ordered[:most_rows])
    count = format_count(len(ordered), "metric")
    caption = f"All {count}" if len(rows) == len(ordered) else f"{len(rows)} of {count}"
    caption += "; verdicts in parentheses do not decide"
    if has_shifts:
        caption += f". Intervals show {SHIFTS}"
    return PageTable(name, caption, columns, (RowGroup("", rows),), is_sortable=True, is_folded=True)


def _metric_row(metric: MetricComparison) -> tuple[PageCell | str, ...]:
    interval = interval_text(metric.change)
    if metric.change is None and metric.shift is not None:
        interval = shift_text(metric.shift)
    return (
        PageCell(metric.metric.name),
        PageCell(single_line(metric.metric.task)),
        PageCell(format_number(metric.baseline_value), metric.baseline_value),
        PageCell(format_number(metric.contender_value), metric.contender_value),
        PageCell(whole_line(metric.metric.unit)),
        PageCell(change_text(metric.change) or shown_change(metric), metric.relative_change),
        PageCell(interval, metric.change.low if metric.change else None),
        PageCell(detectable_text(metric.change), metric.change.detectable if metric.change else None),
        PageCell(
            metric.word if metric.decides else f"({metric.word})",
            tone=TONES[metric.word] if metric.decides else "",
        ),
    )
