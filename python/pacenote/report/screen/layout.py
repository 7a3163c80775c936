"""Arranges the last screen of a race for a width, as lines of styled text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pacenote.model.finding import Cause, Finding
from pacenote.report.screen.columns import table_lines
from pacenote.report.screen.screen import Answer, Command, Headline, Limit, Paragraph, Screen, StoredRace
from pacenote.report.screen.text import (
    Line,
    Span,
    Style,
    hanging,
    joined_phrases,
    left,
    plain_text,
    shortened,
    text_width,
)

MIN_WIDTH, MAX_WIDTH = 60, 140
"""Widths between which the screen adapts to that of the terminal."""

_LABEL = 10
"""Width of the labels of paragraphs."""

_BLANK: Line = ()

_STATES: Mapping[str, Style] = {"valid": "good", "suspect": "doubtful", "void": "bad"}

_CAUSES: Mapping[Cause, str] = {
    "engine": "the engine",
    "driver": "the driver",
    "machine": "this machine",
    "track": "the track",
    "code": "the track's Python code",
    "pacenote": "Pacenote",
}
"""How causes are named; others are clear from the text, or unknown."""


def lay_out(screen: Screen, width: int, height: int | None = None) -> list[Line]:
    """Returns the lines of a screen, of which only words that are too long exceed `width`. If they are more
    than `height`, the last one sums them up.
    """
    width = max(MIN_WIDTH, min(width, MAX_WIDTH))
    tables = table_lines(screen, width)
    sections: list[list[Line]] = [
        _headline(screen.headline, width),
        list(_answers(screen.answers, width)),
        list(_findings(screen, width)),
        list(_errors(screen.errors, width)),
        list(_limits(screen.limits, width)),
        *tables,
        list(_footnotes(screen.footnotes, tables, width)),
        *_paragraphs(screen.paragraphs, width),
        closing_lines(screen.results, screen.commands, width),
    ]
    lines: list[Line] = []
    for section in filter(None, sections):
        lines += [*section, _BLANK]
    if height is not None and len(lines) > height:
        return [*lines, *hanging(Span(" "), screen.summary, width, _style(screen.headline))]
    return lines[:-1]


def closing_lines(race: StoredRace, commands: Sequence[Command], width: int) -> list[Line]:
    """Returns the lines that state where a race is stored and which commands the user may enter next."""
    return [*_results(race, width), *_commands(commands, width)]


def _headline(headline: Headline, width: int) -> list[Line]:
    badge = Span(f" {headline.badge.upper():7}  ", _style(headline))
    line = f"{headline.race}    {headline.duration}".rstrip()
    if len(badge.text) + text_width(line) <= width:
        return [(badge, Span(line, "title"))]
    lines = hanging(badge, headline.race, width, "title")
    if headline.duration:
        lines.append((Span(" " * len(badge.text)), Span(headline.duration, "title")))
    return lines


def _style(headline: Headline) -> Style:
    return "doubtful" if headline.badge == "running" else _STATES[headline.state]


def _answers(answers: Sequence[Answer], width: int) -> Iterator[Line]:
    """Yields the answers in two columns; an answer that does not fit into one has a line of its own."""
    label = max((len(answer.label) for answer in answers), default=0) + 2
    half = (width - 2) // 2
    waiting: Line | None = None
    for answer in answers:
        style: Style = "bad" if answer.is_wrong else ""
        spans = (Span(f"  {answer.label:{label}}", "quiet"), Span(answer.text, style))
        if 2 + label + text_width(answer.text) + 2 > half:
            yield from () if waiting is None else (waiting,)
            yield from hanging(spans[0], answer.text, width, style)
            waiting = None
        elif waiting is None:
            waiting = (spans[0], Span(left(answer.text, half - 2 - label), style))
        else:
            yield (*waiting, *spans)
            waiting = None
    if waiting is not None:
        yield waiting


def _findings(screen: Screen, width: int) -> Iterator[Line]:
    if not screen.findings:
        return
    style = _style(screen.headline)
    title = " So far" if screen.headline.badge == "running" else f" Why {screen.headline.state}"
    yield (Span(title, "title"),)
    advised: dict[str, list[Finding]] = {}
    for finding in screen.findings:
        # Reasons with the same advice follow each other; those without any keep their place.
        advised.setdefault(_advice(finding) or str(finding), []).append(finding)
    for findings in advised.values():
        for finding in findings:
            yield from hanging(Span("  ! ", style), f"{_subject(finding)}{finding.text}.", width)
            if len(finding.tasks) > 1:
                yield from hanging(Span("    "), f"{', '.join(finding.tasks)}.", width)
        if advice := _advice(findings[0]):
            yield from hanging(Span("    "), advice, width, "quiet")


def _subject(finding: Finding) -> str:
    if not finding.tasks:
        return ""
    return f"{finding.tasks[0]}: " if len(finding.tasks) == 1 else f"{len(finding.tasks)} tasks: "


def _advice(finding: Finding) -> str:
    cause = _CAUSES.get(finding.cause)
    parts = (f"Cause: {cause}." if cause else "", f"Try: {finding.advice}." if finding.advice else "")
    return " ".join(part for part in parts if part)


def _errors(errors: Sequence[str], width: int) -> Iterator[Line]:
    if errors:
        yield (Span(" Errors", "title"),)
    for text in errors:
        yield from hanging(Span("  ! ", "bad"), text, width)


def _limits(limits: Sequence[Limit], width: int) -> Iterator[Line]:
    """Yields a line for each limit, in the longest form that fits."""
    if limits:
        yield (Span(" What limited it", "title"),)
    room = width - 4
    for limit in limits:
        fitting = (form for form in limit.forms if text_width(form) <= room)
        yield (Span("  - ", "quiet"), Span(next(fitting, None) or shortened(limit.forms[-1], room)))


def _footnotes(footnotes: Sequence[str], tables: Sequence[list[Line]], width: int) -> Iterator[Line]:
    """Yields the footnotes whose marks are in a column that is shown."""
    shown = "".join(map(plain_text, tables))
    for note in footnotes:
        mark, _, text = note.partition(" ")
        if mark in shown:
            yield from hanging(Span(f"   {mark} ", "quiet"), text, width, "quiet")


def _paragraphs(paragraphs: Sequence[Paragraph], width: int) -> Iterator[list[Line]]:
    for paragraph in paragraphs:
        texts = [text for group in paragraph.groups for text in joined_phrases(group, width - _LABEL)]
        yield [
            (Span(f" {paragraph.label if number == 0 else '':{_LABEL - 1}}", "title"), Span(text))
            for number, text in enumerate(texts)
        ]


def _results(race: StoredRace, width: int) -> Iterator[Line]:
    label = Span(f" {'Results':{_LABEL - 1}}", "title")
    if len(label.text) + text_width(race.folder) + len(race.description) + 4 <= width:
        yield (label, Span(race.folder), Span(f"  ({race.description})", "quiet"))
        return
    yield (label, Span(race.folder))
    yield (Span(" " * len(label.text)), Span(race.description, "quiet"))


def _commands(commands: Sequence[Command], width: int) -> Iterator[Line]:
    longest = max((len(command.text) for command in commands), default=0)
    left = width - _LABEL - longest - 3
    for number, command in enumerate(commands):
        label = Span(f" {'Next' if number == 0 else '':{_LABEL - 1}}", "title")
        purpose = command.purpose if len(command.purpose) <= left else ""
        yield (label, Span(f"{command.text:{longest}}"), Span(f"   {purpose}", "quiet"))
