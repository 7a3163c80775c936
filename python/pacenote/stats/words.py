"""The words of a comparison: what the interval of a change shows, given the smallest effect that matters.

    interval of the change                         word
    entirely at or beyond the smallest effect      better, worse
    excludes 0                                     probably better, probably worse
    entirely within the smallest effect            same
    otherwise                                      unclear

A metric that is neither better nor worse with higher values has changed or probably changed instead.

"Same" is a result like "worse" and needs as many races: it is said only if the interval proves that the
change is smaller than what matters. It also holds for a change that is certain, but too small to matter.
Source: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", Journal
of Pharmacokinetics and Biopharmaceutics 15, 1987.
"""

from __future__ import annotations

from typing import Protocol

from pacenote.model.comparison import MetricWord

SETTLED: frozenset[MetricWord] = frozenset({"better", "same", "worse", "changed"})
"""Words that more races seldom change."""


class Change(Protocol):
    """A change with its interval: `Effect` or `AbsoluteEffect`."""

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the interval of the change; 0 is no change."""
        ...

    def margin(self, smallest_effect: float) -> float:
        """Returns the change that an effect of this size is, as in `interval`."""
        ...


def word_of(change: Change | None, smallest_effect: float, *, higher_is_better: bool | None) -> MetricWord:
    """Returns the word for a change, or for too few races to have one.

    `smallest_effect` is the smallest effect that matters: of a ratio, relative to the baseline (0.03 is 3 %);
    of a difference, in its unit. A decrease to 1 / 1.03 counts like an increase by 3 %. `higher_is_better` is
    None if neither direction is.
    """
    if not smallest_effect >= 0:
        raise ValueError(f"the smallest effect that matters must be 0 or more, not {smallest_effect}")
    if change is None:
        return "no verdict"
    low, high = change.interval
    margin = change.margin(smallest_effect)
    if higher_is_better is None:
        if (low > 0 and low >= margin) or (high < 0 and high <= -margin):
            return "changed"
        if -margin < low and high < margin:
            return "same"
        return "probably changed" if low > 0 or high < 0 else "unclear"
    if not higher_is_better:
        low, high = -high, -low
    if low > 0 and low >= margin:
        return "better"
    if high < 0 and high <= -margin:
        return "worse"
    if -margin < low and high < margin:
        return "same"
    if low > 0:
        return "probably better"
    return "probably worse" if high < 0 else "unclear"
