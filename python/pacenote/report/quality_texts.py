"""What a comparison says of quality: which quality metrics became worse, changed, or are not decided."""

from __future__ import annotations

from collections.abc import Sequence

from pacenote.model.comparison import WORSE_WORDS, Comparison, MetricComparison
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import whole_line
from pacenote.report.comparison_texts import change_of, metric_name
from pacenote.units import format_count, format_number

_NAMED = 3
"""Number of metrics that a sentence names."""

_CHANGED = ("changed", "probably changed")
_SAID = ("better", "probably better", *_CHANGED)
_NOT_SHOWN = ("unclear", "no verdict", "void")


def quality_text(comparison: Comparison) -> str:
    """Returns what is said of the quality metrics, in one line: first which became worse, then which changed
    otherwise or are not decided, then how many are the same; empty without quality metrics.
    """
    quality = [each for each in comparison.metrics if each.role == "quality"]
    worse = [each for each in quality if each.word in WORSE_WORDS]
    said = [each for each in quality if each.word in _SAID]
    open_ = [each for each in quality if each.word in _NOT_SHOWN]
    same = [each for each in quality if each.word == "same"]
    parts = [_listed(group) for group in (worse, said) if group]
    if open_:
        parts.append(f"not decided: {_listed(open_)}")
    if same:
        parts.append(
            f"{metric_name(same[0])} does not differ by what matters"
            if len(same) == 1
            else f"{format_count(len(same), 'quality metric')} do not differ by what matters"
        )
    return whole_line("; ".join(parts))


def _listed(metrics: Sequence[MetricComparison]) -> str:
    return list_with_rest([_said(each) for each in metrics], _NAMED)


def _said(metric: MetricComparison) -> str:
    values = f"{format_number(metric.baseline_value)} → {format_number(metric.contender_value)}"
    verb = "" if metric.word in _CHANGED else "is "
    said = "" if metric.word in _NOT_SHOWN else f" {verb}{metric.word}"
    return f"{metric_name(metric)}{said}: {values}, {change_of(metric)}"
