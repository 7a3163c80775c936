"""Notes about metrics whose medians move the other way than their estimated change."""

from __future__ import annotations

from collections.abc import Sequence

from pacenote.model.comparison import EstimatedChange, MetricComparison
from pacenote.units import format_change, format_count, format_difference

_SAID = ("better", "probably better", "probably worse", "worse", "changed", "probably changed")

_SHOWN = 3
"""Number of metrics that have a note of their own."""

_WITHIN_BLOCKS = "the change is that within blocks, whose races ran close together, and the blocks differ"
_OF_ALL = "the change is estimated from all values, and medians are those of the races in the middle"


def opposite_median_notes(metrics: Sequence[MetricComparison], *, is_paired: bool) -> list[str]:
    """Returns why the columns of a table contradict each other, for metrics whose medians do: with a verdict
    or, if they decide, with a change and medians that both matter.
    """
    reason = _WITHIN_BLOCKS if is_paired else _OF_ALL
    notes = []
    for metric in metrics:
        if metric.change is not None and _contradicts(metric, metric.change):
            direction = "rises" if metric.contender_value > metric.baseline_value else "falls"
            change = _change_text(metric.change)
            notes.append(
                f"{metric.metric.label}: the median {direction}, although the change is {change}: {reason}"
            )
    more = len(notes) - _SHOWN
    if more > 0:
        notes[_SHOWN:] = [f"the medians of {format_count(more, 'more metric')} move the other way, too"]
    return notes


def _contradicts(metric: MetricComparison, change: EstimatedChange) -> bool:
    moved = metric.contender_value - metric.baseline_value
    if moved * change.value >= 0:
        return False
    limit = metric.smallest_effect if change.is_absolute else metric.smallest_effect * metric.baseline_value
    matters = abs(moved) >= limit and abs(change.value) >= metric.smallest_effect
    return metric.word in _SAID or (metric.word == "unclear" and metric.decides and matters)


def _change_text(change: EstimatedChange) -> str:
    return format_difference(change.value, change.unit) if change.is_absolute else format_change(change.value)
