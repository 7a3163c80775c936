"""Builds the page of a search for better settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from pacenote.model.comparison import Comparison
from pacenote.model.experiment_result import ExperimentRace
from pacenote.model.printable import single_line, whole_line
from pacenote.model.tune import Knob, TuneAnswer, TuneResult
from pacenote.report.experiment import ExperimentReport
from pacenote.report.page.comparison.build import (
    answer_figures,
    backlog_blocks,
    difference_blocks,
    finding_blocks,
    race_validity,
)
from pacenote.report.page.comparison.effects import effect_blocks
from pacenote.report.page.comparison.races import RaceWord, race_blocks
from pacenote.report.page.experiment.build import shown_races
from pacenote.report.page.page import (
    Block,
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
from pacenote.report.page.tune.history import TuneHistory, history_blocks
from pacenote.report.tune import CONFIRMED, build_tune_report, settings_text
from pacenote.units import format_count, format_seconds

_TONES: Mapping[TuneAnswer, Tone] = {
    **{"better": "good", "probably better": "good", "not shown": "doubtful", "limit broken": "wrong"},
    **{"default": "", "void": "wrong", "none yet": "doubtful"},
}
_VERDICTS: Mapping[str, RaceWord] = {"valid": "valid", "suspect": "suspect", "void": "void"}


class TunePageSources(Struct, frozen=True):
    """What the page of a search is built from."""

    result: TuneResult
    """What it has found."""

    history: TuneHistory = field(default_factory=TuneHistory)
    """Its races."""

    knobs: tuple[Knob, ...] = ()
    """What it may change."""

    confirmation: tuple[ExperimentRace, ...] = ()
    """The races of the confirmation."""

    commands: tuple[tuple[str, str], ...] = ()
    """Commands with their purposes."""

    version: str = ""
    """Version of Pacenote."""


def build_tune_page(sources: TunePageSources) -> ReportPage:
    """Returns the page of a search, however far it is."""
    result = sources.result
    report = build_tune_report(result)
    limits = " and ".join(map(str, result.constraints))
    parts = (
        f"search {single_line(result.tune_id)}",
        format_count(result.races, "race"),
        f"{format_seconds(round(result.seconds))} of a budget of {format_seconds(round(result.budget_s))}",
    )
    comparison = _comparison(result)
    return ReportPage(
        title=single_line(f"{result.tune_id} · {result.answer}"),
        badge=result.answer,
        tone=_TONES[result.answer],
        heading=single_line(f"Better {result.objective.metric}{f', with {limits}' if limits else ''}"),
        subtitle=" · ".join(parts),
        figures=tuple(_figures(result, comparison)),
        questions=tuple(_questions(sources, report, comparison)),
        sections=tuple(section for section in _sections(sources, report, comparison) if section.blocks),
        footer=f"Pacenote {sources.version}".strip() + f" · search {single_line(result.tune_id)}",
    )


def _comparison(result: TuneResult) -> Comparison | None:
    variants = result.confirmation.variants if result.confirmation else ()
    return next((one.comparison for one in variants if one.comparison is not None), None)


def _figures(result: TuneResult, comparison: Comparison | None) -> Iterator[KeyFigure]:
    if result.settings:
        is_confirmed = result.answer in CONFIRMED
        detail = "confirmed in fresh races" if is_confirmed else "the winner of the search"
        yield KeyFigure(
            "Settings", single_line(settings_text(result.settings)), detail, _TONES[result.answer]
        )
    if comparison is not None:
        yield from answer_figures(comparison)
    else:
        tried = len(result.candidates)
        out = sum(bool(one.dropped) for one in result.candidates)
        yield KeyFigure("Candidates", str(tried), f"{out} of them dropped out")


def _questions(
    sources: TunePageSources, report: ExperimentReport, comparison: Comparison | None
) -> Iterator[Question]:
    first = [line for line in report.answers if not line.startswith(" ")]
    others = [line.strip() for line in report.answers if line.startswith(" ")]
    yield Question("Which settings are better?", tuple(map(Text, first)))
    sure = tuple(Text(sentence(line)) for line in others)
    yield Question("How sure is that?", sure or (Text("Not known: nothing is confirmed."),))
    words = [_word(end.verdict, end.outcome == "raced") for end in sources.history.ends]
    words += [race.word for race in shown_races(sources.confirmation)]
    valid = tuple(race_validity(words, comparison)) if words else (Text("No race has ended."),)
    yield Question("Were the races valid?", valid)
    changed = ", ".join(f"{single_line(knob.name)} ({len(knob.levels)})" for knob in sources.knobs)
    tried = format_count(len(sources.result.candidates), "candidate")
    yield Question("What was tried?", (Text(f"{tried} of the values of: {changed or 'unknown knobs'}."),))
    yield Question("How do I use or repeat it?", tuple(_repetition(sources, report)))


def _word(verdict: str, is_raced: bool) -> RaceWord:
    return _VERDICTS.get(verdict, "suspect") if is_raced else "failed"


def _repetition(sources: TunePageSources, report: ExperimentReport) -> Iterator[Text | PageCommand]:
    yield from next_blocks(report.next)
    yield from command_blocks(sources.commands)


def _sections(
    sources: TunePageSources, report: ExperimentReport, comparison: Comparison | None
) -> Iterator[Section]:
    yield Section("search", "Search", tuple(history_blocks(sources.result, sources.history)))
    if comparison is not None:
        yield Section("effects", "Confirmation", tuple(effect_blocks(comparison, "")))
        races = shown_races(sources.confirmation)
        variants = tuple(dict.fromkeys(race.variant for race in races))
        if races:
            ordered = sorted(variants, key=lambda name: name != _baseline(sources.result))
            blocks = tuple(race_blocks(races, ordered, is_ordered=True))
            yield Section("races", "Races of the confirmation", blocks)
        yield Section("limits", "What limits the answer", tuple(finding_blocks(comparison)))
        yield Section("differences", "What differs", tuple(difference_blocks(comparison, "")))
    yield Section("knobs", "Knobs", tuple(_knobs(sources.knobs)))
    notes = dict.fromkeys(Text(sentence(single_line(note)), "quiet") for note in report.notes)
    notes |= dict.fromkeys(backlog_blocks([comparison] if comparison else []))
    yield Section("notes", "Notes", tuple(notes))


def _baseline(result: TuneResult) -> str:
    return result.confirmation.baseline if result.confirmation else ""


def _knobs(knobs: Sequence[Knob]) -> Iterator[Block]:
    rows = tuple(
        (
            single_line(knob.name),
            single_line(knob.option),
            whole_line(", ".join(map(str, knob.values))),
            "" if knob.default is None else single_line(str(knob.default)),
            single_line(knob.source),
        )
        for knob in knobs
    )
    heads = ("Knob", "Sets", "Values", "Default", "Source")
    columns = tuple(PageColumn(head, is_number=False) for head in heads)
    if rows:
        yield PageTable("data-knobs", "What the search may change", columns, (RowGroup("", rows),))
