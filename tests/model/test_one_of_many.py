"""One out of each so many values represents them."""

from statistics import fmean

import pytest

from pacenote.model.one_of_many import OneOfMany


@pytest.mark.parametrize("step", [1, 2, 10])
def test_one_out_of_each_step_is_drawn(step: int) -> None:
    many = OneOfMany(step, "seed")
    drawn = [many.takes_next() for _ in range(100 * step)]
    assert all(sum(drawn[at : at + step]) == 1 for at in range(0, len(drawn), step))
    again = OneOfMany(step, "seed")
    assert drawn == [again.takes_next() for _ in drawn]


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_few_values_are_represented_by_the_first(seed: str) -> None:
    assert OneOfMany(100, seed).takes_next()


@pytest.mark.parametrize("period", [2, 3, 4, 10])
def test_values_that_recur_are_represented(period: int) -> None:
    many = OneOfMany(4, "seed")
    values = [number % period for number in range(40_000) if many.takes_next()]
    assert fmean(values) == pytest.approx((period - 1) / 2, rel=0.05)


def test_twice_as_many_values_are_represented_by_one() -> None:
    many = OneOfMany(2, "seed")
    many.double()
    assert sum(many.takes_next() for _ in range(400)) == 100
    assert {many.one_of_two() for _ in range(50)} == {0, 1}
