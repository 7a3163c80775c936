"""The screen of a trend as lines of styled text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.printable import printable, shortened_alike, whole_line
from pacenote.model.trend import Trend, TrendAnswer, TrendEvent
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.report.comparison_rows import BACKLOG_FOOTNOTE
from pacenote.report.comparison_texts import short_metric_name
from pacenote.report.screen.comparison import STYLES
from pacenote.report.screen.layout import MAX_WIDTH, MIN_WIDTH
from pacenote.report.screen.screen import Command
from pacenote.report.screen.text import Line, Span, Style, hanging, shortened
from pacenote.report.trend import (
    ShownFact,
    answer_text,
    badge_text,
    change_sentence,
    changes_of,
    event_title,
    headline_text,
    last_change_text,
    level_text,
    other_texts,
    power_text,
    races_text,
    revision_text,
    shown_facts,
    sparkline,
    tone_of,
    trust_texts,
    verdict_text,
)
from pacenote.units import format_count

_LABEL = 13
"""Width of the labels of the answers."""

_GAP = 2
"""Columns of the terminal between two columns of the table."""

_MIN_SPARKS, _MAX_SPARKS = 10, 30
"""Columns of the terminal that a sparkline has at least and at most."""

_MIN_NAME, _MAX_NAME = 8, 16
"""Columns of the terminal that a metric has at least, and those that a sparkline leaves to it."""

_INDENT = "   "
_FIRST_NUMBER = 2
"""Number of the first column that is aligned to the right."""

_SHOWN_EVENTS = 4
"""Maximum number of events that are shown, the newest ones."""

_SHOWN_FACTS = 6
"""Maximum number of facts of an event that are shown."""

_BLANK: Line = ()

_ANSWER_STYLES: dict[TrendAnswer, Style] = {
    "regression": "bad",
    "earlier regression": "bad",
    "newest races unusable": "bad",
    "last race deviates": "doubtful",
    "no regression": "good",
    "too few races": "doubtful",
}


def trend_lines(trend: Trend, commands: Sequence[Command], width: int) -> list[Line]:
    """Returns the lines of the screen, of which only words that are too long exceed `width`."""
    width = max(MIN_WIDTH, min(width, MAX_WIDTH))
    badge = Span(f" {badge_text(trend).upper()}  ", _ANSWER_STYLES[trend.answer])
    sections = (
        list(hanging(badge, headline_text(trend), width, "title")),
        list(_answers(trend, width)),
        list(_table(trend, width)),
        list(_events(trend, width)),
        list(_commands(commands, width)),
    )
    lines: list[Line] = []
    for section in filter(None, sections):
        lines += [*section, _BLANK]
    return lines[:-1]


def _answers(trend: Trend, width: int) -> Iterator[Line]:
    answers = (
        ("Regression?", [answer_text(trend)]),
        ("What else?", [*other_texts(trend)]),
        ("Resolution", [power_text(trend)]),
        ("Races", [races_text(trend)]),
        ("Limits", [*trust_texts(trend)]),
    )
    for label, texts in answers:
        for number, text in enumerate(filter(None, texts)):
            shown = label if number == 0 else ""
            yield from hanging(Span(f"  {shown:{_LABEL}}", "quiet"), text, width)


def _table(trend: Trend, width: int) -> Iterator[Line]:
    """Yields the metrics by task; those without any value above 0 share a line."""
    is_zero = [bool(each.points) and not any(point.value for point in each.points) for each in trend.metrics]
    zero = [each for each, own in zip(trend.metrics, is_zero, strict=True) if own]
    shown = [each for each, own in zip(trend.metrics, is_zero, strict=True) if not own]
    rows = [
        (short_metric_name(each.metric), level_text(each), last_change_text(each), verdict_text(trend, each))
        for each in shown
    ]
    heads = ("Metric", "Level", "Change", "Verdict")
    if rows:
        widths = _widths([heads, *rows], width, len(trend.races))
        yield _row(("Metric", "Trend", *heads[1:]), widths, "quiet")
        task: str | None = None
        for metric, row in zip(shown, rows, strict=True):
            if metric.metric.task != task:
                task = metric.metric.task
                yield (Span(f" {whole_line(task) or '(whole race)'}", "quiet"),)
            cells = (row[0], sparkline([point.value for point in metric.points], widths[1]), *row[1:])
            yield _row(cells, widths, STYLES[tone_of(metric)])
    if any(BACKLOG_MARK in level for _, level, _, _ in rows):
        yield from hanging(Span(" "), f"{BACKLOG_FOOTNOTE}.", width, "quiet")
    if zero:
        names = ", ".join(dict.fromkeys(whole_line(each.metric.task or each.metric.name) for each in zero))
        yield from hanging(Span(" "), f"no operation failed: {names}", width, "quiet")


def _widths(rows: Sequence[Sequence[str]], width: int, races: int) -> list[int]:
    """Returns the widths of the columns, with that of the sparkline: 0 for those that a narrow screen leaves
    out, first the sparkline, then the level.
    """
    name, *others = (max(len(row[column]) for row in rows) for column in range(len(rows[0])))
    for left_out in (0, 1):
        free = width - len(_INDENT) - sum(others) - _GAP * (len(others) + 1)
        sparks = min(_MAX_SPARKS, races, free - min(name, _MAX_NAME))
        if sparks >= min(_MIN_SPARKS, races):
            return [min(name, free - sparks), sparks, *others]
        if free + _GAP >= name or left_out:
            break
        others[0] = 0
    return [max(_MIN_NAME, min(name, free + _GAP)), 0, *others]


def _row(cells: Sequence[str], widths: Sequence[int], style: Style) -> Line:
    """Returns a line of the table: the values are aligned to the right, the verdict has the style."""
    gap = " " * _GAP
    texts = []
    for column, (cell, width) in enumerate(zip(cells[:-1], widths, strict=False)):
        if width:
            cut = shortened(cell, width)
            texts.append(f"{cut:{width}}{gap}" if column < _FIRST_NUMBER else f"{cut:>{width}}{gap}")
    quiet: Style = "quiet" if style == "quiet" else ""
    return (Span(_INDENT + "".join(texts), quiet), Span(cells[-1], style))


def _events(trend: Trend, width: int) -> Iterator[Line]:
    shown = trend.events[-_SHOWN_EVENTS:]
    if shown:
        yield (Span(" What changed", "title"),)
    for event in reversed(shown):
        yield from _event(trend, event, width)
    if more := len(trend.events) - len(shown):
        yield (Span(f"  and {format_count(more, 'earlier change')}", "quiet"),)


def _event(trend: Trend, event: TrendEvent, width: int) -> Iterator[Line]:
    yield from hanging(Span("  "), event_title(trend, event), width, "title")
    for metric, change in changes_of(trend, event):
        yield from hanging(
            Span(f"    {change.word:16}", STYLES[change.word]), change_sentence(metric, change), width
        )
    here, elsewhere = shown_facts(event)
    if not here and not elsewhere:
        text = "nothing that is recorded differs between both races"
        yield from hanging(Span(f"    {'':16}", "quiet"), text, width, "quiet")
    for number, fact in enumerate(here[:_SHOWN_FACTS]):
        label = "changed here" if number == 0 else ""
        yield from hanging(Span(f"    {label:16}", "quiet"), _fitting(fact, width), width)
    if (more := len(here) - _SHOWN_FACTS) > 0:
        yield (Span(f"    {'':16}and {format_count(more, 'more fact')}", "quiet"),)
    if engine := revision_text(trend, event):
        yield from hanging(Span(f"    {'engine':16}", "quiet"), engine, width)
    if elsewhere:
        verb = "differs" if len(elsewhere) == 1 else "differ"
        text = f"{format_count(len(elsewhere), 'more fact')} {verb} here, but elsewhere, too"
        yield from hanging(Span(f"    {'':16}", "quiet"), text, width, "quiet")


def _fitting(fact: ShownFact, width: int) -> str:
    """Returns a fact whose values are shortened to what a screen has room for."""
    old, new = shortened_alike([fact.old, fact.new], max(20, width - 40 - len(fact.key) // 2))
    return ShownFact(fact.key, old, new).text


def _commands(commands: Sequence[Command], width: int) -> Iterator[Line]:
    for number, command in enumerate(commands):
        label = Span(f" {'Next' if number == 0 else '':{_LABEL}} ", "title")
        purpose = f"   {command.purpose}"
        text = printable(command.text)
        fits = len(label.text) + len(text) + len(purpose) <= width
        yield (label, Span(text), *((Span(purpose, "quiet"),) if fits else ()))
