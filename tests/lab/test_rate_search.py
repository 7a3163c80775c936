"""The search for the highest rate, with simulated engines whose limit is known."""

import itertools
import random
from collections.abc import Callable

import pytest

from pacenote.lab.rate_search import (
    MAX_IDLE_TRIALS,
    RateBracket,
    RateRange,
    RateSearch,
    RateTrial,
    find_bracket,
    has_slowed_down,
    next_rate,
    rates_that_failed_later,
)

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


def passing(outcomes: dict[float, list[bool]], otherwise: Callable[[float], bool]) -> Callable[[float], bool]:
    """Returns the outcomes of these rates in turn, and those of other rates or further trials."""
    return lambda rate: outcomes[rate].pop(0) if outcomes.get(rate) else otherwise(rate)


def test_trials_that_disagree_up_to_the_highest_rate_are_not_an_answer() -> None:
    """The trials of 640 and 800 disagree; 800 is the highest rate."""
    within = RateRange(start=320, lowest=1, highest=800, precision=0.5)
    outcomes = {640: [True, False], 800: [False, True, False]}
    trials = search(passing(outcomes, lambda rate: rate < 640), within)
    bracket = find_bracket(trials)
    assert (round(bracket.stable or 0), bracket.unstable, bracket.disputed) == (453, None, (640, 800))
    assert sum(trial.rate == 800 for trial in trials) == 3


def test_the_gap_below_trials_that_disagree_is_searched() -> None:
    within = RateRange(start=400, lowest=1, highest=800)
    trials = search(passing({800: [True, False, True]}, lambda rate: rate < 790), within)
    bracket = find_bracket(trials)
    assert bracket.stable is not None
    assert (bracket.stable <= 790, bracket.unstable or 800) == (True, pytest.approx(790, rel=0.03))


def test_trials_of_the_lowest_rate_that_disagree_leave_the_search_without_an_answer() -> None:
    within = RateRange(start=2, lowest=1, highest=4)
    trials = search(passing({1: [False, True, False], 2: [False, True]}, lambda _: False), within)
    assert find_bracket(trials).stable is None
    assert 1 in find_bracket(trials).disputed
    always = itertools.cycle([True, False])
    alternating = find_bracket(search(lambda _: next(always), RateRange(start=1, lowest=1, highest=1)))
    assert alternating == RateBracket(None, None, (1,))


def test_rates_that_passed_before_the_engine_became_slower_are_stated() -> None:
    """The engine meets the objective for five trials, and at no rate afterwards."""
    trials = itertools.count(1)
    tried = search(lambda _: next(trials) <= 5, RateRange(start=40, lowest=5, highest=1000, precision=0.5))
    bracket = find_bracket(tried)
    passed = (40, 80, 160, 320, 640)
    assert (bracket.stable, bracket.unstable, bracket.passed_above) == (None, 5, passed)
    assert rates_that_failed_later(tried) == passed
    assert has_slowed_down(tried)


def test_an_engine_whose_outcomes_vary_has_not_become_slower() -> None:
    slower = [RateTrial(rate, passed) for passed in (True, False) for rate in (10, 20, 30)]
    failed = RateTrial(5, False)
    assert has_slowed_down([*slower, failed])
    assert not has_slowed_down(slower)
    assert not has_slowed_down([*slower, failed, RateTrial(20, True)])
    assert not has_slowed_down([*(trial for trial in slower if trial.rate != 20), failed])


def test_random_outcomes_near_the_limit_give_a_bracket_around_it() -> None:
    rng = random.Random(3)
    for _ in range(50):
        bracket = find_bracket(search(lambda rate: rate < 900 or (rate < 1100 and rng.random() < 0.5)))
        assert bracket.stable is not None
        assert bracket.unstable is not None
        assert bracket.stable < 1100
        assert bracket.unstable >= 900


def search_with_progress(passes: Callable[[float, int], bool], within: RateRange = WITHIN) -> RateSearch:
    """Searches until it ends; `passes` has the rate and the number of trials so far as its arguments."""
    rates = RateSearch(within)
    while (rate := rates.next_rate()) is not None:
        rates.add(RateTrial(rate, passes(rate, len(rates.trials))))
        assert len(rates.trials) < 150, "the search has not ended after 150 trials"
    return rates


@pytest.mark.parametrize("limit", [1.5, 50.0, 777.0, 99_000.0])
def test_a_search_for_the_limit_of_an_engine_that_does_not_change_makes_progress(limit: float) -> None:
    rate_search = search_with_progress(lambda rate, _: rate <= limit)
    assert not rate_search.has_stalled
    assert rate_search.bracket() == find_bracket(search(lambda rate: rate <= limit))


@pytest.mark.parametrize("factor", [0.95, 0.97])
def test_a_search_on_an_engine_that_becomes_slower_and_slower_ends_without_an_interval(factor: float) -> None:
    rate_search = search_with_progress(lambda rate, trials: rate <= 20_000 * factor**trials)
    bracket = rate_search.bracket()
    assert rate_search.has_stalled
    assert bracket.stable is None or bracket.unstable is None
    assert bracket.disputed or bracket.passed_above


def test_rates_that_a_stalled_search_has_tried_often_enough_count() -> None:
    """Trials above 400 alternate, so that 400 is tried again and again, but not as often as required."""
    outcomes = itertools.cycle([True, False])
    within = RateRange(start=400, lowest=1, highest=800, repeats=40)
    rate_search = search_with_progress(lambda rate, _: rate <= 400 or next(outcomes), within)
    assert rate_search.has_stalled
    assert len(rate_search.trials) <= MAX_IDLE_TRIALS + 10
    assert rate_search.bracket() == RateBracket(None, None, rate_search.bracket().disputed)
    assert rate_search.bracket().disputed
