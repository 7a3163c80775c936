"""What a design shows besides its comparisons: the steps of a ladder, the configurations of a matrix or a
sweep, the factors of a screening, the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.comparison import Comparison, EstimatedChange, MetricComparison, MetricId
from pacenote.model.experiment import PAIRED
from pacenote.model.experiment_result import CellValue, ExperimentResult, NoiseValue, VariantResult
from pacenote.model.printable import single_line, whole_line
from pacenote.report.comparison_rows import change_text, interval_text
from pacenote.report.comparison_texts import full_metric_name
from pacenote.report.page.comparison.effects import TONES, ShownEffect, axis_lines, forest, metric_effect
from pacenote.report.page.drawing import (
    Bar,
    Caption,
    Dot,
    Drawing,
    DrawingRow,
    KeyEntry,
    Mark,
    MarkStyle,
    Stroke,
    Tick,
    Trace,
)
from pacenote.report.page.page import Block, PageCell, PageColumn, PageTable, RowGroup, Section
from pacenote.report.page.scale import Scale, scale_of
from pacenote.report.page.tone import Tone
from pacenote.report.trend import capitalized
from pacenote.units import format_change, format_count, format_number, format_share

_LEVELS = 9
_CELL_PX = 44
_CURVE_PX = 200
_STEPS, _CELLS, _EFFECTS, _NOISE = "data-steps", "data-cells", "data-factors", "data-noise"


def design_sections(result: ExperimentResult) -> Iterator[Section]:
    """Yields what the design of an experiment shows; nothing for a pair with one contender."""
    if result.design == "ladder":
        yield Section("ladder", "Ladder", tuple(_ladder(result)))
    elif result.design in PAIRED:
        yield from _overview(result)
    elif result.cells:
        yield Section("configurations", "Configurations", tuple(_cells(result)))
    elif result.effects:
        yield Section("factors", "Factors", tuple(_factors(result)))
    elif result.noise:
        yield Section("noise", "Noise", tuple(_noise(result)))


def main_name(result: ExperimentResult) -> str:
    """Returns the name of the metric that stands for the others."""
    return full_metric_name(result.main_metric) if result.main_metric else "the main metric"


def main_effect(result: ExperimentResult, comparison: Comparison | None, label: str) -> ShownEffect | None:
    """Returns the effect on the main metric, or None if it is not known."""
    main = _main(result, comparison)
    if main is None:
        return None
    return replace(metric_effect(main), label=single_line(label))


def _main(result: ExperimentResult, comparison: Comparison | None) -> MetricComparison | None:
    return comparison.metric(result.main_metric) if comparison and result.main_metric else None


def _overview(result: ExperimentResult) -> Iterator[Section]:
    """Yields the main metric of all contenders if there are several."""
    effects = [
        effect
        for variant in result.variants
        if (effect := main_effect(result, variant.comparison, variant.name)) is not None
    ]
    if len(effects) > 1:
        rows = tuple(
            (
                single_line(each.label),
                each.text,
                interval_text(each.change),
                PageCell(each.word, tone=TONES[each.word]),
            )
            for each in effects
        )
        columns = _columns("Contender", "Change", "Interval", "Verdict", numbers=("Change", "Interval"))
        caption = f"{capitalized(main_name(result))} of each contender against {single_line(result.baseline)}"
        table = PageTable("data-contenders", caption, columns, (RowGroup("", rows),), is_folded=True)
        text = f"Each against {single_line(result.baseline)}; intervals allow for the number of contenders."
        yield Section(
            "contenders",
            "All contenders",
            (forest("contenders-main", capitalized(main_name(result)), text, table.id, effects), table),
        )


def _ladder(result: ExperimentResult) -> Iterator[Block]:
    steps = result.variants
    reached, places = 1.0, list[float]()
    for step in steps:
        places.append(reached)
        reached = step.cumulative if step.adopted and step.cumulative else reached
    totals = [step.cumulative for step in steps if step.cumulative is not None]
    bounds = [
        start * (1 + bound)
        for step, start in zip(steps, places, strict=True)
        for bound in _bounds(_main(result, step.comparison))
    ]
    scale = scale_of((1.0, *totals, *bounds))
    rows = tuple(_step(result, step, start, scale) for step, start in zip(steps, places, strict=True))
    kept = sum(step.adopted is True for step in steps[1:])
    text = (
        f"{kept} of {format_count(len(steps) - 1, 'step')} kept. Each bar begins at the best before it; "
        f"{single_line(steps[0].name)} is 1."
    )
    key = (
        KeyEntry("good", "kept", "bar"),
        KeyEntry("quiet", "not kept", "area"),
        KeyEntry("", "interval of the step", "line"),
    )
    title = f"Steps: {main_name(result)}, relative to the start"
    ticks = scale.ticks(lambda value: f"{value:.4g}", 1.0)
    yield Drawing("steps", title, text, _STEPS, rows, ticks, "relative to the start", key)
    yield _step_table(result)


def _bounds(metric: MetricComparison | None) -> Iterator[float]:
    if metric is not None and metric.change is not None and not metric.change.is_absolute:
        yield metric.change.low
        yield metric.change.value if metric.change.known_high is None else metric.change.known_high


def _step(result: ExperimentResult, step: VariantResult, start: float, scale: Scale) -> DrawingRow:
    main = _main(result, step.comparison)
    marks: list[Mark] = []
    word = _step_word(result, step)
    if step.cumulative is not None and step.comparison is not None:
        left, right = sorted((start, step.cumulative))
        title = f"{single_line(step.name)}: {start:.4g} → {step.cumulative:.4g}"
        is_worse = (step.cumulative < start) == (
            result.main_metric is None or result.main_metric.higher_is_better
        )
        style: MarkStyle = "quiet" if not step.adopted else "wrong" if is_worse else "good"
        marks.append(
            Bar(scale.at(left), scale.at(right), 0.2, 0.8, style, is_faint=not step.adopted, title=title)
        )
        ends = [start * (1 + bound) for bound in _bounds(main)]
        if ends:
            marks.append(Stroke(scale.at(ends[0]), 0.5, scale.at(ends[1]), 0.5, "", is_thin=True))
        marks.append(Dot(scale.at(step.cumulative), 0.5, "", "disc" if step.adopted else "ring", title))
    elif step.comparison is None and step.cumulative is not None:
        marks.append(Dot(scale.at(step.cumulative), 0.5, "", "disc", "the start"))
    change = change_text(main.change) if main else ""
    note = " ".join(part for part in (change, word) if part)
    tone: Tone = "good" if step.adopted and step.comparison else "quiet"
    return DrawingRow(single_line(step.name), tuple(marks), note, tone, height_px=32)


def _step_word(result: ExperimentResult, step: VariantResult) -> str:
    if step.name == result.variants[0].name:
        return "the start"
    if step.adopted is None:
        return "not decided"
    if step.adopted:
        return "kept"
    return "failed" if step.comparison is None and step.failure else "not kept"


def _step_table(result: ExperimentResult) -> PageTable:
    rows = []
    for step in result.variants:
        main = _main(result, step.comparison)
        change = main.change if main else None
        word = main.word if main else ""
        rows.append((
            single_line(step.name),
            PageCell(change_text(change), change.value if change else None),
            interval_text(change),
            PageCell(word, tone=TONES[main.word] if main else ""),
            _step_word(result, step),
            PageCell("" if step.cumulative is None else f"{step.cumulative:.4g}", step.cumulative),
        ))
    columns = _columns(
        *("Step", "Change", "Interval", "Verdict", "Kept", "Cumulative"),
        numbers=("Change", "Interval", "Cumulative"),
    )
    caption = "Steps, each against the best before it"
    return PageTable(_STEPS, caption, columns, (RowGroup("", tuple(rows)),), is_folded=True)


def _cells(result: ExperimentResult) -> Iterator[Block]:
    comparisons = {variant.name: variant.comparison for variant in result.variants}
    if len(result.factors) == 2:
        yield _heat_map(result)
    elif len(result.factors) == 1:
        yield from _curve(result, comparisons)
    effects = [
        effect
        for cell in result.cells
        if (effect := main_effect(result, comparisons.get(cell.name), cell.name)) is not None
    ]
    if effects:
        text = f"Each configuration against {single_line(result.baseline)}; intervals allow for their number."
        yield forest("cells-main", f"Change of {main_name(result)}", text, _CELLS, effects)
    yield _cell_table(result, comparisons)


def _cell_word(cell: CellValue) -> str:
    if cell.value is None:
        return "lost" if cell.lost else "no race"
    if cell.is_void:
        return "void"
    if cell.is_left_out:
        return "left out"
    return "best" if cell.is_best else "may be the best" if cell.in_best_region else "worse"


def _best_text(result: ExperimentResult) -> str:
    best = next((cell for cell in result.cells if cell.is_best and cell.value is not None), None)
    if best is None or best.value is None:
        return "No configuration has races that count."
    others = [single_line(cell.name) for cell in result.cells if cell.in_best_region and not cell.is_best]
    text = f"Best: {single_line(best.name)}, {_with_unit(best.value, result.main_metric)}."
    return f"{text} Not shown to be worse: {', '.join(others)}." if others else text


def _with_unit(value: float, metric: MetricId | None) -> str:
    return f"{format_number(value)} {whole_line(metric.unit) if metric else ''}".strip()


def _heat_map(result: ExperimentResult) -> Drawing:
    """Returns the means of a matrix with two factors: a stronger colour is better."""
    (first, names), (second, columns) = result.factors
    by_levels = {cell.levels: cell for cell in result.cells}
    values = [cell.value for cell in result.cells if cell.value is not None and not cell.is_void]
    scale = scale_of(values, padding=0.0)
    is_high = result.main_metric is None or result.main_metric.higher_is_better
    rows = []
    for name in names:
        marks: list[Mark] = []
        for at, column in enumerate(columns):
            cell = by_levels.get((name, column))
            if cell is None:
                continue
            left, right = (at + 0.03) / len(columns), (at + 0.97) / len(columns)
            word, middle = _cell_word(cell), (left + right) / 2
            title = f"{single_line(cell.name)}: {word}"
            if cell.value is not None and not cell.is_void:
                share = scale.at(cell.value) if is_high else 1 - scale.at(cell.value)
                title += f", {_with_unit(cell.value, result.main_metric)}"
                marks.append(
                    Bar(left, right, 0.04, 0.96, "accent", level=round(share * _LEVELS), title=title)
                )
                mark = " ★" if cell.is_best else " ~" if cell.in_best_region else ""
                marks.append(Caption(middle, 0.5, f"{_short(cell.value)}{mark}", style=""))
            else:
                marks.append(Bar(left, right, 0.04, 0.96, "wrong", level=0, title=title))
                marks.append(Caption(middle, 0.5, word, style="wrong"))
        rows.append(DrawingRow(f"{single_line(first)} {single_line(name)}", tuple(marks), height_px=_CELL_PX))
    ticks = tuple(Tick((at + 0.5) / len(columns), single_line(name)) for at, name in enumerate(columns))
    unit = (
        f" ({whole_line(result.main_metric.unit)})" if result.main_metric and result.main_metric.unit else ""
    )
    text = f"{_best_text(result)} A stronger colour is better. ★ is the best, ~ is not shown to be worse."
    title = f"Mean {main_name(result)}{unit}"
    return Drawing("heat", title, text, _CELLS, tuple(rows), ticks, single_line(second), has_rules=False)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _curve(result: ExperimentResult, comparisons: Mapping[str, Comparison | None]) -> Iterator[Drawing]:
    """Yields the change of the main metric over the levels of one factor, with its intervals."""
    count = len(result.cells)
    points = []
    for at, cell in enumerate(result.cells):
        main = _main(result, comparisons.get(cell.name))
        change = main.change if main and main.change and not main.change.is_absolute else None
        if change or cell.name == result.baseline:
            points.append(_LevelPoint((at + 0.5) / count, cell, change))
    if len(points) < 2:
        return
    most = 3 * max(abs(point.value) for point in points) + 0.05
    ends = [end for point in points for end in (point.low, point.high) if end is not None]
    scale = scale_of((0.0, *(point.value for point in points), *(min(max(end, -most), most) for end in ends)))
    name = result.factors[0][0]
    baseline = single_line(result.baseline)
    key = (
        KeyEntry("accent", "change with its interval", "area"),
        KeyEntry("good", "may be the best"),
        KeyEntry("accent", f"{baseline}, the baseline", "ring"),
    )
    row = DrawingRow("", (*axis_lines(scale), *_curve_marks(points, scale)), height_px=_CURVE_PX)
    ticks = tuple(Tick(point.x, single_line(point.cell.name)) for point in points)
    title = f"{capitalized(main_name(result))} by {single_line(name)}"
    text = f"{_best_text(result)} Changes are against {baseline}."
    yield Drawing("curve", title, text, _CELLS, (row,), ticks, "", key)


class _LevelPoint(Struct, frozen=True):
    """A level of the only factor, which is the baseline if it has no change."""

    x: float
    cell: CellValue
    change: EstimatedChange | None

    @property
    def value(self) -> float:
        return self.change.value if self.change else 0.0

    @property
    def low(self) -> float:
        return self.change.low if self.change else 0.0

    @property
    def high(self) -> float | None:
        return self.change.known_high if self.change else 0.0


def _curve_marks(points: Sequence[_LevelPoint], scale: Scale) -> Iterator[Mark]:
    lows = [(point.x, 1 - scale.at(point.low)) for point in points]
    highs = [(point.x, 1 - scale.at(scale.high if point.high is None else point.high)) for point in points]
    yield Trace((*lows, *reversed(highs)), "accent", is_area=True)
    yield Trace(tuple((point.x, 1 - scale.at(point.value)) for point in points), "accent")
    for point in points:
        change = (
            f"{change_text(point.change)} ({interval_text(point.change)})" if point.change else "the baseline"
        )
        title = f"{single_line(point.cell.name)}: {change}, {_cell_word(point.cell)}"
        style: MarkStyle = "good" if point.cell.in_best_region else "accent"
        yield Dot(point.x, 1 - scale.at(point.value), style, "disc" if point.change else "ring", title)


def _cell_table(result: ExperimentResult, comparisons: Mapping[str, Comparison | None]) -> PageTable:
    rows: list[tuple[PageCell | str, ...]] = []
    for cell in result.cells:
        main = _main(result, comparisons.get(cell.name))
        change = main.change if main else None
        word = _cell_word(cell)
        rows.append((
            *map(single_line, cell.levels),
            PageCell("" if cell.value is None else format_number(cell.value), cell.value),
            PageCell(str(cell.races), cell.races),
            PageCell(change_text(change), change.value if change else None),
            interval_text(change),
            PageCell(main.word if main else "", tone=TONES[main.word] if main else ""),
            PageCell(word, tone="good" if cell.is_best else ""),
        ))
    heads = tuple(single_line(name) for name, _ in result.factors)
    unit = (
        f" ({whole_line(result.main_metric.unit)})" if result.main_metric and result.main_metric.unit else ""
    )
    numbers = (f"Mean{unit}", "Races", "Change", "Interval")
    columns = _columns(*heads, *numbers, "Verdict", "Place", numbers=numbers)
    baseline = single_line(result.baseline)
    caption = f"Mean {main_name(result)} of each configuration, and its change against {baseline}"
    return PageTable(_CELLS, caption, columns, (RowGroup("", tuple(rows)),), is_sortable=True, is_folded=True)


def _factors(result: ExperimentResult) -> Iterator[Block]:
    effects = [
        ShownEffect(
            f"{single_line(one.factor)}: {single_line(one.low)} → {single_line(one.high)}",
            one.word,
            one.change,
            text=change_text(one.change),
        )
        for one in result.effects
    ]
    text = "Effects of single factors, the largest first; intervals allow for their number."
    yield forest("factor-effects", f"Effects on {main_name(result)}", text, _EFFECTS, effects)
    rows: tuple[tuple[PageCell | str, ...], ...] = tuple(
        (
            *map(single_line, (one.factor, one.low, one.high)),
            PageCell(change_text(one.change), one.change.value if one.change else None),
            interval_text(one.change),
            PageCell(one.word, tone=TONES[one.word]),
        )
        for one in result.effects
    )
    columns = _columns(
        "Factor", "From", "To", "Change", "Interval", "Verdict", numbers=("Change", "Interval")
    )
    yield PageTable(_EFFECTS, "Effects of the factors", columns, (RowGroup("", rows),), is_folded=True)


def _noise(result: ExperimentResult) -> Iterator[Block]:
    main = next((one for one in result.noise if one.metric == result.main_metric), result.noise[0])
    yield _detectable(main)
    blocks = tuple(f"{count} blocks" for count, _ in result.noise[0].detectable)
    rows: tuple[tuple[PageCell | str, ...], ...] = tuple(
        (
            one.metric.name,
            single_line(one.metric.task),
            PageCell(format_number(one.mean), one.mean),
            whole_line(one.metric.unit),
            PageCell(_share(one.spread), one.spread),
            *(
                PageCell(_share(effect), effect if math.isfinite(effect) else None)
                for _, effect in one.detectable
            ),
        )
        for one in result.noise
    )
    columns = _columns(
        "Metric", "Task", "Mean", "Unit", "Spread", *blocks, numbers=("Mean", "Spread", *blocks)
    )
    caption = "Spread from race to race, and the change that n blocks see in 80 % of the cases"
    yield PageTable(_NOISE, caption, columns, (RowGroup("", rows),), is_sortable=True)


def _share(share: float) -> str:
    return "∞" if math.isinf(share) else format_share(share)


def _detectable(main: NoiseValue) -> Drawing:
    known = [(blocks, effect) for blocks, effect in main.detectable if math.isfinite(effect)]
    scale = Scale(0.0, max((effect for _, effect in known), default=0.1) * 1.1)
    places = [(at + 0.5) / max(len(known), 1) for at in range(len(known))]
    marks: list[Mark] = list(axis_lines(scale))
    points = tuple((x, 1 - scale.at(effect)) for x, (_, effect) in zip(places, known, strict=True))
    marks.append(Trace(points, "accent"))
    for (x, y), (blocks, effect) in zip(points, known, strict=True):
        marks.append(Dot(x, y, "accent", "disc", f"{blocks} blocks: {format_change(effect)}"))
    ticks = tuple(Tick(x, f"{blocks} blocks") for x, (blocks, _) in zip(places, known, strict=True))
    name, races = capitalized(full_metric_name(main.metric)), format_count(main.races, "race")
    text = f"{name} varies by {_share(main.spread)} from race to race, in {races}."
    row = DrawingRow("", tuple(marks), height_px=160)
    return Drawing("detectable", "The smallest change that is seen", text, _NOISE, (row,), ticks)


def _columns(*heads: str, numbers: Sequence[str]) -> tuple[PageColumn, ...]:
    return tuple(PageColumn(head, head in numbers) for head in heads)
