"""The rows of a comparison: Rally's columns, then the estimated change and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.comparison import (
    MAX_CHANGE,
    Comparison,
    EstimatedChange,
    MergedPercentileChange,
    MetricComparison,
    PercentileShift,
)
from pacenote.model.printable import whole_line
from pacenote.model.trend import TrendPoint
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.units import format_change, format_difference, format_share, with_unit

RALLY_COLUMNS = ("Metric", "Task", "Baseline", "Contender", "Diff", "Unit", "Diff %")
"""The columns of Rally's table."""

OTHER_COLUMNS = ("Change", "Interval", "Detectable", "Verdict")
"""The columns that Rally does not have."""

SHIFTS = "how precisely the two races measured themselves, but not how much another race would differ"
"""What the intervals of `PercentileShift` show."""

MERGED = (
    "all operations of the races of each side together. They describe and do not decide, because the "
    "operations of one race are not independent of each other"
)
"""What `MergedPercentileChange` shows."""

BACKLOG_FOOTNOTE = (
    f"{BACKLOG_MARK} This latency includes the backlog of the warm-up in a race: it describes the warm-up, "
    "too, and decides nothing"
)
"""Explains the mark of a latency."""

_DIFF_DECIMALS, _PERCENT_DECIMALS = 5, 2


class ComparisonRow(Struct, frozen=True):
    """One metric as texts, except for its values."""

    metric: str
    """Its name."""

    task: str
    """Name of its task; empty for a metric of the race."""

    baseline: float
    """Its median over the races of the baseline."""

    contender: float
    """Its median over the races of the contender."""

    diff: str
    """The difference of the medians as in Rally's table."""

    unit: str
    """Its unit."""

    diff_percent: str
    """The relative difference of the medians as in Rally's table."""

    change: str
    """The estimated change; empty without one."""

    interval: str
    """The interval of the change; empty without one."""

    detectable: str
    """The smallest effect that would have been seen; empty if it is unknown."""

    verdict: str
    """The word; of a metric that does not decide in parentheses."""

    is_primary: bool
    """Whether it takes part in the answer."""

    mark: str
    """`BACKLOG_MARK` for a latency that includes the backlog of the warm-up in a race; otherwise empty."""


def comparison_rows(comparison: Comparison) -> Iterator[ComparisonRow]:
    """Yields one row for each metric, in the order of Rally's table."""
    for metric in comparison.metrics:
        yield ComparisonRow(
            metric=metric.metric.name,
            task=whole_line(metric.metric.task),
            baseline=metric.baseline_value,
            contender=metric.contender_value,
            diff=_signed(metric.contender_value - metric.baseline_value, _DIFF_DECIMALS),
            unit=whole_line(metric.metric.unit),
            diff_percent=_diff_percent(metric),
            change=change_text(metric.change),
            interval=interval_text(metric.change),
            detectable=detectable_text(metric.change),
            verdict=metric.word if metric.decides else f"({metric.word})",
            is_primary=metric.role == "primary",
            mark=backlog_mark(metric),
        )


def backlog_mark(figure: MetricComparison | MergedPercentileChange | TrendPoint) -> str:
    """Returns the mark of a latency that includes the backlog of the warm-up, or empty text."""
    return BACKLOG_MARK if figure.has_backlog else ""


def marked_name(metric: MetricComparison | MergedPercentileChange) -> str:
    """Returns the name of a metric in tables: with its mark if it has one."""
    return f"{metric.metric.name} {backlog_mark(metric)}".rstrip()


def backlog_footnote(
    comparison: Comparison, shown: Iterable[MetricComparison | MergedPercentileChange]
) -> str:
    """Returns the sentence that explains the mark, or empty text if nothing that is shown has it, or if a
    finding of the comparison explains it.
    """
    is_explained = any(finding.text.startswith(BACKLOG_MARK) for finding in comparison.findings)
    return BACKLOG_FOOTNOTE if any(map(backlog_mark, shown)) and not is_explained else ""


def _diff_percent(metric: MetricComparison) -> str:
    old, new = metric.baseline_value, metric.contender_value
    # As in Rally, there is no relative difference to 0.
    return _signed((new - old) / old * 100 if old else 0.0, _PERCENT_DECIMALS) + "%"


def _signed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return f"+{text}" if value >= 10**-decimals else text


def change_text(change: EstimatedChange | None) -> str:
    """Returns the estimated change, such as `+8.2 %`, or empty text."""
    if change is None:
        return ""
    return format_difference(change.value, change.unit) if change.is_absolute else format_change(change.value)


def interval_text(change: EstimatedChange | None) -> str:
    """Returns the interval of a change, such as `+6.9 … +9.5 %`, or empty text."""
    if change is None:
        return ""
    if change.is_absolute:
        high = "∞" if change.high is None else f"{change.high:+.3g}"
        return with_unit(f"{change.low:+.3g} … {high}", change.unit)
    high = "∞" if change.known_high is None else format_change(change.known_high)
    return f"{format_change(change.low).removesuffix(' %')} … {high}"


def alone_text(change: EstimatedChange) -> str:
    """Returns the interval of a change as if no other metric decided."""
    alone = change.alone
    return interval_text(change if alone is None else replace(change, low=alone.low, high=alone.high))


def shift_text(shift: PercentileShift) -> str:
    """Returns the interval that the operations of one race each give a percentile: `+1.2 … +1.9 %`."""
    low = "-100" if shift.low is None else format_change(shift.low).removesuffix(" %")
    high = "∞" if shift.high is None else format_change(shift.high)
    return f"{low} … {high}"


def detectable_text(change: EstimatedChange | None) -> str:
    """Returns the smallest effect that would have been seen, such as `1.2 %`, or empty text."""
    if change is None or change.detectable is None or change.detectable > MAX_CHANGE:
        return ""
    if change.is_absolute:
        return with_unit(f"{change.detectable:.2g}", change.unit)
    return format_share(change.detectable)
