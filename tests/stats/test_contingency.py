"""Whether two shares differ by more than chance."""

import pytest

from pacenote.stats.contingency import probability_of_chance


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ((3, 4, 1, 4), 34 / 70),  # Fisher's lady who tastes tea.
        ((0, 5, 5, 5), 2 / 252),
        ((4, 4, 0, 8), 1 / 495),
        ((2, 5, 2, 5), 1.0),
        ((0, 3, 0, 7), 1.0),
        ((1, 1, 0, 1), 1.0),
    ],
)
def test_probabilities_are_those_of_all_tables_that_are_not_more_likely(cases, expected):
    assert probability_of_chance(*cases) == pytest.approx(expected)
