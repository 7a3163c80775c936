"""The search for the highest rate, with simulated engines whose limit is known."""

import random
from collections.abc import Callable

import pytest

from pacenote.lab.rate_search import RateRange, RateTrial, find_bracket, next_rate

WITHIN = RateRange(start=50, lowest=1, highest=100_000)


def search(passes: Callable[[float], bool], within: RateRange = WITHIN) -> list[RateTrial]:
    trials: list[RateTrial] = []
    while (rate := next_rate(trials, within)) is not None:
        assert within.lowest <= rate <= within.highest
        trials.append(RateTrial(rate, passes(rate)))
        assert len(trials) < 100, "the search has not ended after 100 trials"
    return trials


@pytest.mark.parametrize("limit", [1.5, 49.0, 50.0, 51.0, 777.0, 99_000.0])
def test_the_bracket_contains_the_limit_and_is_narrow(limit: float) -> None:
    trials = search(lambda rate: rate <= limit)
    bracket = find_bracket(trials)
    assert bracket.stable is not None
    assert bracket.unstable is not None
    assert bracket.stable <= limit < bracket.unstable
    assert bracket.unstable <= bracket.stable * 1.03
    for end in (bracket.stable, bracket.unstable):
        assert sum(trial.rate == end for trial in trials) == 3


def test_the_search_stays_within_its_range() -> None:
    assert find_bracket(search(lambda _: True)).stable == 100_000
    assert find_bracket(search(lambda _: True)).unstable is None
    nothing = find_bracket(search(lambda _: False))
    assert (nothing.stable, nothing.unstable) == (None, 1)


def test_one_lucky_trial_does_not_make_a_rate_stable() -> None:
    seen: list[float] = []

    def lucky_once(rate: float) -> bool:
        seen.append(rate)
        return rate <= 300 or (rate == 400 and seen.count(400.0) == 1)

    bracket = find_bracket(search(lucky_once))
    assert bracket.stable is not None
    assert bracket.unstable is not None
    assert bracket.stable <= 300 < bracket.unstable


def test_one_unlucky_trial_does_not_end_the_search() -> None:
    seen: list[float] = []

    def unlucky_once(rate: float) -> bool:
        seen.append(rate)
        return rate <= 1000 and not (rate == 200 and seen.count(200.0) == 1)

    bracket = find_bracket(search(unlucky_once))
    assert bracket.stable is not None
    assert bracket.stable <= 1000 < (bracket.unstable or 0) <= bracket.stable * 1.03


def test_random_outcomes_near_the_limit_give_a_bracket_around_it() -> None:
    rng = random.Random(3)
    for _ in range(50):
        bracket = find_bracket(search(lambda rate: rate < 900 or (rate < 1100 and rng.random() < 0.5)))
        assert bracket.stable is not None
        assert bracket.unstable is not None
        assert bracket.stable < 1100
        assert bracket.unstable >= 900
