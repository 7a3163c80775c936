"""What differs between the configurations and plans of two groups of races."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from compare.races import blocks, index, race, search
from pacenote.compare.differences import group_differences
from pacenote.model.comparison import ComparedRace
from pacenote.model.race_record import RecordedCorpus
from pacenote.model.snapshot import RaceSnapshot, Snapshot

Sides = tuple[Sequence[ComparedRace], Sequence[ComparedRace]]


def rows(sides: Sides) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(each.key, each.baseline, each.contender) for each in group_differences(*sides)[0]]


def with_facts(*sides: Sequence[Mapping[str, str] | None], unread: str = "") -> Sides:
    """Returns races with these facts; where they are None, they could not be read."""
    old, new = (
        [
            ComparedRace(
                race(f"{name}{at}"),
                RaceSnapshot(Snapshot(facts or {}, {} if facts is not None else {unread: "no permission"})),
            )
            for at, facts in enumerate(side)
        ]
        for name, side in zip("ab", sides, strict=True)
    )
    return old, new


def with_plans(*sides: Sequence[Mapping[str, object]], seed: int = 42) -> Sides:
    """Returns races with these plans of the task term."""
    old, new = (
        [ComparedRace(race(f"{name}{at}", seed=seed), plan={"term": plan}) for at, plan in enumerate(side)]
        for name, side in zip("ab", sides, strict=True)
    )
    return old, new


def test_a_fact_differs_if_its_values_have_other_shares() -> None:
    """Four of five races against one of five is not the same, although both sides have both values."""
    old, new = {"setting.a": "1"}, {"setting.a": "2"}
    differences = rows(with_facts([old, old, old, old, new], [old, new, new, new, new]))
    assert differences == [("setting.a", ("1 (4 of 5)", "2 (1 of 5)"), ("1 (1 of 5)", "2 (4 of 5)"))]
    assert rows(with_facts([old, old, new], [new, old, old])) == []
    assert rows(with_facts([old, {}], [old, old])) == [("setting.a", ("1 (1 of 2)",), ("1 (2 of 2)",))]


def test_a_race_that_could_not_read_facts_does_not_hide_those_of_the_others() -> None:
    """Neither the first race, with which the others are compared, nor another one."""
    old, new = {"engine.a": "1"}, {"engine.a": "2"}
    for sides in (([None, old, old], [new, new]), ([old, old], [new, None, new])):
        both = with_facts(*sides, unread="engine.*")
        assert ("engine.a", ("1",), ("2",)) in rows(both)
        assert any("engine.* (no permission)" in note for note in group_differences(*both)[1])


def test_seeds_of_races_are_left_out_and_parameters_named_seed_are_not() -> None:
    old, new = (
        [
            ComparedRace(
                replace(
                    each,
                    seed=100 * side + at,
                    car_params={"query_seed": str(100 * side + at)},
                    corpora=(RecordedCorpus("http_logs", "generated", 10, 20, seed=100 * side + at),),
                )
            )
            for at, each in enumerate(races)
        ]
        for side, races in enumerate(blocks(2))
    )
    assert [key for key, *_ in rows((old, new))] == ["race.car_params.query_seed"]


def test_the_load_of_a_task_differs_if_its_shares_do() -> None:
    old, new = (
        [
            ComparedRace(race(f"{name}{at}", tasks=(index(clients=count), search())))
            for at, count in enumerate(side)
        ]
        for name, side in (("a", (2, 2, 16)), ("b", (2, 16, 16)))
    )
    assert rows((old, new)) == [
        ("task.index-append.clients", ("2 (2 of 3)", "16 (1 of 3)"), ("2 (1 of 3)", "16 (2 of 3)"))
    ]


def test_what_differs_in_a_plan_is_shown() -> None:
    old, new = (
        {
            "pace": {"kind": "poisson", "interval_s": interval},
            "clients": clients,
            "work": {"calls": [{"body": json.dumps({"query": {"match": {"title": word}}, "size": 10})}]},
        }
        for interval, clients, word in ((0.1, 1, "fast"), (0.2, 2, "slow"))
    )
    # The number of clients is a fact of the task's result.
    assert rows(with_plans([old, old], [new, new])) == [
        ("task.term.plan.pace.interval_s", ("0.1",), ("0.2",)),
        ("task.term.plan.work.calls.0.body.query.match.title", ("fast",), ("slow",)),
    ]


def test_only_plans_of_races_with_the_same_seed_are_compared() -> None:
    old, _ = with_plans([{"rate": 1}], [])
    _, new = with_plans([], [{"rate": 2}], seed=7)
    assert [key for key, *_ in rows((old, new))] == ["race.seed"]


def test_a_plan_of_one_race_is_not_hidden_by_the_last_one() -> None:
    usual, other = {"rate": 1}, {"rate": 2}
    assert rows(with_plans([usual, usual, other], [other, other, other])) == [
        ("task.term.plan.rate", ("1", "2"), ("2",))
    ]
    assert rows(with_plans([usual, usual, other], [usual, other, other])) == [
        ("task.term.plan.rate", ("1 (2 of 3)", "2 (1 of 3)"), ("1 (1 of 3)", "2 (2 of 3)"))
    ]


def test_of_long_values_the_part_that_differs_is_shown_and_of_many_the_first() -> None:
    plans = [{"path": "/" + "x" * 300 + end + "y" * 300} for end in ("A", "B")]
    ((_, old, new),) = rows(with_plans(plans[:1], plans[1:]))
    assert (old[0][:12], new[0][:12], len(old[0])) == ("…" + "x" * 10 + "A", "…" + "x" * 10 + "B", 120)
    many = [{"work": [side * 1_000 + at for at in range(40)]} for side in range(2)]
    differences, notes = group_differences(*with_plans(many[:1], many[1:]))
    assert (len(differences), notes) == (10, ("30 more values of the plan of term differ",))


def test_areas_have_an_order() -> None:
    keys = ("sysctl.a", "jvm.a", "setting.a")
    old, new = with_facts(*([dict.fromkeys(keys, value)] for value in "12"))
    assert [each.area for each in group_differences(old, new)[0]] == ["Engine", "JVM", "Kernel"]
