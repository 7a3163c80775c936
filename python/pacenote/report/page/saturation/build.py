"""Builds the page of a search for the highest rate: its probes by rate, and throughput by clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.figures.percentiles import LINE_PERCENTILES
from pacenote.model.printable import single_line, whole_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import CensoredPercentile
from pacenote.model.saturation import Estimate, LatencyLimit, Probe, ProbeOutcome, SaturationResult
from pacenote.model.saturation_answer import UNDECIDED, answer, outcome_text, rate_text
from pacenote.report.notes import header
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
    Trace,
)
from pacenote.report.page.page import (
    Block,
    FactList,
    KeyFigure,
    PageCell,
    PageColumn,
    PageTable,
    Question,
    ReportPage,
    RowGroup,
    Section,
    Text,
)
from pacenote.report.page.scale import Scale, scale_of
from pacenote.report.page.texts import command_blocks, sentence
from pacenote.report.page.tone import Tone
from pacenote.report.saturation import LIMITED_BY, Remark, SaturationReport, build_saturation_report
from pacenote.report.trend import capitalized
from pacenote.units import format_count, format_rate, format_seconds

_LABELS = ("limited by", "decided by")
"""Labels of remarks."""

_PROBES, _LEVELS = "data-probes", "data-levels"
_HEIGHT_PX = 240
_FORMS: Mapping[ProbeOutcome, DotForm] = {"passed": "disc", "failed": "cross", "undecided": "ring"}
_STYLES: Mapping[ProbeOutcome, MarkStyle] = {"passed": "good", "failed": "wrong", "undecided": "doubtful"}
_TONES: Mapping[ProbeOutcome, Tone] = {"passed": "good", "failed": "wrong", "undecided": "doubtful"}


class SaturationPageSources(Struct, frozen=True):
    """What the page of a search for the highest rate is built from."""

    result: SaturationResult
    """What it has found."""

    record: RaceRecord
    """Its race."""

    fitted: tuple[tuple[float, float], ...] = ()
    """The fitted law: numbers of clients with their work per second; empty without a fit."""

    commands: tuple[tuple[str, str], ...] = ()
    """Commands with their purposes."""

    version: str = ""
    """Version of Pacenote."""


def build_saturation_page(sources: SaturationPageSources) -> ReportPage:
    """Returns the page of a search for the highest rate."""
    result, record = sources.result, sources.record
    report = build_saturation_report(result, record.verdict)
    tone: Tone = "good" if result.limited_by in ("engine", "range") and result.stable else "doubtful"
    names = [single_line(name) for name in (record.track.name, record.challenge) if name]
    return ReportPage(
        title=f"Highest rate of {report.task}",
        badge=LIMITED_BY[result.limited_by],
        tone="wrong" if result.stable is None else tone,
        heading=f"Highest rate of {report.task}",
        subtitle=" · ".join((*names, f"{record.timestamp:%Y-%m-%d %H:%M} UTC", single_line(result.race_id))),
        figures=tuple(_figures(result)),
        questions=tuple(_questions(sources, report)),
        sections=tuple(section for section in _sections(sources, report) if section.blocks),
        footer=f"Pacenote {sources.version}".strip() + f" · race {single_line(result.race_id)}",
    )


def _figures(result: SaturationResult) -> Iterator[KeyFigure]:
    if result.stable is not None:
        yield KeyFigure("Highest rate that passed", rate_text(result.stable, result), "no probe of it failed")
    if result.unstable is not None:
        yield KeyFigure(
            "Lowest rate that did not", rate_text(result.unstable, result), "no probe of it passed"
        )
    if result.fit is not None and result.fit.peak_clients is not None:
        peak = result.fit.peak_clients
        yield KeyFigure(
            "Clients at the peak", f"{peak.value:.3g}", f"interval {_interval(peak)}, without a rate"
        )


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.3g} … {estimate.high:.3g}"


def _questions(sources: SaturationPageSources, report: SaturationReport) -> Iterator[Question]:
    text = report.answer
    yield Question("What is the highest rate?", (Text(sentence(text)),))
    yield Question("How sure is that?", tuple(_answers(report.method[:1])))
    limits = tuple(_answers(report.remarks))
    yield Question("What limited it?", limits)
    verdict = sources.record.verdict
    valid = "Yes." if verdict.state == "valid" else f"It is {verdict.state}: {'; '.join(verdict.reasons)}."
    yield Question("Was the race valid?", (Text(whole_line(valid)),))
    commands = tuple(command_blocks(sources.commands))
    yield Question("How do I repeat it?", commands or (Text("Not known."),))


def _answers(remarks: Sequence[Remark]) -> Iterator[Text]:
    """Yields remarks without the labels that a question above them has already said."""
    for remark in remarks:
        label, _, text = remark.text.partition(": ")
        yield from _remarks([replace(remark, text=text if label in _LABELS else remark.text)])


def _remarks(remarks: Sequence[Remark]) -> Iterator[Text]:
    yield from (Text(f"{capitalized(one.text)}.", "quiet" if one.detail else "") for one in remarks)


def _sections(sources: SaturationPageSources, report: SaturationReport) -> Iterator[Section]:
    result = sources.result
    yield Section("rates", "Rates", tuple(_rates(result)))
    yield Section("clients", "Clients", tuple(_clients(sources, report)))
    yield Section("method", "How it was found", (*_remarks(report.method),))
    yield Section("environment", "Environment", tuple(_environment(sources.record)))


def _environment(record: RaceRecord) -> Iterator[Block]:
    yield FactList(tuple((note.label, note.text) for note in header(record)))


def _rates(result: SaturationResult) -> Iterator[Block]:
    for number, limit in enumerate(result.objective.latency):
        yield from _latency_chart(f"rates-{number}", limit, result)
    if result.probes:
        yield _probe_table(result)


def _latency_chart(name: str, limit: LatencyLimit, result: SaturationResult) -> Iterator[Drawing]:
    """Yields a percentile of latency by rate, with the upper bound of each probe."""
    probes = [(probe, time) for probe in result.probes if (time := probe.at(limit.q)) is not None]
    known = [(probe, time) for probe, time in probes if time.ms is not None and time.ms > 0]
    if not known:
        return
    ends = _interval_ends(result) or ()
    rates = scale_of((*(probe.rate for probe in result.probes), *ends), is_logarithmic=True)
    bounds = [time.high_ms for _, time in known if time.high_ms is not None]
    values = (limit.ms, *(time.ms or 0.0 for _, time in known), *bounds)
    times = scale_of(values, is_logarithmic=True)
    marks: list[Mark] = []
    if ends:
        left, right = sorted(map(rates.at, ends))
        marks.append(Bar(left, right, 0.0, 1.0, "quiet", is_faint=True, title="The highest rate is in here"))
    marks += _time_lines(times)
    y = 1 - times.at(limit.ms)
    marks.append(Stroke(0.0, y, 1.0, y, "wrong", is_thin=True, is_dashed=True, title=str(limit)))
    marks.append(Caption(1.0, y - 0.04, f"limit {format_seconds(limit.ms / 1000)}", "end"))
    for probe, time in probes:
        marks += _probe_marks(probe, time, rates, times)
    key = (
        KeyEntry("good", "passed"),
        KeyEntry("wrong", "failed", "cross"),
        KeyEntry("doubtful", "undecided or void", "ring"),
        KeyEntry("", "up to the upper bound of its interval", "line"),
        *([KeyEntry("quiet", "between the rates of the answer", "area")] if ends else []),
    )
    title = f"p{limit.q:g} of latency by rate"
    text = f"{capitalized(answer(result))}. A rate passes if the upper bound of p{limit.q:g} keeps the limit."
    row = DrawingRow("", tuple(marks), height_px=_HEIGHT_PX)
    yield Drawing(name, title, text, _PROBES, (row,), rates.ticks(format_rate), "ops/s", key)


def _interval_ends(result: SaturationResult) -> tuple[float, float] | None:
    """Returns the rates between which the answer says that the highest one is, or None if it does not."""
    if result.varying is not None:
        return result.varying.low, result.varying.high
    if result.stable is None or result.unstable is None or result.limited_by in UNDECIDED:
        return None
    return result.stable, result.unstable


def _time_lines(times: Scale) -> Iterator[Mark]:
    for value in times.steps(5):
        y = 1 - times.at(value)
        yield Stroke(0.0, y, 1.0, y, "quiet", is_thin=True, is_dashed=True)
        yield Caption(0.0, y - 0.04, format_seconds(value / 1000), "start")


def _probe_marks(probe: Probe, time: CensoredPercentile, rates: Scale, times: Scale) -> Iterator[Mark]:
    x = rates.at(probe.rate)
    style: MarkStyle = _STYLES.get(probe.outcome, "doubtful")
    title = f"probe {probe.number}, {format_rate(probe.rate)} ops/s: {single_line(outcome_text(probe))}"
    y = 0.03 if time.ms is None else 1 - times.at(time.ms)
    if time.ms is not None:
        top = 0.0 if time.high_ms is None else 1 - times.at(time.high_ms)
        yield Stroke(x, y, x, top, style, is_thin=True, is_dashed=time.high_ms is None, title=title)
    yield Dot(x, y, style, _FORMS.get(probe.outcome, "ring"), title)


def _probe_table(result: SaturationResult) -> PageTable:
    qs = sorted({*LINE_PERCENTILES, *(limit.q for limit in result.objective.latency)})
    heads = ["Probe", "Target (ops/s)", "Outcome", "Done (ops/s)"]
    for q in qs:
        heads += [f"p{q:g} (ms)", f"p{q:g} at most (ms)"]
    heads += ["Errors (%)"]
    rows = []
    for probe in result.probes:
        cells = [
            PageCell(str(probe.number), probe.number),
            PageCell(format_rate(probe.rate), probe.rate),
            PageCell(single_line(outcome_text(probe)), tone=_TONES.get(probe.outcome, "doubtful")),
            PageCell(format_rate(probe.achieved), probe.achieved),
        ]
        for time in map(probe.at, qs):
            ms, high = (time.ms, time.high_ms) if time else (None, None)
            cells += [PageCell("" if each is None else format_rate(each), each) for each in (ms, high)]
        rate = probe.error_rate
        cells.append(PageCell("" if rate is None else f"{rate * 100:.3g}", rate))
        rows.append(tuple(cells))
    columns = tuple(PageColumn(head, head != "Outcome") for head in heads)
    caption = f"All {format_count(len(rows), 'probe')}; an empty bound means that there is none"
    return PageTable(_PROBES, caption, columns, (RowGroup("", tuple(rows)),), is_sortable=True)


def _clients(sources: SaturationPageSources, report: SaturationReport) -> Iterator[Block]:
    result = sources.result
    if not result.levels:
        return
    yield _sweep(sources)
    yield from (Text(capitalized(one.text), "quiet" if one.detail else "") for one in report.law)
    yield _level_table(result)


def _sweep(sources: SaturationPageSources) -> Drawing:
    """Returns throughput by clients: each measurement, the fitted law, and the interval of its peak."""
    result, fit = sources.result, sources.result.fit
    clients = scale_of((level.clients for level in result.levels), is_logarithmic=True)
    highest = max((*(level.work for level in result.levels), *(work for _, work in sources.fitted)))
    works = Scale(0.0, highest * 1.08 or 1.0)
    unit = f"{single_line(result.unit) or 'ops'}/s"
    marks: list[Mark] = []
    if fit is not None and fit.peak_clients is not None:
        left, right = clients.at(fit.peak_clients.low), clients.at(fit.peak_clients.high)
        title = f"peak: {_interval(fit.peak_clients)} clients"
        marks.append(Bar(left, right, 0.0, 1.0, "good", is_faint=True, title=title))
    for value in works.steps(4):
        y = 1 - works.at(value)
        marks.append(Stroke(0.0, y, 1.0, y, "quiet", is_thin=True, is_dashed=value != 0))
        marks.append(Caption(0.0, y - 0.04, format_rate(value), "start"))
    points = tuple((clients.at(count), 1 - works.at(work)) for count, work in sources.fitted)
    if points:
        marks.append(Trace(points, "accent"))
    for level in result.levels:
        title = f"{format_count(level.clients, 'client')}: {format_rate(level.work)} {unit}"
        form: DotForm = "ring" if level.left_out else "disc"
        marks.append(Dot(clients.at(level.clients), 1 - works.at(level.work), "accent", form, title))
    key = [KeyEntry("accent", "measurement")]
    if any(level.left_out for level in result.levels):
        key.append(KeyEntry("accent", "left out of the law", "ring"))
    if points:
        key.append(KeyEntry("accent", "Universal Scalability Law", "line"))
    if fit is not None and fit.peak_clients is not None:
        key.append(KeyEntry("good", "95 % interval of the peak", "area"))
    row = DrawingRow("", tuple(marks), height_px=_HEIGHT_PX)
    ticks = clients.ticks(lambda value: f"{value:g}")
    title, text = (
        f"Throughput by clients, {unit}",
        "Each dot is a measurement of the closed loop, without a rate.",
    )
    return Drawing("sweep", title, text, _LEVELS, (row,), ticks, "clients", tuple(key))


def _level_table(result: SaturationResult) -> PageTable:
    unit = f"{single_line(result.unit) or 'ops'}/s"
    rows = tuple(
        (
            PageCell(str(level.clients), level.clients),
            PageCell(format_rate(level.work), level.work),
            whole_line("; ".join(level.left_out)),
        )
        for level in sorted(result.levels, key=lambda level: (level.clients, level.number))
    )
    columns = (PageColumn("Clients"), PageColumn(unit), PageColumn("Left out of the law", is_number=False))
    caption = f"All {format_count(len(rows), 'measurement')} of the closed loop"
    return PageTable(_LEVELS, caption, columns, (RowGroup("", rows),), is_sortable=True, is_folded=True)
