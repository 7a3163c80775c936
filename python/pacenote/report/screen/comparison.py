"""The last screen of a comparison as lines of styled text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pacenote.figures.percentiles import PRIMARY_PERCENTILES
from pacenote.model.comparison import (
    WORSE_WORDS,
    Comparison,
    ComparisonAnswer,
    MetricComparison,
    MetricWord,
)
from pacenote.model.finding import Finding, name_tasks
from pacenote.model.printable import shortened_alike, whole_line
from pacenote.report.comparison_differences import shown_differences
from pacenote.report.comparison_rows import (
    SHIFTS,
    backlog_footnote,
    change_text,
    detectable_text,
    interval_text,
    shift_text,
)
from pacenote.report.comparison_texts import (
    amount_text,
    answer_sentence,
    answer_text,
    certainty_text,
    group_text,
    metric_name,
    next_text,
    order_text,
    short_name,
    shown_change,
    smallest_effects_text,
    trust_text,
)
from pacenote.report.quality_texts import quality_text
from pacenote.report.screen.layout import MAX_WIDTH, MIN_WIDTH
from pacenote.report.screen.screen import Command
from pacenote.report.screen.text import Line, Span, Style, hanging, shortened
from pacenote.units import format_count, format_number

_LABEL = 11
"""Width of the labels of the answers."""

_GAP = 2
"""Columns of the terminal between two columns of the table."""

_SHOWN_FACTS = 6
"""Maximum number of facts that differ that are shown."""

_MIN_VALUE = 30
"""Columns of the terminal that the value of a fact has at least."""

_SHOWN_SECONDARY = 5
"""Maximum number of secondary metrics that are shown."""

_AREAS = {
    area: order for order, area in enumerate(("Race", "Tasks", "Machine", "Kernel", "Disks", "Network"))
}
"""Areas of facts that are shown first, because facts of engine and JVM often follow from the options."""

_SHOWN_PRIMARY = 24
"""Maximum number of primary metrics that are shown."""

_RANKS: Mapping[MetricWord, int] = {
    "worse": 0,
    "better": 1,
    "probably worse": 2,
    "probably better": 3,
    "changed": 4,
    "probably changed": 5,
    "unclear": 6,
}
"""The order in which words are shown, if there is not enough room for all metrics."""

_MIN_TASK = 12
"""Columns of the terminal that the names of tasks have at least."""

_BLANK: Line = ()

STYLES: Mapping[ComparisonAnswer, Style] = {
    **{"better": "good", "probably better": "good", "same": "title", "unclear": "doubtful"},
    **{"probably worse": "bad", "worse": "bad", "mixed": "doubtful", "void": "bad", "no verdict": "doubtful"},
    **{"partly void": "doubtful", "changed": "doubtful", "probably changed": "doubtful"},
}
"""The styles of words."""

_DROPPED = ((6,), (2, 3), (0,))
"""Columns that a narrow screen leaves out, in this order: the detectable effect, both values, and the task,
which then has a line of its own.
"""


def comparison_lines(
    comparison: Comparison, commands: Sequence[Command], width: int, height: int | None = None
) -> list[Line]:
    """Returns the lines of the screen, of which only words that are too long exceed `width`. If they are more
    than `height`, the answers are repeated at the end.
    """
    width = max(MIN_WIDTH, min(width, MAX_WIDTH))
    sections = (
        list(_headline(comparison, width)),
        [*_answers(comparison, width), *_sides(comparison, width)],
        list(_table(_shown_quality(comparison), width, "Quality")),
        [*_table(comparison.primary, width), *_shifts(_shifted(comparison), width)],
        [*_secondary(comparison, width), *_backlog(comparison, width)],
        list(_findings(comparison.findings, width)),
        list(_differences(comparison, width)),
        list(_commands(commands, width)),
    )
    lines: list[Line] = []
    for section in filter(None, sections):
        lines += [*section, _BLANK]
    if height is not None and len(lines) > height:
        return [*lines, *_headline(comparison, width), *_answers(comparison, width, reasons="above")]
    return lines[:-1]


def _headline(comparison: Comparison, width: int) -> Iterator[Line]:
    badge, _, rest = answer_sentence(comparison).partition(": ")
    yield from hanging(Span(f" {badge.upper()}  ", STYLES[comparison.answer]), rest, width, "title")


def _answers(comparison: Comparison, width: int, reasons: str = "below") -> Iterator[Line]:
    """Yields the answers; `reasons` says where the findings are."""
    answers = (
        ("Quality", quality_text(comparison)),
        ("Better?", answer_text(comparison)),
        ("How much?", amount_text(comparison)),
        ("How sure?", certainty_text(comparison)),
        ("Trust it?", trust_text(comparison).replace("below", reasons)),
        (
            "What next?",
            next_text(comparison).replace("below", reasons)
            or "nothing: more races seldom change this answer",
        ),
    )
    return _labelled(answers, width)


def _sides(comparison: Comparison, width: int) -> Iterator[Line]:
    texts = (
        ("Baseline", group_text(comparison.baseline, comparison)),
        ("Contender", group_text(comparison.contender, comparison)),
        ("Order", order_text(comparison) if comparison.design != "one race each" else ""),
    )
    return _labelled(texts, width)


def _labelled(texts: Iterable[tuple[str, str]], width: int) -> Iterator[Line]:
    for label, text in texts:
        if text:
            yield from hanging(Span(f"  {label:{_LABEL}}", "quiet"), text, width)


def _shown_quality(comparison: Comparison) -> list[MetricComparison]:
    """Returns the quality metrics, those that became worse first."""
    quality = [each for each in comparison.metrics if each.role == "quality"]
    return sorted(quality, key=lambda each: each.word not in WORSE_WORDS)


def _table(metrics: Sequence[MetricComparison], width: int, title: str = "") -> Iterator[Line]:
    """Yields metrics below a title; error rates of 0 share a line."""
    if title and metrics:
        yield (Span(f" {title}", "title"),)
    without_errors = [each for each in metrics if each.metric.kind == "error rate" and each.is_zero]
    others = [each for each in metrics if each not in without_errors]
    shown = _most_telling(others)
    heads = ("Task", "Metric", "Baseline", "Contender", "Change", "Interval", "Detectable", "Verdict")
    if shown:
        rows = [heads, *(_cells(each) for each in shown)]
        widths = [
            max(len(row[column]) for row in rows) if any(row[column] for row in rows[1:]) else 0
            for column in range(len(heads))
        ]
        widths = _fitted(widths, width - 1)
        yield tuple(_row(heads, widths, "quiet"))
        task = ""
        for metric, row in zip(shown, rows[1:], strict=True):
            if not widths[0] and row[0] != task:
                task = row[0]
                yield (Span(f" {task}", "quiet"),)
            yield tuple(_row(row, widths, STYLES[metric.word]))
    if len(others) > len(shown):
        counts = Counter(each.word for each in others if each not in shown)
        listed = ", ".join(f"{count} {word}" for word, count in counts.items())
        yield from hanging(Span(" "), f"and {len(others) - len(shown)} more: {listed}", width, "quiet")
    text = smallest_effects_text(others)
    yield from hanging(Span(" "), text, width, "quiet") if text else ()
    for metric in shown:
        if metric.change is not None and metric.reason:
            yield from hanging(Span(" "), f"{metric_name(metric)}: {metric.reason}", width, "quiet")
    if without_errors:
        names = ", ".join(dict.fromkeys(whole_line(each.metric.task) for each in without_errors))
        yield from hanging(Span(" "), f"no operation failed: {names}", width, "quiet")


def _shifted(comparison: Comparison) -> list[MetricComparison]:
    """Returns the percentiles of one race each of the tasks that decide, also those that do not decide."""
    tasks = {each.metric.task for each in comparison.primary}
    return [
        each
        for each in comparison.metrics
        if each.shift is not None and each.metric.task in tasks and each.metric.q in PRIMARY_PERCENTILES
    ]


def _shifts(metrics: Sequence[MetricComparison], width: int) -> Iterator[Line]:
    """Yields how precise the changes of percentiles of one race each are by the operations of the races."""
    shifts: dict[str, list[str]] = {}
    for metric in metrics:
        if metric.shift is not None:
            time = f"{whole_line(metric.metric.task)}, {short_name(metric).partition(' ')[2]}"
            shifts.setdefault(time, []).append(f"p{metric.metric.q:g} {shift_text(metric.shift)}")
    if shifts:
        yield from hanging(Span(" "), f"{SHIFTS}:", width, "quiet")
    for time, texts in shifts.items():
        yield from hanging(Span("   "), f"{time}: {', '.join(texts)}", width, "quiet")


def _most_telling(metrics: Sequence[MetricComparison]) -> list[MetricComparison]:
    """Returns as many metrics as a screen has room for, in their order: those that changed, then undecided
    ones.
    """
    ranked = sorted(range(len(metrics)), key=lambda index: _RANKS.get(metrics[index].word, len(_RANKS)))
    return [metrics[index] for index in sorted(ranked[:_SHOWN_PRIMARY])]


def _cells(metric: MetricComparison) -> tuple[str, ...]:
    unit = f" {whole_line(metric.metric.unit)}"
    return (
        whole_line(metric.metric.task),
        short_name(metric),
        format_number(metric.baseline_value),
        format_number(metric.contender_value) + unit,
        shown_change(metric),
        interval_text(metric.change),
        detectable_text(metric.change),
        metric.word,
    )


def _fitted(widths: list[int], width: int) -> list[int]:
    """Returns the widths of the columns, 0 for those that are left out."""
    for columns in _DROPPED:
        if _total(widths) - max(0, widths[0] - _MIN_TASK) <= width:
            widths[0] -= max(0, _total(widths) - width)
            break
        widths = [0 if column in columns else each for column, each in enumerate(widths)]
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [each for each in widths if each]
    return sum(shown) + _GAP * (len(shown) - 1)


def _row(cells: Sequence[str], widths: Sequence[int], style: Style) -> Iterator[Span]:
    """Yields the cells of a line. The last one has the style; in the heading (`quiet`), all have it."""
    yield Span(" " if widths[0] else "   ")
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        if width:
            is_text = column in (0, 1, len(cells) - 1)
            text = shortened(cell, width)
            own: Style = style if style == "quiet" or column == len(cells) - 1 else ""
            yield Span(f"{text:{width}}" if is_text else f"{text:>{width}}", own)
            yield Span(" " * _GAP)


def _secondary(comparison: Comparison, width: int) -> Iterator[Line]:
    """Yields the secondary metrics that changed, without colour: they do not decide."""
    # Other figures of a throughput that decides say the same.
    decided = {each.metric.task for each in comparison.primary if each.metric.kind == "throughput"}
    others = [
        each
        for each in comparison.metrics
        if each.role == "secondary" and not (each.metric.kind == "throughput" and each.metric.task in decided)
    ]
    moved = [each for each in others if each.word not in ("same", "unclear", "void", "no verdict")]
    if not any(each.change for each in others):
        return
    if not moved:
        text = f"{format_count(len(others), 'secondary metric')}: none is said to have changed"
    else:
        named = [
            f"{metric_name(each)} {change_text(each.change)} ({each.word})"
            for each in moved[:_SHOWN_SECONDARY]
        ]
        more = f" and {len(moved) - len(named)} more" if len(moved) > len(named) else ""
        count = f"{len(moved)} of {format_count(len(others), 'secondary metric')} changed"
        text = f"{count}: {', '.join(named)}{more}"
    yield from hanging(Span(" "), whole_line(text), width, "quiet")


def _backlog(comparison: Comparison, width: int) -> Iterator[Line]:
    """Yields what the mark of a latency means, if the table shows it."""
    if text := backlog_footnote(comparison, _most_telling(comparison.primary)):
        yield from hanging(Span(" "), f"{text}.", width, "quiet")


def _findings(findings: Sequence[Finding], width: int) -> Iterator[Line]:
    if findings:
        yield (Span(" What limits the answer", "title"),)
    advice = ""
    for finding in findings:
        tasks = name_tasks(finding.tasks)
        text = whole_line(f"{tasks}: {finding.text}" if tasks else finding.text)
        badge = Span("  void  ", "bad") if finding.makes_doubtful else Span("  !     ", "doubtful")
        yield from hanging(badge, f"{text}.", width)
        if finding.advice and finding.advice != advice:
            yield from hanging(Span("        "), whole_line(f"Try: {finding.advice}."), width, "quiet")
        advice = finding.advice


def _differences(comparison: Comparison, width: int) -> Iterator[Line]:
    differences = shown_differences(comparison.differences)
    if differences:
        yield (Span(" What differs", "title"),)
    ordered = sorted(differences, key=lambda each: _AREAS.get(each.area, len(_AREAS)))
    for difference in ordered[:_SHOWN_FACTS]:
        values = [whole_line(", ".join(own)) or "–" for own in (difference.baseline, difference.contender)]
        old, new = shortened_alike(values, max(_MIN_VALUE, (width - len(difference.key) - 8) // 2))
        yield from hanging(Span("  "), whole_line(f"{difference.key}: {old} → {new}"), width)
    more = len(differences) - _SHOWN_FACTS
    if more > 0:
        yield (Span(f"  and {format_count(more, 'more fact')}", "quiet"),)
    for note in comparison.notes:
        yield from hanging(Span("  "), whole_line(note), width, "quiet")


def _commands(commands: Sequence[Command], width: int) -> Iterator[Line]:
    for number, command in enumerate(commands):
        label = Span(f" {'Next' if number == 0 else '':{_LABEL - 1}}", "title")
        purpose = f"   {command.purpose}"
        fits = len(label.text) + len(command.text) + len(purpose) <= width
        yield (label, Span(command.text), *((Span(purpose, "quiet"),) if fits else ()))
