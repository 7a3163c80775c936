"""Builds the page of an experiment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pacenote.model.comparison import Comparison, ComparisonAnswer
from pacenote.model.experiment import COMPARING, PAIRED
from pacenote.model.experiment_result import ExperimentRace, ExperimentResult
from pacenote.model.printable import single_line, whole_line
from pacenote.report.comparison_rows import interval_text
from pacenote.report.experiment import ExperimentReport, build_experiment_report
from pacenote.report.page.comparison.build import (
    answer_figures,
    backlog_blocks,
    difference_blocks,
    main_differences,
    race_validity,
)
from pacenote.report.page.comparison.effects import MOST_ROWS, TONES, effect_blocks
from pacenote.report.page.comparison.races import RaceWord, ShownRace, race_blocks
from pacenote.report.page.experiment.designs import design_sections, main_effect, main_name
from pacenote.report.page.page import (
    Block,
    Item,
    ItemList,
    KeyFigure,
    PageColumn,
    PageCommand,
    PageTable,
    Question,
    ReportPage,
    RowGroup,
    Section,
    Text,
)
from pacenote.report.page.texts import command_blocks, next_blocks, sentence
from pacenote.report.page.tone import Tone
from pacenote.units import format_count, format_number, format_seconds, format_share

_QUESTIONS = {"pair": "Is the contender better?", "duet": "Is the contender better?"}
_MOST_CONTENDERS = 6
_MOST_VARIANTS = 12


class ExperimentPageSources(Struct, frozen=True):
    """What the page of an experiment is built from."""

    result: ExperimentResult
    """What it has found."""

    races: tuple[ExperimentRace, ...] = ()
    """Its races that have ended, in their order."""

    settings: tuple[tuple[str, str], ...] = ()
    """The options of each variant or level, by name."""

    common: str = ""
    """The options of all races."""

    commands: tuple[tuple[str, str], ...] = ()
    """Commands with their purposes, the first of which runs it again."""

    version: str = ""
    """Version of Pacenote."""


def build_experiment_page(sources: ExperimentPageSources) -> ReportPage:
    """Returns the page of an experiment, however far it is."""
    result = sources.result
    report = build_experiment_report(result)
    races = shown_races(sources.races)
    badge, tone = _badge(result)
    parts = (
        f"{result.design} {single_line(result.experiment_id)}",
        result.state,
        f"{result.races_done} of {format_count(result.races_planned, 'race')}",
        format_seconds(round(result.seconds)),
    )
    return ReportPage(
        title=single_line(f"{result.experiment_id} · {badge}"),
        badge=badge,
        tone=tone,
        heading=single_line(result.question or result.experiment_id),
        subtitle=" · ".join(parts),
        figures=tuple(_figures(result, len(report.limits))),
        questions=tuple(_questions(sources, report, [race.word for race in races])),
        sections=tuple(section for section in _sections(sources, report, races) if section.blocks),
        footer=f"Pacenote {sources.version}".strip() + f" · experiment {single_line(result.experiment_id)}",
    )


def shown_races(races: Sequence[ExperimentRace]) -> list[ShownRace]:
    """Returns the races of an experiment as pages show them."""
    return [
        ShownRace(race.race_id, race.variant, _word(race), f"/{race.block or 'warm-up'}", values=race.values)
        for race in races
    ]


def _word(race: ExperimentRace) -> RaceWord:
    if race.outcome != "raced":
        return "failed"
    words: dict[str, RaceWord] = {"valid": "valid", "suspect": "suspect", "void": "void"}
    return words.get(race.verdict, "suspect")


def contenders(result: ExperimentResult) -> list[tuple[str, str, Comparison]]:
    """Returns the names of the sides of each comparison with it: those of contenders or of steps, and last
    that of the confirmation of a ladder.
    """
    comparisons = [
        ("the best before it" if result.design == "ladder" else result.baseline, variant.name, comparison)
        for variant in result.variants
        if (comparison := variant.comparison) is not None
    ]
    if result.confirmation is not None and result.variants:
        comparisons.insert(0, (result.variants[0].name, "the best", result.confirmation))
    return comparisons


def _badge(result: ExperimentResult) -> tuple[str, Tone]:
    """Returns the answer in a word; the state if there is no such word."""
    answer: ComparisonAnswer | None = None
    compared = [variant.comparison for variant in result.variants if variant.comparison]
    if result.confirmation is not None:
        answer = result.confirmation.answer
    elif result.design in PAIRED and len(compared) == 1:
        answer = compared[0].answer
    elif result.is_void:
        answer = "void"
    if answer is not None:
        return answer, TONES[answer]
    return result.state, "good" if result.state in ("complete", "ended early") else "doubtful"


def _figures(result: ExperimentResult, limits: int) -> Iterator[KeyFigure]:
    comparisons = contenders(result)
    best = next((cell for cell in result.cells if cell.is_best and cell.value is not None), None)
    noise = next((one for one in result.noise if one.metric == result.main_metric), None)
    name = main_name(result)
    if result.confirmation is not None or (result.design in PAIRED and len(comparisons) == 1):
        yield from answer_figures(comparisons[0][2], limits - len(comparisons[0][2].findings))
    elif best is not None and best.value is not None:
        unit = f" {whole_line(result.main_metric.unit)}" if result.main_metric else ""
        yield KeyFigure("Best", single_line(best.name), f"{name} {format_number(best.value)}{unit}")
        region = sum(cell.in_best_region for cell in result.cells)
        yield KeyFigure(
            "May be the best", f"{region} of {len(result.cells)}", "configurations, as far as is shown"
        )
    elif noise is not None:
        yield KeyFigure("Spread from race to race", format_share(noise.spread), name)
        seen = dict(noise.detectable).get(10)
        if seen is not None and math.isfinite(seen):
            yield KeyFigure(
                "Seen with 10 blocks", format_share(seen), "smallest change, in 80 % of the cases"
            )
    elif result.design in COMPARING:
        for baseline, contender, comparison in comparisons[:_MOST_CONTENDERS]:
            effect = main_effect(result, comparison, contender)
            if effect is not None:
                interval = interval_text(effect.change)
                detail = f"{effect.word}; {interval}" if interval else effect.word
                label = f"{single_line(contender)} against {single_line(baseline)}"
                yield KeyFigure(label, effect.text, detail, TONES[effect.word])


def _questions(
    sources: ExperimentPageSources, report: ExperimentReport, words: Sequence[RaceWord]
) -> Iterator[Question]:
    result = sources.result
    first = [line for line in report.answers if not line.startswith(" ")]
    others = [line.strip() for line in report.answers if line.startswith(" ")]
    yield Question(_QUESTIONS.get(result.design, "What is the answer?"), tuple(map(Text, first)))
    yield Question("How sure is that?", tuple(Text(sentence(line)) for line in others))
    comparisons = contenders(result)
    comparison = comparisons[0][2] if len(comparisons) == 1 else None
    yield Question(
        "Were the races valid?",
        tuple(race_validity(words, comparison)) if words else (Text("No race has ended."),),
    )
    yield Question("What differed?", tuple(_what_differed(sources, comparison)))
    yield Question("How do I repeat it?", tuple(_repetition(sources, report)))


def _what_differed(sources: ExperimentPageSources, comparison: Comparison | None) -> Iterator[Text]:
    for name, options in sources.settings[:_MOST_VARIANTS]:
        yield Text(f"{single_line(name)}: {whole_line(options) or 'nothing of its own'}")
    more = len(sources.settings) - _MOST_VARIANTS
    if more > 0:
        yield Text(f"And {format_count(more, 'more variant')}, listed below.")
    if comparison is not None and (comparison.differences or not sources.settings):
        yield from main_differences(comparison)
    elif not sources.settings:
        yield Text("Nothing: all races have the same options.")


def _repetition(sources: ExperimentPageSources, report: ExperimentReport) -> Iterator[Text | PageCommand]:
    yield from command_blocks(sources.commands)
    yield from next_blocks(report.next)


def _sections(
    sources: ExperimentPageSources, report: ExperimentReport, races: Sequence[ShownRace]
) -> Iterator[Section]:
    result = sources.result
    yield from design_sections(result)
    comparisons = contenders(result)
    shown = comparisons if result.design in COMPARING else ()
    for number, (baseline, contender, comparison) in enumerate(shown[:_MOST_CONTENDERS]):
        prefix = "" if number == 0 else f"v{number}-"
        title = f"{single_line(contender)} against {single_line(baseline)}"
        rows = MOST_ROWS // min(len(shown), _MOST_CONTENDERS)
        yield Section(f"{prefix}effects", title, tuple(effect_blocks(comparison, prefix, rows)))
    yield Section("races", "Races", tuple(_race_blocks(result, races)))
    yield Section("limits", "What limits the answer", tuple(_limits(report)))
    yield Section("differences", "What differs", tuple(_differences(sources, shown[:_MOST_CONTENDERS])))
    notes = dict.fromkeys(Text(sentence(single_line(note)), "quiet") for note in report.notes)
    notes |= dict.fromkeys(backlog_blocks(each for _, _, each in shown[:_MOST_CONTENDERS]))
    yield Section("notes", "Notes", tuple(notes))


def _race_blocks(result: ExperimentResult, races: Sequence[ShownRace]) -> Iterator[Block]:
    if not races:
        yield Text("No race has ended.")
        return
    named = [variant.name for variant in result.variants]
    raced = dict.fromkeys(race.variant for race in races)
    variants = [*(name for name in named if name in raced), *(name for name in raced if name not in named)]
    yield from race_blocks(races, variants, is_ordered=True)


def _limits(report: ExperimentReport) -> Iterator[Block]:
    if report.limits:
        items = tuple(Item(text, (), "wrong" if text.startswith("void: ") else "") for text in report.limits)
        yield ItemList(format_count(len(items), "reason"), items)


def _differences(
    sources: ExperimentPageSources, shown: Sequence[tuple[str, str, Comparison]]
) -> Iterator[Block]:
    if sources.settings:
        rows = tuple((single_line(name), whole_line(options)) for name, options in sources.settings)
        columns = tuple(PageColumn(head, is_number=False) for head in ("Variant", "Options of its own"))
        yield PageTable("data-variants", "Variants", columns, (RowGroup("", rows),))
    if sources.common:
        yield Text("All races:")
        yield PageCommand(whole_line(sources.common))
    for number, (_, contender, comparison) in enumerate(shown):
        if len(shown) > 1:
            yield Text(f"{single_line(contender)}:")
        yield from difference_blocks(comparison, "" if number == 0 else f"v{number}-")
