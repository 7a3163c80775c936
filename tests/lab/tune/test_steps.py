"""What comes next in a search, from its journal alone."""

import math

import pytest

from lab.tune.searches import RACE_S, knob, limit, search_plan
from pacenote.lab.tune import steps
from pacenote.lab.tune.progress import TuneProgress
from pacenote.lab.tune.steps import (
    MAX_CANDIDATES,
    Choose,
    Confirm,
    EndBlock,
    Race,
    Stop,
    Suggest,
    best_candidate,
    next_step,
    reserved_seconds,
)
from pacenote.model.tune import DEFAULT, TuneEvent


def ended(candidate, block, objective=100.0, **changes):
    own = {"outcome": "raced", "seconds": RACE_S, "objective": objective, "verdict": "valid"}
    return TuneEvent(event="ended", at="t", candidate=candidate, block=block, **own | changes)


def begun(**changes):
    """Returns a search after the races before the first block; the first of them installed the engine."""
    state = TuneProgress(search_plan(**changes))
    state.apply(TuneEvent(event="suggested", at="t", candidates=next_step(state).candidates))
    state.apply(ended(DEFAULT, 0, seconds=9 * RACE_S))
    state.apply(ended(DEFAULT, 0))
    return state


def apply(state, step):
    """Applies a step that races nothing."""
    if isinstance(step, Suggest):
        event = TuneEvent(event="suggested", at="t", candidates=step.candidates, block=state.judged)
    elif isinstance(step, EndBlock):
        event = TuneEvent(event="judged", at="t", block=step.block, dropped=step.dropped)
    else:
        event = TuneEvent(event="chosen", at="t", candidate=step.candidate, text=step.reason)
    state.apply(event)


def raced(state, blocks, value):
    """Races whole blocks; `value` has candidate and block."""
    while state.judged < blocks:
        step = next_step(state)
        if isinstance(step, Race):
            state.apply(ended(step.candidate, step.block, value(step.candidate, step.block)))
        elif isinstance(step, Choose):
            return step
        else:
            apply(state, step)
    return next_step(state)


def by_candidate(*levels):
    """Returns values that hardly vary."""
    return lambda one, block: 100 * levels[one] * (1 + 0.001 * math.sin(7 * one + 3 * block))


def test_the_default_races_first_and_alone():
    state = TuneProgress(search_plan())
    step = next_step(state)
    assert [(one.number, one.levels, one.origin) for one in step.candidates] == [(0, (0, 0), "default")]
    apply(state, step)
    step = next_step(state)
    assert (step.candidate, step.block) == (DEFAULT, 0)
    # A race that was interrupted is repeated with the same seed.
    state.apply(ended(DEFAULT, 0, None, outcome="interrupted"))
    assert next_step(state) == step
    state.apply(ended(DEFAULT, 0))
    assert next_step(state) == step
    state.apply(ended(DEFAULT, 0))
    assert isinstance(next_step(state), Suggest)


def test_the_budget_decides_how_many_candidates_race():
    knobs = (knob("a", 9), knob("b", 9))
    # 80 races: the first two took the time of ten, 24 are reserved, and the others are 4 blocks.
    assert len(next_step(begun(knobs=knobs)).candidates) == 11 - 1
    assert len(next_step(begun(knobs=knobs, budget_s=60 * RACE_S)).candidates) == 6 - 1
    assert len(next_step(begun(knobs=knobs, budget_s=1e6)).candidates) == MAX_CANDIDATES - 1
    assert len(next_step(begun(knobs=(knob("a", 3),), budget_s=1e6)).candidates) == 2
    step = next_step(begun(budget_s=30 * RACE_S))
    assert isinstance(step, Stop)
    assert step.reason == (
        "the budget of 5 min is too small: 1 min 40 s are used, a race takes 10 s here, and a search with "
        "its confirmation needs at least 36 more races, 7 min 40 s in all"
    )
    # What it asks for is enough.
    assert isinstance(next_step(begun(budget_s=460)), Suggest)
    assert isinstance(next_step(begun(budget_s=459)), Stop)


def test_first_candidates_differ_and_are_spread_over_the_levels():
    candidates = next_step(begun(knobs=(knob("a", 3), knob("b", 4)), budget_s=1e6)).candidates
    levels = [one.levels for one in candidates]
    assert len({*levels, (0, 0)}) == 12
    assert {one[0] for one in levels} == {0, 1, 2}
    assert {one[1] for one in levels} == {0, 1, 2, 3}
    assert [one.number for one in candidates] == list(range(1, 12))


def test_each_block_races_every_candidate_once_with_one_seed_in_its_own_order():
    state = begun(knobs=(knob("a", 4),))
    apply(state, next_step(state))
    orders, seeds = [], set()
    for block in (1, 2, 3):
        order = []
        while isinstance(step := next_step(state), Race):
            assert step.block == block
            order.append(step.candidate)
            seeds.add((step.block, step.seed))
            state.apply(ended(step.candidate, block))
        assert sorted(order) == [0, 1, 2, 3]
        orders.append(tuple(order))
        apply(state, step)
    assert len(set(orders)) > 1
    assert len(seeds) == 3


def test_weaker_candidates_drop_out_and_the_default_never_does():
    state = begun(knobs=(knob("a", 4),))
    raced(state, 3, by_candidate(0.8, 1.0, 0.9, 1.0))
    assert set(state.dropped) == {2}
    assert state.dropped[2].p < 0.05
    assert DEFAULT in state.active


def test_suggested_candidates_take_the_places_of_those_that_drop_out():
    state = begun(knobs=(knob("a", 5), knob("b", 4)), budget_s=200 * RACE_S)
    apply(state, next_step(state))
    count = len(state.active)
    step = raced(state, 3, lambda one, block: by_candidate(*[1.0] * 6, *[0.8] * 6)(one, block))
    assert isinstance(step, Suggest)
    assert step == next_step(state)
    assert {one.origin for one in step.candidates} == {"suggested"}
    assert len(step.candidates) + len(state.active) == count
    known = {one.levels for one in state.candidates.values()}
    assert not known & {one.levels for one in step.candidates}
    apply(state, step)
    assert isinstance(next_step(state), Race)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"objective": None, "outcome": "failed", "text": "no such heap"}, "no such heap"),
        ({"limits": (80.0,)}, "it breaks the limit p99:s < 50 ms: 80"),
        ({"objective": None}, "2 races failed or void"),
    ],
)
def test_candidates_that_cannot_win_drop_out(event, reason):
    state = begun(knobs=(knob("a", 4),), constraints=(limit("p99:s", 50.0),))
    apply(state, next_step(state))
    while 2 not in state.dropped:
        step = next_step(state)
        if isinstance(step, Race):
            own = {"limits": (10.0,)} | (event if step.candidate == 2 else {})
            state.apply(ended(step.candidate, step.block, **{"objective": 100.0} | own))
        else:
            apply(state, step)
    assert state.dropped[2].text == reason
    assert set(state.dropped) == {2}


def test_what_meets_the_default_too_drops_no_candidate():
    state = begun(knobs=(knob("a", 4),))
    apply(state, next_step(state))
    for candidate in state.active:
        state.apply(ended(candidate, 1, None, outcome="failed", text="port in use"))
    assert next_step(state) == EndBlock(1, ())


def test_a_candidate_that_perhaps_breaks_a_limit_drops_no_other():
    state = begun(knobs=(knob("a", 3),), constraints=(limit("p99:s", 50.0),))
    apply(state, next_step(state))
    for block, p99 in ((1, 30.0), (2, 60.0), (3, 90.0)):
        for candidate, value in ((0, 100.0), (1, 150.0), (2, 120.0)):
            noise = 1 + 0.001 * math.sin(7 * candidate + 3 * block)
            state.apply(ended(candidate, block, value * noise, limits=(p99 if candidate == 1 else 10.0,)))
        step = next_step(state)
        apply(state, step)
    # The default is weaker than both, and never drops out.
    assert step == EndBlock(3, ())


def test_no_block_begins_that_needs_the_reserve():
    state = begun(knobs=(knob("a", 4),), budget_s=60 * RACE_S)
    assert reserved_seconds(state) == pytest.approx(24 * RACE_S)
    step = raced(state, 50, by_candidate(1.0, 1.0, 1.0, 1.0))
    assert isinstance(step, Choose)
    assert step.reason == "the rest of the budget belongs to the confirmation"
    assert state.seconds <= 36 * RACE_S
    assert state.seconds + 4 * RACE_S > 36 * RACE_S


def test_a_slow_winner_reserves_more():
    state = begun(knobs=(knob("a", 4),))
    apply(state, next_step(state))
    for candidate in range(4):
        state.apply(ended(candidate, 1, 100.0 + candidate, seconds=(1 + candidate) * RACE_S))
    assert reserved_seconds(state) == pytest.approx(4 * 24 * RACE_S)


def test_the_search_ends_when_nothing_is_left_to_compare(monkeypatch):
    state = begun(knobs=(knob("a", 3),), budget_s=1e6)
    assert raced(state, 50, by_candidate(1.0, 0.8, 0.8)) == Choose(0, "all other candidates dropped out")
    state = begun(knobs=(knob("a", 3),), budget_s=1e6)
    assert raced(state, 50, by_candidate(0.8, 1.0, 0.8)) == Choose(1, "one candidate is left")
    state = begun(knobs=(knob("a", 3),), budget_s=1e6)
    monkeypatch.setattr(steps, "MAX_BLOCKS", 5)
    assert raced(state, 6, lambda _one, _block: 100.0).reason == "5 blocks have been raced"


def test_of_nearly_equal_candidates_that_with_the_fewest_changes_wins():
    state = begun(knobs=(knob("a", 2), knob("b", 2)))
    apply(state, next_step(state))
    levels = {one.levels: one.number for one in state.candidates.values()}
    both, single = levels[1, 1], levels[0, 1]
    values = {both: 120.0, single: 119.5, levels[1, 0]: 100.0, DEFAULT: 100.0}
    raced(state, 2, lambda candidate, _block: values[candidate])
    assert best_candidate(state) == single


def test_a_winner_that_breaks_a_limit_is_not_chosen():
    state = begun(knobs=(knob("a", 3),), constraints=(limit("p99:s", 50.0),))
    apply(state, next_step(state))
    for block in (1, 2):
        for candidate, value, p99 in ((0, 100.0, 10.0), (1, 150.0, 60.0), (2, 120.0, 40.0)):
            state.apply(ended(candidate, block, value, limits=(p99,)))
    assert best_candidate(state) == 2


@pytest.mark.parametrize(("operations", "is_dropped"), [((100,), False), ((20_000,), True), ((), False)])
def test_a_candidate_drops_out_if_counting_shows_that_it_breaks_a_limit(operations, is_dropped):
    """One failure of 100 operations in each race may be chance; its rate in races of older versions, too."""
    state = begun(knobs=(knob("a", 3),), budget_s=1e6, constraints=(limit("error-rate:s", 0.8),))
    apply(state, next_step(state))
    while state.judged < 3:
        step = next_step(state)
        if isinstance(step, Race):
            rate = 1.0 if step.candidate == 1 else 0.0
            state.apply(ended(step.candidate, step.block, limits=(rate,), operations=operations))
        else:
            apply(state, step)
    assert (1 in state.dropped) == is_dropped


def test_a_default_that_cannot_be_raced_ends_the_search():
    state = TuneProgress(search_plan())
    apply(state, next_step(state))
    for _ in range(2):
        assert isinstance(next_step(state), Race)
        state.apply(ended(DEFAULT, 0, None, outcome="failed", text="port in use"))
    assert next_step(state) == Stop("the default cannot be raced: port in use")
    state.apply(TuneEvent(event="stopped", at="t", text="x"))
    assert next_step(state) is None


def test_the_default_as_winner_needs_no_confirmation():
    state = begun()
    state.apply(TuneEvent(event="chosen", at="t", candidate=DEFAULT))
    assert next_step(state) is None
    state.apply(TuneEvent(event="chosen", at="t", candidate=3))
    assert next_step(state) == Confirm(3)


def test_one_failure_drops_no_candidate_and_two_in_a_row_do():
    state = begun(knobs=(knob("a", 4),), budget_s=1e6)
    lost = {"objective": None, "outcome": "failed", "text": "download timed out"}
    outcomes = {1: lost, 3: lost, 4: lost}

    def race_block(block):
        while isinstance(step := next_step(state), Race):
            own = outcomes.get(block, {}) if step.candidate == 2 else {}
            state.apply(ended(step.candidate, step.block, **{"objective": 100.0} | own))
        return step

    apply(state, next_step(state))
    for block in (1, 2):
        step = race_block(block)
        assert step == EndBlock(block, ())
        apply(state, step)
    apply(state, race_block(3))
    assert state.dropped[2].text == "2 races failed or void"
    state = begun(knobs=(knob("a", 4),), budget_s=1e6)
    apply(state, next_step(state))
    outcomes = {1: lost, 2: lost}
    apply(state, race_block(1))
    apply(state, race_block(2))
    assert state.dropped[2].text == "download timed out"


def test_races_that_are_repeated_use_up_the_budget_too():
    state = begun()
    before = state.seconds
    for outcome in ("interrupted", "killed"):
        state.apply(ended(DEFAULT, 0, None, outcome=outcome))
    assert (state.seconds - before, len(state.ends)) == (2 * RACE_S, 2)


def test_data_that_each_block_of_the_confirmation_generates_is_reserved():
    state = begun(knobs=(knob("a", 3),), budget_s=1e6)
    apply(state, next_step(state))
    for block in (1, 2, 3, 4):
        for at, candidate in enumerate(range(3)):
            generates = at == 0 and block < 4
            state.apply(ended(candidate, block, seconds=(4 if generates else 1) * RACE_S))
    means = sum((4, 4, 4, 1)) / 4
    assert reserved_seconds(state) == pytest.approx((24 * means + 10 * 3) * RACE_S)


def test_a_search_that_could_not_go_on_goes_on_if_the_user_resumes_it():
    state = begun(budget_s=30 * RACE_S)
    stop = next_step(state)
    state.apply(TuneEvent(event="stopped", at="t", text=stop.reason))
    assert next_step(state) is None
    state.apply(TuneEvent(event="retried", at="t", budget_s=1e6))
    assert isinstance(next_step(state), Suggest)
    state = TuneProgress(search_plan())
    apply(state, next_step(state))
    for _ in range(2):
        state.apply(ended(DEFAULT, 0, None, outcome="failed", text="port in use"))
    state.apply(TuneEvent(event="stopped", at="t", text="x"))
    state.apply(TuneEvent(event="retried", at="t"))
    assert isinstance(next_step(state), Race)
    assert state.budget_s == state.plan.budget_s


def test_the_default_alone_does_not_use_up_the_budget():
    state = begun(knobs=(knob("a", 9), knob("b", 9)), budget_s=46 * RACE_S)
    # Three candidates race in three blocks; then only the default is left, and the time of three races.
    step = raced(state, 50, by_candidate(1.0, 0.8, 0.8))
    assert step == Choose(DEFAULT, "all other candidates dropped out")
    assert state.judged == 3
