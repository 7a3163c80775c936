"""What a comparison says if the order of its races does not exclude a drift of the machine."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from compare.races import compared, index, race, search
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import Comparison
from pacenote.model.race_record import RaceRecord
from pacenote.report.comparison_texts import next_text, why_probable

THROUGHPUT = "throughput:index-append"


def races(order: str, drift: float, change: float, *, blocks: bool = True) -> Comparison:
    """Compares races b and c that ran in this order: each is slower than the one before it by `drift`, and c
    is `change` times as fast as b.
    """
    draw = random.Random(1)
    sides: dict[str, list[RaceRecord]] = {"b": [], "c": []}
    for at, side in enumerate(order):
        rate = 10_000 * (1 - drift) ** at * draw.gauss(1, 0.003) * (change if side == "c" else 1)
        tags = {"experiment": "loop", "block": at // 2, "variant": side} if blocks else {}
        own = race(
            f"{side}{at:02}",
            at,
            tasks=(index(rate), search(2 * draw.gauss(1, 0.003))),
            user_tags=tags,
            car_params={"heap": side},
        )
        sides[side].append(own)
    return compare_groups(compared(*sides["b"]), compared(*sides["c"]))


def word(comparison: Comparison) -> str:
    return next(each.word for each in comparison.metrics if each.metric.label == THROUGHPUT)


@pytest.mark.parametrize(
    ("order", "blocks"),
    [("bc" * 6, True), ("cb" * 6, True), ("bbbbbbcccccc", False), ("ccccccbbbbbb", False)],
)
@pytest.mark.parametrize("change", [0.8, 1.0, 1.25])
def test_nothing_is_certain_that_a_drift_may_have_caused_or_hidden(order, blocks, change):
    comparison = races(order, 0.0, change, blocks=blocks)
    expected = {0.8: "probably worse", 1.0: "unclear", 1.25: "probably better"}[change]
    assert word(comparison) == expected
    assert {each.word for each in comparison.metrics}.isdisjoint({"better", "same", "worse", "changed"})
    assert all(
        "drift of the machine is not excluded" in each.order_problem
        for each in comparison.primary
        if each.change
    )
    assert all(each.change.alone is None for each in comparison.metrics if each.change)


def test_a_drift_is_not_said_to_be_a_change_and_does_not_hide_one():
    assert word(races("bc" * 6, 0.05, 1.0)) == "probably worse"
    assert word(races("bc" * 6, -0.05, 0.952)) == "unclear"
    # With both orders, it is removed.
    assert word(races("bccb" * 3, 0.05, 1.0)) == "same"
    assert word(races("bccb" * 3, -0.05, 0.95)) == "worse"
    assert not any(each.order_problem for each in races("bccb" * 3, 0.0, 1.0).metrics)


def test_the_reason_is_the_order_and_the_advice_is_another_one():
    comparison = races("bc" * 6, 0.0, 0.8)
    assert why_probable(comparison.primary[0]) == "a drift of the machine is not excluded"
    assert "take turns at running first" in next_text(comparison)


def test_halves_of_a_machine_count_like_an_order():
    sides = []
    for side, half in (("b", 1), ("c", 2)):
        sides.append([
            race(
                f"{side}{block}",
                block,
                tasks=(index(10_000.0 + block), search()),
                user_tags={"experiment": "duet", "block": block, "variant": side, "half": half},
            )
            for block in range(6)
        ])
    comparison = compare_groups(*(compared(*side) for side in sides))
    assert word(comparison) == "unclear"
    problem = "had the first half of the machine in every block, so that a difference between the halves"
    assert problem in comparison.primary[0].order_problem
    turned = [
        [
            replace(each, user_tags={**each.user_tags, "half": half})
            for each, half in zip(side, halves, strict=True)
        ]
        for side, halves in zip(sides, ([1, 2] * 3, [2, 1] * 3), strict=True)
    ]
    assert word(compare_groups(*(compared(*side) for side in turned))) == "same"
