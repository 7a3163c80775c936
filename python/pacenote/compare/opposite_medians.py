"""Notes about metrics whose medians move the other way than their estimated change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.comparison import MetricComparison
from pacenote.units import format_change

_SAID = ("better", "probably better", "probably worse", "worse")

_WITHIN_BLOCKS = "the change is that within blocks, whose races ran close together, and the blocks differ"
_OF_ALL = "the change is estimated from all values, and medians are those of the races in the middle"


def opposite_median_notes(metrics: Sequence[MetricComparison], *, is_paired: bool) -> Iterator[str]:
    """Yields why the columns of a table contradict each other, for each metric with a verdict whose medians
    do.
    """
    for each in metrics:
        moved = each.contender_value - each.baseline_value
        if each.word not in _SAID or each.change is None or moved * each.change.value >= 0:
            continue
        yield (
            f"{each.metric.label}: the median {'rises' if moved > 0 else 'falls'}, although the change is "
            f"{_shown(each)}: {_WITHIN_BLOCKS if is_paired else _OF_ALL}"
        )


def _shown(each: MetricComparison) -> str:
    value = each.change.value if each.change else 0.0
    return (
        f"{value:+.3g} {each.metric.unit}"
        if each.change and each.change.is_absolute
        else format_change(value)
    )
