"""The races of a page: in which order they ran, and each of them as a dot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import Literal

from msgspec import Struct, field

from pacenote.model.comparison import Comparison, MetricId, RaceGroup
from pacenote.model.printable import single_line, whole_line
from pacenote.model.race_record import VerdictState
from pacenote.report.comparison_texts import full_metric_name
from pacenote.report.page.drawing import (
    Bar,
    Dot,
    DotForm,
    Drawing,
    DrawingRow,
    KeyEntry,
    Mark,
    MarkStyle,
    Stroke,
    Tick,
)
from pacenote.report.page.page import Block, PageCell, PageColumn, PageTable, RowGroup, Text
from pacenote.report.page.scale import scale_of
from pacenote.report.page.tone import Tone
from pacenote.units import format_count, format_number, format_rate

RACES = "data-races"
"""Id of the table of races."""

MOST_METRICS = 12
"""Largest number of metrics whose values a page has for each race."""

_MOST_BLOCKS = 12
_MOST_NAMED = 3
_MOST_MARKED = 60
_JITTER = (0.2, 0.8)

_TONES: Mapping[str, Tone] = {"valid": "", "suspect": "doubtful"}
_FORMS: Mapping[str, DotForm] = {"valid": "disc", "suspect": "ring"}

RaceWord = VerdictState | Literal["failed"]
"""The verdict on a race, or that it has no results."""


class ShownRace(Struct, frozen=True):
    """A race of a page."""

    race_id: str
    """Its id."""

    variant: str
    """The variant or the side that it raced."""

    word: RaceWord
    """The verdict on it."""

    block: str = ""
    """Its block; empty if it has none."""

    began: datetime | None = None
    """When it began; None if that is unknown."""

    values: Mapping[MetricId, float] = field(default_factory=dict)
    """Its values of the metrics that the page shows for each race."""


def compared_races(comparison: Comparison, names: tuple[str, str]) -> list[ShownRace]:
    """Returns the races of both sides in the order in which they ran, as far as that is known."""
    metrics = comparison.primary[:MOST_METRICS]
    sides = (comparison.baseline, comparison.contender)
    races = []
    for number, (group, name) in enumerate(zip(sides, names, strict=True)):
        columns = [
            (each.metric, _of_races(group, (each.baseline, each.contender)[number], each.lost_blocks))
            for each in metrics
        ]
        for at, race in enumerate(group.races):
            values = {metric: value for metric, own in columns if (value := own[at]) is not None}
            races.append(ShownRace(race.race_id, name, race.verdict, race.block, race.timestamp, values))
    if all(race.began for race in races):
        races.sort(key=lambda race: (race.began or datetime.min, race.race_id))
    return races


def _of_races(group: RaceGroup, values: Sequence[float], lost: Sequence[str]) -> list[float | None]:
    """Returns the value of each race; None for those of blocks that the metric leaves out."""
    if len(values) == len(group.races):
        return list(values)
    kept = iter(values)
    return [None if race.block in lost else next(kept, None) for race in group.races]


def race_blocks(races: Sequence[ShownRace], variants: Sequence[str], *, is_ordered: bool) -> Iterator[Block]:
    """Yields the order of the races, each race as a dot, and their table."""
    metrics = list(dict.fromkeys(metric for race in races for metric in race.values))
    if is_ordered and len(races) > 2:
        yield _order(races, variants)
    elif len(races) > 2:
        yield Text("The order of the races is not shown: not all of them state when they began.", "quiet")
    constant = []
    for number, metric in enumerate(metrics):
        values = {race.values[metric] for race in races if metric in race.values}
        if len(values) > 1:
            yield _strip(f"dots-{number}", metric, races, variants)
        else:
            constant.append(f"{full_metric_name(metric)} {format_number(*values)} {whole_line(metric.unit)}")
    if constant and len(races) > 1:
        yield Text(f"The same in all races: {', '.join(each.strip() for each in constant)}.", "quiet")
    yield _table(races, metrics)


def _order(races: Sequence[ShownRace], variants: Sequence[str]) -> Drawing:
    """Returns the order of the races, a row for each variant."""
    count = len(races)
    borders = [at for at in range(count) if races[at].block != races[at - 1].block] if races[0].block else []
    every = -(-len(borders) // _MOST_BLOCKS) or 1
    rows = []
    for number, variant in enumerate(variants):
        marks: list[Mark] = [
            Stroke(at / count, 0.0, at / count, 1.0, "quiet", is_thin=True) for at in borders[1:]
        ]
        own = [at for at in range(count) if races[at].variant == variant]
        for at in own:
            marks += _race_marks(races[at], at, count, style(number))
        rows.append(DrawingRow(single_line(variant), tuple(marks), format_count(len(own), "race"), "quiet"))
    ticks = tuple(Tick(at / count, _block_label(races[at].block)) for at in borders[::every])
    doubtful = [race for race in races if race.word != "valid"]
    text = f"{format_count(count, 'race')}, the first on the left. "
    text += "All are valid." if not doubtful else f"{_counted(doubtful)}: marked."
    key: tuple[KeyEntry, ...] = (
        (KeyEntry("doubtful", "suspect", "bar"), KeyEntry("wrong", "void or failed", "cross"))
        if doubtful
        else ()
    )
    return Drawing(
        "order", "Order of the races", text, RACES, tuple(rows), ticks, "block" if ticks else "", key
    )


def _counted(races: Sequence[ShownRace]) -> str:
    words = [race.word for race in races]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _block_label(block: str) -> str:
    return single_line(block.rpartition("/")[2])


def _race_marks(race: ShownRace, at: int, count: int, own: MarkStyle) -> Iterator[Mark]:
    left, right = (at + 0.12) / count, (at + 0.88) / count
    title = f"{at + 1}. {whole_line(race.race_id)}: {race.word}"
    shown: MarkStyle = own if race.word == "valid" else "doubtful" if race.word == "suspect" else "wrong"
    lost = race.word in ("void", "failed")
    yield Bar(left, right, 0.1, 0.9, shown, is_faint=lost, title=title)
    if count <= _MOST_MARKED and lost:
        yield Dot((left + right) / 2, 0.5, "wrong", "cross", title)


def style(number: int) -> MarkStyle:
    """Returns the colour of a variant; the first one is the baseline."""
    return "accent" if number else "quiet"


_DIRECTIONS = {True: "Higher is better.", False: "Lower is better.", None: "Neither direction is better."}


def _strip(name: str, metric: MetricId, races: Sequence[ShownRace], variants: Sequence[str]) -> Drawing:
    """Returns the values of one metric, a row for each variant, and in it the first race at the top."""
    scale = scale_of(value for race in races if (value := race.values.get(metric)) is not None)
    unit = whole_line(metric.unit)
    rows, medians = [], []
    for number, variant in enumerate(variants):
        own = [race for race in races if race.variant == variant and metric in race.values]
        marks: list[Mark] = []
        for at, race in enumerate(own):
            value, share = race.values[metric], (at + 0.5) / len(own)
            title = f"{whole_line(race.race_id)}: {format_number(value)} {unit}, {race.word}"
            y = _JITTER[0] + share * (_JITTER[1] - _JITTER[0])
            marks.append(Dot(scale.at(value), y, style(number), _FORMS.get(race.word, "cross"), title))
        note = ""
        if own:
            middle = median(race.values[metric] for race in own)
            note = f"{format_number(middle)} {unit}".strip()
            medians.append(f"{single_line(variant)} {note}")
            marks.append(Stroke(scale.at(middle), 0.0, scale.at(middle), 1.0, "", is_thin=True, title=note))
        rows.append(DrawingRow(single_line(variant), tuple(marks), note, height_px=40))
    text = _DIRECTIONS[metric.higher_is_better]
    if len(medians) <= _MOST_NAMED:
        text += f" Medians: {', '.join(medians)}."
    key: tuple[KeyEntry, ...] = (KeyEntry("", "median", "line"),)
    if any(race.word != "valid" for race in races):
        key += (KeyEntry("accent", "suspect", "ring"), KeyEntry("accent", "void", "cross"))
    title = f"Every race: {full_metric_name(metric)}"
    ticks = scale.ticks(format_rate)
    return Drawing(name, title, text, RACES, tuple(rows), ticks, unit, key)


def _table(races: Sequence[ShownRace], metrics: Sequence[MetricId]) -> PageTable:
    has_blocks = any(race.block for race in races)
    has_times = any(race.began for race in races)
    heads = [
        "Order",
        "Race",
        "Variant",
        *(["Block"] if has_blocks else []),
        *(["Began (UTC)"] if has_times else []),
    ]
    heads.append("Verdict")
    columns = [PageColumn(head, is_number=head == "Order") for head in heads]
    columns += [PageColumn(_heading(metric)) for metric in metrics]
    rows = []
    for number, race in enumerate(races, 1):
        began = f"{race.began:%Y-%m-%d %H:%M:%S}" if race.began else ""
        cells: list[PageCell | str] = [PageCell(str(number), number), whole_line(race.race_id)]
        cells.append(single_line(race.variant))
        cells += [_block_label(race.block)] if has_blocks else []
        cells += [began] if has_times else []
        cells.append(PageCell(race.word, tone=_TONES.get(race.word, "wrong")))
        cells += [
            PageCell("" if value is None else format_number(value), value)
            for value in (race.values.get(metric) for metric in metrics)
        ]
        rows.append(tuple(cells))
    caption = f"All {format_count(len(races), 'race')} in their order"
    return PageTable(
        RACES, caption, tuple(columns), (RowGroup("", tuple(rows)),), is_sortable=True, is_folded=True
    )


def _heading(metric: MetricId) -> str:
    unit = f" ({whole_line(metric.unit)})" if metric.unit else ""
    return f"{full_metric_name(metric)}{unit}"
