"""Whether groups of races were interleaved."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from pacenote.stats.interleaving import probability_of_at_most, run_order

START = datetime(2026, 3, 1, tzinfo=UTC)


def order(letters: str) -> str:
    sides = {
        letter: [START + timedelta(hours=at) for at, own in enumerate(letters) if own == letter]
        for letter in "BC"
    }
    return run_order(sides["B"], sides["C"])


@pytest.mark.parametrize("letters", ["BC", "BBCC", "BBBCCC", "BBBBBBCCCCCC"])
def test_groups_that_ran_one_after_the_other_are_not_interleaved(letters: str) -> None:
    assert order(letters) == "baseline first"
    assert order(letters.translate(str.maketrans("BC", "CB"))) == "contender first"


@pytest.mark.parametrize("letters", ["BBBBBBCCCCCCB", "BBBBBCCCCCB", "BBBBCCCCCCB"])
def test_one_late_race_does_not_interleave_them(letters: str) -> None:
    assert order(letters) == "baseline first"


@pytest.mark.parametrize("letters", ["BCCB", "BCBCBCBC", "BCCBBCCB", "BCCBCBBCBC"])
def test_races_that_alternate_are_interleaved(letters: str) -> None:
    assert order(letters) == "mixed"


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2), (4, 4), (5, 3)])
def test_the_probability_is_the_share_of_all_orders(first: int, second: int) -> None:
    orders = list(itertools.combinations(range(first + second), first))
    for later in range(first * second + 1):
        counts = [
            sum(place > other for place in places for other in range(first + second) if other not in places)
            for places in orders
        ]
        expected = sum(count <= later for count in counts) / len(orders)
        assert probability_of_at_most(later, first, second) == pytest.approx(expected)


def test_the_probability_of_many_races_is_that_of_few() -> None:
    assert probability_of_at_most(190, 21, 21) == pytest.approx(probability_of_at_most(172, 20, 20), abs=0.03)
