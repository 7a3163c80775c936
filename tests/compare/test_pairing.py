"""Which races belong together, and by how many races each pair is apart."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from msgspec import structs
from msgspec.structs import replace

from compare.races import blocks, compared, index, race
from pacenote.compare.groups import compare_groups
from pacenote.compare.pairing import PairedRaces, pair_races
from pacenote.model.comparison import ComparedRace, Comparison
from pacenote.model.imported import UNSTATED_TIME, ImportedResults
from pacenote.report.comparison_texts import next_text
from pacenote.stats.effect import paired_effect


def block_race(name: str, minutes: float, block: int | str = 0, **changes: object) -> ComparedRace:
    own = race(name, **{"user_tags": {"experiment": "e", "variant": name[0], "block": block}} | changes)
    return ComparedRace(structs.replace(own, timestamp=own.timestamp + timedelta(minutes=minutes)))


def names(races: tuple[ComparedRace, ...]) -> list[str]:
    return [each.record.race_id for each in races]


def texts(comparison: Comparison) -> str:
    return "\n".join(str(each) for each in comparison.findings)


def experiment(draw: random.Random, lengths: tuple[float, float], pause_before: int) -> PairedRaces:
    """Races of two variants in ten blocks whose order is drawn, with these lengths in minutes. Each is 1 %
    slower than the race before it. The race with the number `pause_before` runs a day later.
    """
    sides: tuple[list[ComparedRace], list[ComparedRace]] = ([], [])
    orders = [(0, 1), (1, 0)] * 5
    draw.shuffle(orders)
    minutes = 0.0
    for block, order in enumerate(orders):
        for position, side in enumerate(order):
            number = 2 * block + position
            minutes += 60 * 24 if number == pause_before else 0
            rate = 10_000 * 0.99**number * draw.lognormvariate(0, 0.002)
            sides[side].append(block_race(f"{'ab'[side]}{block}", minutes, block, tasks=(index(rate),)))
            minutes += lengths[side]
    return pair_races(*sides)


def rates(races: tuple[ComparedRace, ...]) -> list[float]:
    return [each.record.tasks[0].throughput.mean for each in races]  # type: ignore[union-attr]


@pytest.mark.parametrize("pause_before", [-1, 9])
def test_neither_the_length_of_races_nor_a_pause_is_mistaken_for_a_change(pause_before: int) -> None:
    """The contender takes five times as long as the baseline. If lags were in units of time, the change would
    be wrong by 0.7 %; a pause would hide the drift, and treble the standard error.
    """
    draw = random.Random(3)
    experiments = [experiment(draw, (10, 50), pause_before) for _ in range(8)]
    assert {lag for one in experiments for lag in one.lags} == {1.0, -1.0}
    effects = [
        effect
        for one in experiments
        if (effect := paired_effect(rates(one.baseline), rates(one.contender), lags=one.lags))
    ]
    # A change has a standard error of 0.09 %, and the mean of eight has one of 0.03 %.
    assert sum(effect.log_ratio for effect in effects) / len(experiments) == pytest.approx(0.0, abs=0.001)
    assert max(effect.standard_error for effect in effects) < 0.002


def test_a_pause_does_not_hide_that_one_side_always_ran_first() -> None:
    starts = [(0, 10), (20, 30), (40, 50), (60, 1_500)]
    old, new = (
        [block_race(f"{'ab'[side]}{block}", start[side], block) for block, start in enumerate(starts)]
        for side in (0, 1)
    )
    comparison = compare_groups(old, new)
    assert "the baseline ran first in every block, so that a drift" in texts(comparison)


def test_the_plan_of_an_experiment_tells_how_far_races_are_apart() -> None:
    """With three variants, the races that are compared may have another one between them."""
    places = ((0, 2), (2, 1), (1, 0))
    old, new = (
        [
            replace(block_race(f"{'ab'[side]}{block}", block), place=place[side])
            for block, place in enumerate(places)
        ]
        for side in (0, 1)
    )
    assert pair_races(old, new).lags == (2.0, -1.0, -1.0)


def test_races_at_the_same_time_are_apart_by_the_half_of_the_machine() -> None:
    halves = ((1, 2), (2, 1), (1, 2))
    old, new = (
        [
            replace(
                one,
                record=structs.replace(one.record, user_tags={**one.record.user_tags, "half": half[side]}),
            )
            for block, half in enumerate(halves)
            for one in [block_race(f"{'ab'[side]}{block}", block, block)]
        ]
        for side in (0, 1)
    )
    assert pair_races(old, new).lags == (1.0, -1.0, 1.0)


def test_times_that_are_not_known_have_no_order() -> None:
    unknown = ImportedResults(tool="rally", form="race", file="f", sha256="0", unstated=(UNSTATED_TIME,))
    old, new = (
        [block_race(f"{side}{block}", block + later, block, imported=unknown) for block in range(3)]
        for side, later in (("a", 0), ("b", 100))
    )
    assert pair_races(old, new).lags == (0.0, 0.0, 0.0)
    assert "the order within blocks is unknown" in texts(compare_groups(old, new))
    untagged = [
        [replace(one, record=structs.replace(one.record, user_tags={})) for one in side]
        for side in (old, new)
    ]
    assert pair_races(*untagged).order == "mixed"


def test_the_races_of_a_block_that_are_nearest_in_time_are_a_pair() -> None:
    """An experiment of the same name was interrupted in block 3 the day before."""
    old = [block_race(f"a{block}", 20 * block, block) for block in range(4)]
    new = [block_race(f"b{block}", 20 * block + 10, block) for block in range(4)]
    pairs = pair_races([block_race("a-old", -1_440, 3), *old], new)
    assert (names(pairs.baseline), names(pairs.alone)) == (["a0", "a1", "a2", "a3"], ["a-old"])


def planned(number: str, variant: str, minutes: float, block: int, **changes: object) -> ComparedRace:
    """A race with the id that an experiment gives it."""
    tags = {"experiment": "e", "variant": variant, "block": block}
    return block_race(f"e-{number}", minutes, block, user_tags=tags, **changes)


def test_the_first_race_of_a_block_that_was_raced_again_is_left_out_with_a_note() -> None:
    old = [planned(f"{2 * block + 1:03}", "a", 20 * block, block) for block in range(3)]
    new = [planned(f"{2 * block + 2:03}", "b", 20 * block + 10, block) for block in range(3)]
    again = [planned("003.2", "a", 100, 1), planned("004.2", "b", 110, 1)]
    failed = replace(planned("004", "b", 30, 1, complete=False), state="aborted")
    comparison = compare_groups([*old, again[0]], [new[0], failed, new[2], again[1]])
    assert [each.race_id for each in comparison.baseline.races] == ["e-001", "e-005", "e-003.2"]
    assert comparison.notes == (
        "not compared, because their experiment repeated them: e-004 (by e-004.2), e-003 (by e-003.2)",
    )
    assert "no partner" not in texts(comparison)


def test_of_a_block_that_was_raced_twice_the_last_attempt_counts() -> None:
    old = [planned(f"{2 * block + 1:03}", "a", 20 * block, block) for block in range(3)]
    new = [planned(f"{2 * block + 2:03}", "b", 20 * block + 10, block) for block in range(3)]
    again = [planned("003.2", "a", 100, 1), planned("004.2", "b", 110, 1)]
    comparison = compare_groups([*old, again[0]], [*new, again[1]])
    assert [each.race_id for each in comparison.baseline.races] == ["e-001", "e-005", "e-003.2"]
    assert [each.race_id for each in comparison.contender.races] == ["e-002", "e-006", "e-004.2"]
    again_by = "e-003 (by e-003.2), e-004 (by e-004.2)"
    assert comparison.notes == (f"not compared, because their experiment repeated them: {again_by}",)


def test_more_races_of_one_side_are_not_taken_for_repeated_ones() -> None:
    """Their tags were given by hand: one day is a block."""
    tags = {"experiment": "days"}
    old = [
        block_race(f"a{day}-{number}", 1_440 * day + 10 * number, user_tags={**tags, "block": day})
        for day in range(3)
        for number in range(10)
    ]
    new = [block_race(f"b{day}", 1_440 * day + 200, user_tags={**tags, "block": day}) for day in range(3)]
    comparison = compare_groups(old, new)
    assert (comparison.design, len(comparison.baseline.races), comparison.notes) == ("unpaired", 30, ())
    assert "27 races have no partner in the block, so that two groups are compared" in texts(comparison)


def test_races_of_an_experiment_are_apart_by_their_numbers_in_its_plan() -> None:
    """With three variants, and only two of them at hand, times do not show that a race was between them."""
    numbers = (("001", "003"), ("006", "005"), ("008.2", "007"))
    old, new = (
        [planned(own[side], "ab"[side], 10 * int(own[side][:3]), block) for block, own in enumerate(numbers)]
        for side in (0, 1)
    )
    assert pair_races(old, new).lags == (2.0, -1.0, -1.0)


def test_experiments_of_two_machines_with_the_same_id_have_no_common_blocks() -> None:
    old, new = (
        [planned(f"{block + 1:03}", "a", later + 10 * block, block) for block in range(4)]
        for later in (0, 1_440)
    )
    killed = replace(old[3], state="killed")
    pairs = pair_races([*old[:3], killed], new)
    assert (pairs.design, len(pairs.baseline), len(pairs.contender)) == ("unpaired", 4, 4)
    shown = next(each for each in compare_groups(old, new).findings if "drift" in each.text)
    assert "experiments of two machines have the same id" in shown.text
    assert shown.advice == "give each experiment a name of its own"


def test_a_duet_is_about_halves_and_not_about_the_order() -> None:
    old, new = (
        [
            replace(one, record=structs.replace(one.record, user_tags={**one.record.user_tags, "half": half}))
            for one in (block_race(f"{name}{block}", block, block) for block in range(4))
        ]
        for name, half in (("a", 1), ("b", 2))
    )
    text = texts(compare_groups(old, new))
    assert "the baseline had the first half of the machine in every block" in text
    assert "ran first" not in text


def test_races_are_pairs_only_if_most_of_them_have_a_partner() -> None:
    old = [block_race(f"a{block}", 20 * block, block) for block in range(10)]
    new = [block_race(f"b{block}", 20 * block + 10, block) for block in range(7, 17)]
    outcome = compare_groups(old, new)
    assert (outcome.design, len(outcome.baseline.races), len(outcome.contender.races)) == ("unpaired", 10, 10)
    assert "14 races have no partner in the block, so that two groups are compared: a0" in texts(outcome)


def test_a_race_without_a_block_does_not_separate_the_pairs_of_others() -> None:
    old = [block_race(f"a{block}", 20 * block, block) for block in range(4)]
    new = [block_race(f"b{block}", 20 * block + 10, block) for block in range(4)]
    warm_up = block_race("a-warm", -60, user_tags={"experiment": "e", "variant": "a"})
    comparison = compare_groups([warm_up, *old], new)
    assert (comparison.design, len(comparison.baseline.races)) == ("paired", 4)
    assert "1 race has no partner in the block, so that are not compared: a-warm (no block)" not in texts(
        comparison
    )
    assert "a-warm (no block)" in texts(comparison)


@pytest.mark.parametrize("state", ["killed", "interrupted", "aborted"])
def test_a_race_that_an_experiment_repeated_is_not_compared(state) -> None:
    old = [block_race(f"a{block}", 20 * block, block) for block in range(4)]
    new = [block_race(f"b{block}", 20 * block + 10, block) for block in range(4)]
    failed = replace(block_race("b2-first", 45, 2, complete=False), state=state)
    comparison = compare_groups(old, [failed, *new])
    assert [each.race_id for each in comparison.contender.races] == ["b0", "b1", "b2", "b3"]
    assert comparison.answer != "void"
    assert comparison.notes == ("not compared, because their experiment repeated them: b2-first (by b2)",)
    # Without another race of the block that finished, it is compared, and void.
    assert compare_groups(old, [failed, *(one for one in new if one.record.race_id != "b2")]).answer == "void"


@pytest.mark.parametrize(("later", "word"), [(0, "better"), (10_000, "probably better")])
def test_groups_that_ran_after_each_other_are_at_most_probably_better(later, word) -> None:
    sides = [[structs.replace(each, user_tags={}) for each in side] for side in blocks(6, factor=1.2)]
    moved = [structs.replace(each, timestamp=each.timestamp + timedelta(minutes=later)) for each in sides[1]]
    comparison = compare_groups(compared(*sides[0]), compared(*moved))
    order = "the contender ran after the baseline" if later else "the races are not compared within blocks"
    assert f"{order}, so that a drift of the machine is not excluded" in texts(comparison)
    assert (comparison.design, comparison.answer) == ("unpaired", word)
    assert next_text(comparison).startswith("repeat the races in blocks")


IMPORTED = ImportedResults(tool="rally", form="race", file="f", sha256="0")


def _with_tags(race: ComparedRace, **changes: object) -> ComparedRace:
    own = race.record
    return replace(race, record=structs.replace(own, user_tags={**own.user_tags, **changes}))


def _repeating(number: str, repeats: str, **changes: object) -> ComparedRace:
    """A race that says that it repeats that of the contender in the block 1."""
    return _with_tags(planned(number, "b", 100, 1, **changes), repeats=repeats)


def test_a_race_that_was_disturbed_is_left_out_with_the_one_that_repeats_it() -> None:
    old = [planned(f"{2 * block + 1:03}", "a", 20 * block, block) for block in range(3)]
    new = [planned(f"{2 * block + 2:03}", "b", 20 * block + 10, block) for block in range(3)]
    comparison = compare_groups(old, [*new, _repeating("004.2", "e-004")])
    assert [each.race_id for each in comparison.contender.races] == ["e-002", "e-004.2", "e-006"]
    assert comparison.notes == ("not compared, because their experiment repeated them: e-004 (by e-004.2)",)


@pytest.mark.parametrize(
    "foreign",
    [
        replace(_repeating("004.2", "e-004"), record=_repeating("004.2", "e-004", imported=IMPORTED).record),
        _with_tags(
            block_race("x", 100, 1, user_tags=planned("004", "b", 0, 1).record.user_tags), repeats="e-004"
        ),
        _repeating("006.2", "e-004"),
        _with_tags(_repeating("004.2", "e-004"), variant="c", block=9),
        _with_tags(planned("004.2", "b", -100, 1), repeats="e-004"),
        _with_tags(planned("004.2", "b", 30, 1), repeats="e-004", experiment="other"),
    ],
    ids=["imported", "no number", "another number", "another variant", "earlier", "another experiment"],
)
def test_a_foreign_race_takes_the_place_of_no_race_of_an_experiment(foreign: ComparedRace) -> None:
    old = [planned(f"{2 * block + 1:03}", "a", 20 * block, block) for block in range(6)]
    new = [planned(f"{2 * block + 2:03}", "b", 20 * block + 10, block) for block in range(6)]
    for side in ([*new, foreign], [foreign, *new]):
        pairs = pair_races(old, side)
        assert "e-004" in names(pairs.contender)
        assert "e-004" not in names(tuple(one.race for one in pairs.repeated))


def test_an_imported_race_hides_no_race_that_failed() -> None:
    old = [block_race(f"a{block}", 20 * block, block) for block in range(4)]
    new = [block_race(f"b{block}", 20 * block + 10, block) for block in range(3)]
    failed = replace(block_race("b3", 70, 3, complete=False), state="aborted")
    imported = block_race("b3-x", 80, 3, imported=IMPORTED)
    assert compare_groups(old, [*new, failed, imported]).answer == "void"
