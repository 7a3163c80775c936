"""Builds the page of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pacenote.model.comparison import Comparison, FactDifference
from pacenote.model.finding import Finding, name_tasks
from pacenote.model.printable import shortened, single_line, whole_line
from pacenote.report.comparison_differences import shown_differences
from pacenote.report.comparison_rows import backlog_footnote, detectable_text, interval_text
from pacenote.report.comparison_texts import (
    amount_text,
    answer_text,
    certainty_text,
    group_text,
    main_metric,
    metric_name,
    next_text,
    order_text,
    races_text,
    shown_change,
    times_text,
    trust_text,
)
from pacenote.report.page.comparison.effects import TONES, effect_blocks
from pacenote.report.page.comparison.races import RaceWord, compared_races, race_blocks
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
from pacenote.report.quality_texts import quality_text
from pacenote.report.trend import capitalized
from pacenote.units import format_count

SIDES = ("Baseline", "Contender")
"""Names of the sides of a comparison."""

_MOST_VALUE = 200
_MOST_NAMED = 4


class ComparisonPageSources(Struct, frozen=True):
    """What the page of a comparison is built from."""

    comparison: Comparison
    """The comparison."""

    commands: tuple[tuple[str, str], ...] = ()
    """Commands with their purposes, the first of which makes this comparison again."""

    version: str = ""
    """Version of Pacenote."""


def build_comparison_page(sources: ComparisonPageSources) -> ReportPage:
    """Returns the page of a comparison."""
    comparison = sources.comparison
    races = compared_races(comparison, SIDES)
    sections = (
        Section("effects", "Effects", (*effect_blocks(comparison, ""), *backlog_blocks([comparison]))),
        Section("races", "Races", tuple(race_blocks(races, SIDES, is_ordered=bool(order_text(comparison))))),
        Section("limits", "What limits the answer", tuple(finding_blocks(comparison))),
        Section("differences", "What differs", tuple(difference_blocks(comparison, ""))),
    )
    names = [single_line(name) for name in (comparison.baseline.track, comparison.baseline.challenge) if name]
    return ReportPage(
        title=f"Comparison · {comparison.answer}",
        badge=comparison.answer,
        tone=TONES[comparison.answer],
        heading=" / ".join(names) or "Comparison",
        subtitle=f"{_count(comparison)}, {comparison.design}",
        figures=tuple(answer_figures(comparison)),
        questions=(
            Question("Is the contender better?", tuple(_answer(comparison))),
            Question("How sure is that?", tuple(certainty(comparison))),
            Question(
                "Were the races valid?", tuple(race_validity([race.word for race in races], comparison))
            ),
            Question("What differed?", tuple(main_differences(comparison))),
            Question("How do I repeat it?", tuple(_repetition(sources))),
        ),
        sections=tuple(section for section in sections if section.blocks),
        footer=f"Pacenote {sources.version}".strip(),
    )


def _count(comparison: Comparison) -> str:
    old, new = len(comparison.baseline.races), len(comparison.contender.races)
    return f"{format_count(old, 'race')} of the baseline, {new} of the contender"


def answer_figures(comparison: Comparison, others: int = 0) -> Iterator[KeyFigure]:
    """Yields the change of the metric that says most, what would have been seen, and how many reasons limit
    the answer; `others` is the number of those besides the findings.
    """
    main = main_metric(comparison)
    for metric in comparison.worse_quality[:1] if comparison.answer != "void" else ():
        if metric is not main:
            detail = f"interval {interval_text(metric.change)}"
            yield KeyFigure(
                capitalized(metric_name(metric)), shown_change(metric), detail, TONES[metric.word]
            )
    if main is not None and comparison.answer != "void":
        interval = interval_text(main.change)
        of = races_text(comparison, main)
        detail = f"interval {interval}, from {of}" if interval else f"no interval from {of}"
        name = metric_name(main)
        yield KeyFigure(capitalized(name), shown_change(main), detail, TONES[main.word])
        if seen := detectable_text(main.change):
            yield KeyFigure("Smallest detectable change", seen, "seen in 80 % of such comparisons")
    limits = len(comparison.findings) + others
    text = format_count(limits, "reason") if limits else "none"
    detail = "to take care, listed below" if limits else "nothing was found that limits the answer"
    is_void = comparison.answer in ("void", "partly void")
    yield KeyFigure("Limits", text, detail, "wrong" if is_void else "doubtful" if limits else "good")


def _answer(comparison: Comparison) -> Iterator[Text]:
    if comparison.worse_quality:
        yield Text(sentence(quality_text(comparison)), "doubtful")
    text = answer_text(comparison)
    yield Text(sentence(text))
    if amount := amount_text(comparison):
        yield Text(sentence(amount))


def certainty(comparison: Comparison) -> Iterator[Text]:
    """Yields how sure an answer is, whether it can be trusted, and what to do next."""
    if text := certainty_text(comparison):
        yield Text(sentence(text))
    trust = trust_text(comparison)
    yield Text(f"Can it be trusted? {sentence(trust)}")
    if following := next_text(comparison):
        yield Text(f"Next: {following}.")


def race_validity(words: Sequence[RaceWord], comparison: Comparison | None) -> Iterator[Text]:
    """Yields how many races are valid, and the first reasons why some must not be compared."""
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    if set(counts) == {"valid"}:
        yield Text(f"Yes, all {len(words)}.")
    else:
        listed = ", ".join(f"{count} {word}" for word, count in counts.items())
        yield Text(f"Not all of them: {listed}.", "doubtful")
    voiding = [each for each in (comparison.findings if comparison else ()) if each.makes_doubtful]
    yield from (Text(f"{finding_text(each)}.") for each in voiding[:2])


def main_differences(comparison: Comparison) -> Iterator[Text]:
    """Yields the facts that differ, the first ones by name."""
    facts = shown_differences(comparison.differences)
    if not facts:
        yield Text("Nothing that was recorded.")
        return
    for fact in facts[:_MOST_NAMED]:
        old, new = _values(fact)
        yield Text(f"{single_line(fact.key)}: {old} → {new}")
    more = len(facts) - _MOST_NAMED
    if more > 0:
        yield Text(f"And {format_count(more, 'more fact')}, listed below.")


def _values(difference: FactDifference) -> tuple[str, str]:
    old, new = (
        shortened(whole_line(", ".join(values)), _MOST_VALUE) or "–"
        for values in (difference.baseline, difference.contender)
    )
    return old, new


def _repetition(sources: ComparisonPageSources) -> Iterator[Text | PageCommand]:
    yield from command_blocks(sources.commands)
    if not sources.commands:
        yield Text("Not known.")


def finding_text(finding: Finding) -> str:
    """Returns a finding in one line, without what to do."""
    text = f"{name_tasks(finding.tasks)}: {finding.text}" if finding.tasks else capitalized(finding.text)
    return whole_line(text)


def backlog_blocks(comparisons: Iterable[Comparison]) -> Iterator[Text]:
    """Yields what the mark of a latency means, once, if effects have it and findings do not explain it."""
    footnotes = (backlog_footnote(each, each.metrics) for each in comparisons)
    yield from (Text(sentence(text), "quiet") for text in dict.fromkeys(footnotes) if text)


def finding_blocks(comparison: Comparison) -> Iterator[Block]:
    """Yields what limits an answer, and what could not be compared."""
    items = tuple(
        Item(
            finding_text(each),
            (("Try", whole_line(each.advice)),) if each.advice else (),
            "wrong" if each.makes_doubtful else "",
        )
        for each in comparison.findings
    )
    if items:
        void = sum(each.makes_doubtful for each in comparison.findings)
        title = format_count(len(items), "reason")
        yield ItemList(
            f"{title}, of which {void} {'makes' if void == 1 else 'make'} metrics void" if void else title,
            items,
        )
    yield from (Text(f"{whole_line(note)}.", "quiet") for note in comparison.notes)


def difference_blocks(comparison: Comparison, prefix: str) -> Iterator[Block]:
    """Yields both sides, and all facts that differ; `prefix` begins the id of the table."""
    sides = (
        (name, group) for name, group in zip(SIDES, (comparison.baseline, comparison.contender), strict=True)
    )
    yield FactList(
        tuple(
            (name, ", ".join(filter(None, (group_text(group, comparison), times_text(group)))))
            for name, group in sides
        )
    )
    facts = shown_differences(comparison.differences)
    if not facts:
        yield Text("Nothing that was recorded differs.")
        return
    rows = tuple(
        (PageCell(single_line(each.area)), PageCell(single_line(each.key)), *_values(each)) for each in facts
    )
    columns = tuple(PageColumn(head, is_number=False) for head in ("Area", "Fact", *SIDES))
    caption = f"{format_count(len(rows), 'fact')} that {'differs' if len(rows) == 1 else 'differ'}"
    yield PageTable(f"{prefix}data-differences", caption, columns, (RowGroup("", rows),), is_sortable=True)
