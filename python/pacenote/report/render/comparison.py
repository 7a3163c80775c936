"""Comparisons with one baseline as Markdown, CSV and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pacenote.model.comparison import (
    COMPARISON_FORMAT,
    Comparison,
    FactDifference,
    MetricComparison,
    RaceGroup,
)
from pacenote.model.finding import Finding
from pacenote.model.output_text import csv_text, json_text
from pacenote.model.printable import whole_line
from pacenote.report.comparison_differences import shown_differences
from pacenote.report.comparison_rows import (
    MERGED,
    OTHER_COLUMNS,
    RALLY_COLUMNS,
    SHIFTS,
    backlog_footnote,
    backlog_mark,
    comparison_rows,
    marked_name,
    shift_text,
)
from pacenote.report.comparison_texts import (
    answer_sentence,
    group_text,
    order_text,
    smallest_effects_text,
    times_text,
    trust_text,
)
from pacenote.report.formatting import format_value
from pacenote.report.quality_texts import quality_text
from pacenote.report.render.markdown import escape, pipe_table
from pacenote.report.rows import Alignment
from pacenote.units import format_change

_NUMBERS = (2, 3, 4, 6)
"""Indices of the columns that `--report-numbers-align` applies to."""


def render_comparisons(comparisons: Mapping[str, Comparison], align: Alignment = "decimal") -> str:
    """Returns comparisons by contender as Markdown; several have a heading each that names them."""
    if len(comparisons) == 1:
        (only,) = comparisons.values()
        return render_comparison(only, align)
    texts = []
    for name, comparison in comparisons.items():
        text = re.sub("^#", "##", render_comparison(comparison, align), flags=re.MULTILINE)
        texts.append(f"# Contender {escape(whole_line(name))}\n\n{text}")
    return "\n".join(texts)


def render_comparison(comparison: Comparison, align: Alignment = "decimal") -> str:
    """Returns the answer, what limits it, what differs, and all metrics as GitHub-flavoured Markdown that
    ends in a newline.
    """
    lines = [f"# {escape(answer_sentence(comparison))}", ""]
    facts = (
        ("Baseline", _group(comparison.baseline, comparison)),
        ("Contender", _group(comparison.contender, comparison)),
        ("Quality", quality_text(comparison)),
        ("Design", comparison.design),
        ("Order", order_text(comparison)),
        ("Trust", trust_text(comparison)),
    )
    lines += [f"- {label}: {escape(text)}" for label, text in facts if text]
    lines += _list("What limits it", map(_finding_line, comparison.findings))
    lines += _list("What differs", map(_difference_line, shown_differences(comparison.differences)))
    lines += _list("Notes", (escape(whole_line(note)) for note in comparison.notes))
    rows = [
        [
            *(
                f"{row.metric} {row.mark}".rstrip(),
                row.task,
                format_value(row.baseline),
                format_value(row.contender),
                row.diff,
                row.unit,
            ),
            *(row.diff_percent, row.change, row.interval, row.detectable, row.verdict),
        ]
        for row in comparison_rows(comparison)
    ]
    if rows:
        table = pipe_table((*RALLY_COLUMNS, *OTHER_COLUMNS), rows, align, _NUMBERS)
        lines += ["", "## Metrics", "", table, "", *_footnotes(comparison)]
    lines += _shifts(comparison, align)
    lines += _merged(comparison, align)
    if text := backlog_footnote(comparison, (*comparison.metrics, *comparison.merged_percentiles)):
        lines += ["", f"{text}."]
    return "\n".join([*lines, ""])


def _shifts(comparison: Comparison, align: Alignment) -> list[str]:
    """Returns how percentiles of one race each changed, as precise as the operations of the races make it."""
    shifts = [(each.metric, each.shift) for each in comparison.metrics if each.shift is not None]
    if not shifts:
        return []
    rows = [
        [metric.name, whole_line(metric.task), format_change(shift.value), shift_text(shift)]
        for metric, shift in shifts
    ]
    table = pipe_table(("Percentile", "Task", "Change", "95 % interval"), rows, align, (2,))
    return ["", "## Percentiles", "", table, "", f"The intervals show {SHIFTS}."]


def _merged(comparison: Comparison, align: Alignment) -> list[str]:
    """Returns the percentiles of all operations of each side."""
    rows = [
        [
            *(marked_name(each), whole_line(each.metric.task)),
            *(format_value(each.baseline), format_value(each.contender), each.metric.unit),
            "" if each.relative_change is None else format_change(each.relative_change),
        ]
        for each in comparison.merged_percentiles
    ]
    if not rows:
        return []
    heads = ("Percentile", "Task", "Baseline", "Contender", "Unit", "Change")
    table = pipe_table(heads, rows, align, (2, 3, 5))
    return ["", "## Merged percentiles", "", table, "", f"These are percentiles of {MERGED}."]


def _group(group: RaceGroup, comparison: Comparison) -> str:
    return ", ".join(part for part in (group_text(group, comparison), times_text(group)) if part)


def _list(title: str, items: Iterable[str]) -> list[str]:
    shown = list(items)
    return ["", f"## {title}", "", *(f"- {item}" for item in shown)] if shown else []


def _finding_line(finding: Finding) -> str:
    return f"{'**void**: ' if finding.makes_doubtful else ''}{escape(whole_line(str(finding)))}"


def _difference_line(difference: FactDifference) -> str:
    old, new = (", ".join(values) or "–" for values in (difference.baseline, difference.contender))
    return escape(whole_line(f"{difference.key}: {old} → {new}"))


def _footnotes(comparison: Comparison) -> Iterator[str]:
    medians = "" if comparison.design == "one race each" else "Values are medians of the races. "
    yield f"{medians}Verdicts in parentheses are those of secondary metrics."
    if text := smallest_effects_text(comparison.primary):
        yield ""
        yield f"{text[0].upper()}{text[1:]}."
    if any(each.change for each in comparison.metrics):
        yield ""
        yield (
            "*Change* is the estimate with its interval; *Detectable* is the smallest effect that would have "
            "been seen with a probability of 80 %."
        )


def render_comparisons_csv(comparisons: Mapping[str, Comparison], *, full: bool = False) -> str:
    """Returns Rally's columns of comparisons by contender as CSV text; with `full`, also changes and
    verdicts. If there are several, the first column names the contender.
    """
    columns = (*RALLY_COLUMNS, *_FULL_COLUMNS) if full else RALLY_COLUMNS
    if len(comparisons) == 1:
        (only,) = comparisons.values()
        return csv_text([columns, *_rows(only, full)])
    rows = ((name, *row) for name, each in comparisons.items() for row in _rows(each, full))
    return csv_text([("Contender races", *columns), *rows])


def _rows(comparison: Comparison, full: bool) -> Iterator[tuple[object, ...]]:
    for row, metric in zip(comparison_rows(comparison), comparison.metrics, strict=True):
        rallys = (row.metric, row.task, row.baseline, row.contender, row.diff, row.unit, row.diff_percent)
        yield (*rallys, *_full_values(metric)) if full else rallys


_FULL_COLUMNS = (
    "Role",
    "Verdict",
    "Change",
    "Low",
    "High",
    "Confidence",
    "P",
    "Detectable",
    "Reason",
    "Mark",
)


def _full_values(metric: MetricComparison) -> tuple[object, ...]:
    change = metric.change
    numbers: Sequence[object] = (
        ("",) * 6
        if change is None
        else (change.value, change.low, change.high, change.confidence, change.p, change.detectable)
    )
    return (metric.role, metric.word, *numbers, metric.reason, backlog_mark(metric))


def render_comparisons_json(comparisons: Mapping[str, Comparison]) -> str:
    """Returns a comparison as one JSON object, or several in a list of one; docs/reference/comparison.md
    describes it.
    """
    if len(comparisons) == 1:
        (only,) = comparisons.values()
        return json_text(only.to_document())
    documents = [{"name": name, **each.to_document()} for name, each in comparisons.items()]
    return json_text({"format": COMPARISON_FORMAT, "comparisons": documents})
