"""The order of races."""

import itertools
from collections import Counter

from msgspec.structs import replace

from lab.experiment.experiments import factors, pair
from pacenote.lab.experiment.design import all_variants, plan_races, race_options
from pacenote.model.experiment import Experiment, PlannedRace, Variant


def orders(experiment):
    races = plan_races(experiment)
    return [
        [race.variant for race in races if race.block == block]
        for block in sorted({race.block for race in races})
    ]


def test_either_variant_of_a_pair_comes_first_equally_often_without_a_pattern():
    blocks = orders(pair(blocks=40))
    assert Counter(map(tuple, blocks)) == {("a", "b"): 20, ("b", "a"): 20}
    reversals = sum(first == second[::-1] for first, second in itertools.pairwise(blocks))
    assert 10 <= reversals <= 32


def test_the_plan_follows_from_the_seed_alone():
    experiment = pair(blocks=10)
    assert plan_races(experiment) == plan_races(replace(experiment, question="another"))
    assert plan_races(experiment) != plan_races(replace(experiment, seed=43))


def test_the_races_of_a_block_share_a_seed_that_no_other_block_has():
    races = plan_races(pair(blocks=10))
    assert len({(race.block, race.seed) for race in races}) == len({race.seed for race in races}) == 10


def test_races_that_warm_up_come_first_and_belong_to_no_block():
    races = plan_races(pair(warm_up=2))
    assert [(race.block, race.variant) for race in races[:2]] == [(0, "a"), (0, "a")]
    assert [race.number for race in races] == list(range(1, 9))


def test_a_matrix_races_every_combination_once_in_each_block():
    matrix = Experiment(name="m", design="matrix", blocks=10, factors=factors(heap="1g 2g", clients="4 8 16"))
    cells = {f"{heap}+{clients}" for heap in ("1g", "2g") for clients in ("4", "8", "16")}
    blocks = orders(matrix)
    assert all(sorted(order) == sorted(cells) for order in blocks)
    assert Counter(map(tuple, blocks)) == Counter(tuple(order[::-1]) for order in blocks)
    options = race_options(matrix, PlannedRace(1, 1, "2g+8", 1), ())
    assert options == {"car-params": {"heap": "2g", "clients": "8"}}


def test_a_screening_races_the_combinations_of_its_design():
    screening = Experiment(
        name="s", design="screening", blocks=1, factors=factors(a="0 1", b="0 1", c="0 1", d="0 1")
    )
    (block,) = orders(screening)
    rows = [[int(level) for level in name.split("+")] for name in sorted(block)]
    assert len(rows) == 8
    # The fourth factor is the product of the other three, so that no two of them are mixed up with a third.
    assert all((a + b + c + d) % 2 == rows[0][3] for a, b, c, d in rows)


def test_a_step_of_a_ladder_is_added_to_those_that_were_adopted():
    steps = (
        Variant("base", {"set": ["x=1"], "car-params": {"heap": "1g"}}),
        Variant("heap", {"car-params": {"heap": "2g"}}),
        Variant("buffer", {"set": ["y=2"]}),
        Variant("refresh", {"set": ["z=3"]}),
    )
    ladder = Experiment(name="l", design="ladder", blocks=2, variants=steps)
    assert {tuple(sorted(order)) for order in orders(ladder)} == {
        ("best", "heap"),
        ("best", "buffer"),
        ("best", "refresh"),
        ("base", "best"),
    }
    last = [race for race in plan_races(ladder) if race.stage == 3]
    (step,) = (race for race in last[:2] if race.variant == "refresh")
    (best,) = (race for race in last[:2] if race.variant == "best")
    assert race_options(ladder, best, {2}) == {"set": ["x=1", "y=2"], "car-params": {"heap": "1g"}}
    assert race_options(ladder, step, {1})["set"] == ["x=1", "z=3"]
    assert race_options(ladder, step, {1})["car-params"] == {"heap": "2g"}
    assert all_variants(ladder)[-1].options["set"] == ["x=1", "y=2", "z=3"]
    end = {race.variant: race for race in plan_races(ladder)[-2:]}
    assert race_options(ladder, end["base"], {1, 3}) == steps[0].options
    assert race_options(ladder, end["best"], {1, 3})["set"] == ["x=1", "z=3"]
