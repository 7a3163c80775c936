"""The word for each position of an interval between 0 and the smallest effect that matters."""

import math

import pytest

from pacenote.model.comparison import MetricWord
from pacenote.stats.effect import Effect, paired_effect
from pacenote.stats.words import word_of

OPPOSITE: dict[MetricWord, MetricWord] = {
    "better": "worse",
    "probably better": "probably worse",
    "same": "same",
    "unclear": "unclear",
    "probably worse": "probably better",
    "worse": "better",
}


def effect(low: float, high: float) -> Effect:
    """An effect whose interval is from `low` to `high`, as ratios."""
    middle, half = math.log(low * high) / 2, math.log(high / low) / 2
    change = Effect(middle, half / 1.959964, 1e9, 5, paired=True, drift_excluded=True)
    assert (change.low, change.high) == pytest.approx((low, high))
    return change


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.04, 1.10, "better"),
        (1.0301, 1.10, "better"),
        (1.02, 1.10, "probably better"),
        (1.001, 1.031, "probably better"),
        (1.001, 1.02, "same"),
        (0.98, 1.02, "same"),
        (0.98, 0.99, "same"),
        (0.98, 1.05, "unclear"),
        (0.50, 2.00, "unclear"),
        (0.95, 1.01, "unclear"),
        (0.95, 0.99, "probably worse"),
        (0.90, 0.95, "worse"),
    ],
)
def test_words(low: float, high: float, word: MetricWord) -> None:
    assert word_of(effect(low, high), 0.03, higher_is_better=True) == word
    assert word_of(effect(low, high), 0.03, higher_is_better=False) == OPPOSITE[word]
    swapped = effect(1 / high, 1 / low)
    assert word_of(swapped, 0.03, higher_is_better=True) == OPPOSITE[word]


def test_one_race_each_has_no_verdict() -> None:
    assert word_of(paired_effect((100.0,), (120.0,)), 0.03, higher_is_better=True) == "no verdict"


def test_without_a_smallest_effect_every_certain_change_matters() -> None:
    assert word_of(effect(1.0001, 1.001), 0, higher_is_better=True) == "better"
    assert word_of(effect(0.999, 1.001), 0, higher_is_better=True) == "unclear"


@pytest.mark.parametrize("smallest", [-0.01, math.nan])
def test_a_smallest_effect_that_is_not_a_size_is_rejected(smallest: float) -> None:
    with pytest.raises(ValueError, match="the smallest effect that matters must be 0 or more"):
        word_of(None, smallest, higher_is_better=True)
