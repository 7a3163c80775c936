"""Throughput that a target rate determined says nothing about which side is better."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from compare.races import compared, race, search
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import Comparison, ComparisonOptions
from pacenote.model.finding import EVERYTHING
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import OperationTotals, TaskResult, Throughput, WarmupBacklog
from pacenote.model.target_rate import TargetRate
from support.records import task, times

WINDOW_S = 60.0
Raced = tuple[TaskResult, Mapping[str, TargetRate]]


def kept(rate: float, noise: float, arrivals: str = "deterministic", unit: str = "ops") -> Raced:
    """A task that does what its target rate asks for."""
    done = round(rate * WINDOW_S)
    own = search(
        throughput=Throughput(*[rate * noise] * 4),
        window_s=WINDOW_S,
        window_operations=done,
        window_succeeded=done,
        accounting=OperationTotals(done, done, 0, 0, 0, 0, done, done),
    )
    return own, {"term": TargetRate(rate, unit, rate, arrivals)}  # type: ignore[arg-type]


def missed(rate: float, noise: float, target: float = 200.0) -> Raced:
    """A task whose engine does less than its target rate asks for."""
    done, unsent = round(rate * WINDOW_S), round((target - rate) * WINDOW_S)
    own = search(
        throughput=Throughput(*[rate * noise] * 4),
        window_s=WINDOW_S,
        window_operations=done,
        window_succeeded=done,
        accounting=OperationTotals(done, done, 0, 0, 0, 0, done, done, unsent=unsent, waited=done),
    )
    return own, {"term": TargetRate(target, operations=target)}


def scheduled(rate: float, noise: float, unsent: int = 0, waited: float = 0.0) -> Raced:
    """A task that a scheduler of a plug-in paces at a rate that is not recorded, and of whose operations this
    share waited for their client.
    """
    own, _ = kept(rate, noise)
    counts = replace(own.accounting, unsent=unsent, waited=round(waited * own.accounting.succeeded))
    return replace(own, accounting=counts), {}


def unpaced(rate: float, noise: float) -> Raced:
    """A task without a target rate."""
    done = round(rate * WINDOW_S)
    own = task(
        "term",
        throughput=Throughput(*[rate * noise] * 4),
        service_time=times(p50=2.0),
        window_s=WINDOW_S,
        window_operations=done,
        window_succeeded=done,
        accounting=OperationTotals(done, done, 0, 0, 0, 0, done, done),
    )
    return own, {}


def races(side: str, *raced: Raced) -> list[RaceRecord]:
    return [
        race(
            f"{side}{block}",
            2 * block + ((side == "b") != block % 2),
            tasks=(own,),
            targets=targets,
            user_tags={"experiment": "x", "block": block, "variant": side},
        )
        for block, (own, targets) in enumerate(raced)
    ]


def of(old: list[Raced], new: list[Raced], **options: object) -> Comparison:
    sides = compared(*races("a", *old)), compared(*races("b", *new))
    return compare_groups(*sides, ComparisonOptions(**options))  # type: ignore[arg-type]


def side(kind, rate: float, count: int = 10, **changes: object) -> list[Raced]:
    draw = random.Random(rate)
    return [kind(rate, draw.gauss(1, 0.002), **changes) for _ in range(count)]


def words(comparison: Comparison) -> dict[str, str]:
    return {each.metric.key: each.word for each in comparison.metrics if each.metric.task == "term"}


def target_finding(comparison: Comparison):
    (finding,) = (each for each in comparison.findings if "target rates differ" in each.text)
    return finding


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("faster", "text"),
    [
        (side(missed, 150.0), "200 ops/s"),
        (side(unpaced, 150.0), "no target rate"),
        # It may be just as fast as the schedule allows.
        (side(unpaced, 100.5), "no target rate"),
    ],
)
def test_a_side_that_keeps_a_lower_target_rate_is_not_slower(faster, text, is_reversed):
    sides = [side(kept, 100.0), faster]
    comparison = of(*(reversed(sides) if is_reversed else sides))
    finding = target_finding(comparison)
    limited = "contender" if is_reversed else "baseline"
    assert f"the throughput of the {limited} is that of its schedule" in finding.text
    rates = ("100 ops/s", text)
    old, new = reversed(rates) if is_reversed else rates
    assert f"({old} in the baseline, {new} in the contender)" in finding.text
    assert (finding.cause, finding.tasks, finding.doubtful_from) == ("user", ("term",), EVERYTHING)
    assert {*words(comparison).values()} == {"void"}
    assert comparison.answer == "void"


def test_a_side_that_is_slower_than_the_target_rate_that_the_other_keeps_is_worse():
    comparison = of(side(kept, 100.0), side(unpaced, 80.0))
    assert words(comparison)["throughput"] == "worse"
    # Of another load.
    assert {word for key, word in words(comparison).items() if key.startswith("p")} == {"void"}
    assert comparison.answer == "worse"
    assert words(of(side(unpaced, 80.0), side(kept, 100.0)))["throughput"] == "better"


@pytest.mark.parametrize(
    "other",
    [side(kept, 150.0), side(kept, 100.0, arrivals="poisson"), side(kept, 100.0, unit="docs")],
)
def test_times_at_different_target_rates_are_of_different_loads(other):
    comparison = of(side(kept, 100.0), other)
    assert "the throughput of both sides is that of their schedules" in target_finding(comparison).text
    assert {*words(comparison).values()} == {"void"}
    # Whatever decides.
    assert of(side(kept, 100.0), other, primary=("p90-latency",)).answer == "void"


def test_throughput_of_engines_that_do_not_keep_different_target_rates_is_their_own():
    comparison = of(side(missed, 150.0), side(missed, 120.0, target=300.0))
    assert "target rates" not in "".join(each.text for each in comparison.findings)
    assert words(comparison)["throughput"] == "worse"


def test_target_rates_may_change_from_block_to_block():
    both = [*side(kept, 100.0, 5), *side(kept, 150.0, 5)]
    comparison = of(both, both)
    assert "target rates" not in "".join(each.text for each in comparison.findings)
    assert "void" not in words(comparison).values()


def test_operations_per_second_that_follow_from_their_work_are_no_other_target_rate():
    old, new = (
        [(own, {"term": TargetRate(100.0, "docs", operations)}) for own, _ in side(kept, 100.0)]
        for operations in (10.0, None)
    )
    assert "target rates" not in "".join(each.text for each in of(old, new).findings)


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("faster", "rate"), [(side(scheduled, 150.0), "an unknown rate"), (side(kept, 200.0), "200 ops/s")]
)
def test_a_scheduler_of_an_unknown_rate_may_ask_for_another_load(faster, rate, is_reversed):
    """What a scheduler asks for is not slower for certain, and latency at different loads does not decide."""
    sides = [side(scheduled, 100.0), faster]
    comparison = of(*(reversed(sides) if is_reversed else sides))
    assert {*words(comparison).values()} == {"void"}
    assert comparison.answer == "void"
    (finding,) = (each for each in comparison.findings if "target rates may differ" in each.text)
    rates = ("an unknown rate", rate)
    old, new = reversed(rates) if is_reversed else rates
    assert f"({old} in the baseline, {new} in the contender), because throughput does by " in finding.text
    assert (finding.cause, finding.tasks, finding.doubtful_from) == ("user", ("term",), EVERYTHING)
    assert finding.advice == "run both sides with the same target rate or scheduler, or without one"


@pytest.mark.parametrize("other", [side(scheduled, 100.5), side(kept, 100.0)])
def test_a_scheduler_that_has_the_throughput_of_the_other_side_asks_for_the_same_load(other):
    comparison = of(side(scheduled, 100.0), other)
    assert "target rates" not in "".join(each.text for each in comparison.findings)
    assert "void" not in words(comparison).values()


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (side(unpaced, 80.0), "worse"),
        # It leaves a part of its schedule unsent, whatever that is.
        (side(scheduled, 80.0, unsent=1_200), "worse"),
        # Its clients are busy all the time.
        (side(scheduled, 80.0, waited=0.9), "worse"),
        (side(unpaced, 150.0), "void"),
        (side(scheduled, 150.0, unsent=1_200), "void"),
    ],
)
def test_a_side_that_follows_no_schedule_and_is_slower_than_a_scheduler_is_worse(other, word):
    comparison = of(side(scheduled, 100.0), other)
    assert (comparison.answer, words(comparison)["throughput"]) == (word, word)
    assert {own for key, own in words(comparison).items() if key.startswith("p")} == {"void"}


def test_throughput_of_schedulers_that_are_not_followed_is_that_of_the_engines():
    for behind in ({"unsent": 1_200}, {"waited": 0.9}):
        comparison = of(side(scheduled, 100.0, **behind), side(scheduled, 80.0, **behind))
        assert "target rates" not in "".join(each.text for each in comparison.findings)
        assert words(comparison)["throughput"] == "worse"


def catching_up(rate: float, noise: float) -> Raced:
    """A task with a target rate that also works off what its warm-up left: 20 % more."""
    own, targets = kept(rate, noise)
    done = round(own.window_operations * 1.2)
    backlog = WarmupBacklog(surplus=done - own.window_operations, throughput_marked=True)
    raised = replace(
        own,
        throughput=Throughput(*[rate * noise * 1.2] * 4),
        window_operations=done,
        window_succeeded=done,
        warmup_backlog=backlog,
    )
    return raised, targets


def test_throughput_that_includes_the_backlog_of_a_warm_up_decides_nothing():
    """The baseline misses the target that the contender keeps, but not by as much as throughput says."""
    comparison = of(side(missed, 80.0), side(catching_up, 200.0))
    throughput = next(each for each in comparison.metrics if each.metric.key == "throughput")
    assert (throughput.role, throughput.word, throughput.has_backlog) == ("secondary", "no verdict", True)
    assert throughput.reason == "throughput includes the backlog of the warm-up"
    primary = {each.metric.key for each in comparison.primary}
    assert "throughput" not in primary
    assert primary & {"p99-latency", "p99-service-time", "p90-latency", "p50-latency"}


def test_a_side_outruns_a_schedule_only_without_what_its_warm_up_left():
    """Without a target rate, the engine does 10 % more than the schedule that the contender keeps."""
    comparison = of(side(unpaced, 110.0), side(catching_up, 100.0))
    assert {*words(comparison).values()} == {"void"}
    assert "the throughput of the contender is that of its schedule" in target_finding(comparison).text
