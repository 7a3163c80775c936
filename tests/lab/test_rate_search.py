"""The search for the highest rate, against engines whose limit is known."""

import random
from collections.abc import Callable

import pytest

from pacenote.lab.rate_search import Range, Try, next_rate, so_far

WITHIN = Range(start=50, lowest=1, highest=100_000)


def search(passes: Callable[[float], bool], within: Range = WITHIN) -> list[Try]:
    tries: list[Try] = []
    while (rate := next_rate(tries, within)) is not None:
        assert within.lowest <= rate <= within.highest
        tries.append(Try(rate, passes(rate)))
        assert len(tries) < 100, "it does not come to an end"
    return tries


@pytest.mark.parametrize("limit", [1.5, 49.0, 50.0, 51.0, 777.0, 99_000.0])
def test_the_interval_holds_the_limit_and_is_narrow(limit: float) -> None:
    tries = search(lambda rate: rate <= limit)
    found = so_far(tries)
    assert found.stable is not None
    assert found.unstable is not None
    assert found.stable <= limit < found.unstable
    assert found.unstable <= found.stable * 1.03
    for end in (found.stable, found.unstable):
        assert sum(one.rate == end for one in tries) == 3


def test_it_stays_within_its_bounds() -> None:
    assert so_far(search(lambda _: True)).stable == 100_000
    assert so_far(search(lambda _: True)).unstable is None
    nothing = so_far(search(lambda _: False))
    assert (nothing.stable, nothing.unstable) == (None, 1)


def test_a_lucky_try_does_not_make_a_rate_stable() -> None:
    seen: list[float] = []

    def lucky_once(rate: float) -> bool:
        seen.append(rate)
        return rate <= 300 or (rate == 400 and seen.count(400.0) == 1)

    found = so_far(search(lucky_once))
    assert found.stable is not None
    assert found.unstable is not None
    assert found.stable <= 300 < found.unstable


def test_an_unlucky_try_is_overcome() -> None:
    seen: list[float] = []

    def unlucky_once(rate: float) -> bool:
        seen.append(rate)
        return rate <= 1000 and not (rate == 200 and seen.count(200.0) == 1)

    found = so_far(search(unlucky_once))
    assert found.stable is not None
    assert found.stable <= 1000 < (found.unstable or 0) <= found.stable * 1.03


def test_an_engine_that_is_unsure_around_its_limit_gets_an_interval_around_it() -> None:
    chance = random.Random(3)
    for _ in range(50):
        found = so_far(search(lambda rate: rate < 900 or (rate < 1100 and chance.random() < 0.5)))
        assert found.stable is not None
        assert found.unstable is not None
        assert found.stable < 1100
        assert found.unstable >= 900
