"""What a search answers, and which metrics of its confirmation that rests on."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared
from lab.tune.searches import RACE_S, RECORDS, Search, knob, limit, search_plan
from pacenote.compare.groups import compare_groups
from pacenote.errors import PacenoteError
from pacenote.lab.tune.confirm import primary_names
from pacenote.lab.tune.evaluate import compared_metric, limit_result, tune_result
from pacenote.lab.tune.measure import RaceMeasures, unprovable_limit
from pacenote.lab.tune.progress import MAX_EVENTS, MOST_BLOCKS, TuneProgress
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.finding import Finding
from pacenote.model.race_record import Verdict
from pacenote.model.tune import Candidate, Constraint, TuneEvent
from pacenote.store.race_store import RaceStore

PLAN = search_plan(knobs=(knob("a", 2),), budget_s=40 * RACE_S, constraints=(limit("p99:term", 10.0),))


def test_what_is_doubtful_answers_nothing(tmp_path):
    """A part of the metrics may be void, and the others decide alone."""
    search = Search.of(tmp_path, PLAN, effect=lambda params: 1.08 if params.get("a") == 2 else 1.0)
    search.run()
    result = search.result()
    assert (result.answer, [one.word for one in result.limits]) == ("better", ["kept"])
    stored = dict(RECORDS)
    for doubtful, answer, word in (("index-append", "void", "kept"), ("term", "not shown", "unclear")):
        verdict = Verdict("suspect", (Finding("late", "machine", "", (doubtful,), 0.0),))
        RECORDS.update({
            folder: replace(race, verdict=verdict)
            for folder, race in stored.items()
            if "experiment" in race.user_tags
        })
        result = search.result()
        assert result.confirmation.variants[1].comparison.answer == "partly void"
        assert (result.answer, [one.word for one in result.limits]) == (answer, [word])


def test_the_objective_is_not_another_metric_whose_name_begins_alike():
    names = ("throughput-min:index-append", "throughput:index-append", "p99:term")
    sides = [compared(*side) for side in blocks(6, 1.08, noise=0.001)]
    comparison = compare_groups(*sides, ComparisonOptions(primary=names))
    assert comparison.primary[0].metric.label == "throughput-min:index-append"
    for name in names[:2]:
        assert compared_metric(comparison, name).metric.label == name
    assert compared_metric(comparison, "p99:term").metric.label == "p99-latency:term"
    assert compared_metric(comparison, "p50:term") is None


def test_the_errors_of_what_is_measured_decide_too():
    plan = search_plan(
        constraints=(Constraint("p99:term", "<", 5.0), Constraint("error-rate:term", "<", 1.0))
    )
    assert primary_names(plan) == (
        "throughput:index-append",
        "p99:term",
        "error-rate:term",
        "error-rate:index-append",
    )


ERRORS = Constraint("error-rate:term", "<", 0.1)


@pytest.mark.parametrize(
    ("rates", "operations", "bound", "word"),
    [
        # 500 operations without a failure do not exclude a rate of 0.6 %.
        ([0.0] * 5, [100] * 5, 0.597, "unclear"),
        ([0.0] * 5, [1_000] * 5, 0.0599, "kept"),
        ([0.0] * 5, [], 100.0, "unclear"),
        ([0.0] * 5, [1_000] * 4 + [0], 100.0, "unclear"),
        ([1.0] * 5, [100] * 5, 2.1, "broken"),
        ([0.2] * 5, [1_000] * 5, 0.339, "broken"),
        ([0.2] * 2, [1_000] * 2, 0.456, "unclear"),
    ],
)
def test_an_error_rate_is_as_certain_as_its_operations(rates, operations, bound, word):
    result = limit_result(ERRORS, rates, operations)
    assert (result.value, result.word) == (pytest.approx(rates[0]), word)
    assert result.bound == pytest.approx(bound, rel=0.01)


def test_equal_times_are_as_certain_as_the_histograms():
    words = {value: limit_result(limit("p99:term", 50.0), [value] * 5).word for value in (49.9, 50.0, 50.1)}
    assert words == {49.9: "kept", 50.0: "unclear", 50.1: "broken"}


def test_the_confirmation_counts_the_operations_of_a_limit(tmp_path):
    limits = (Constraint("error-rate:index-append", "<", 0.1), Constraint("error-rate:term", "<", 0.1))
    plan = search_plan(knobs=(knob("a", 2),), budget_s=40 * RACE_S, constraints=limits)
    search = Search.of(tmp_path, plan, effect=lambda params: 1.08 if params.get("a") == 2 else 1.0)
    search.run()
    result = search.result()
    errors = compared_metric(result.confirmation.variants[1].comparison, "error-rate:index-append")
    # It has all its blocks, although its objective is clear after 5 of them.
    assert errors.contender_operations == (500,) * 10
    assert result.limits[0].bound == pytest.approx(100 * (1 - 0.05 ** (1 / 5_000)))
    assert [one.word for one in result.limits] == ["kept", "kept"]
    assert result.answer == "better"


def test_a_limit_that_no_confirmation_can_show_is_refused():
    limits = (Constraint("p99:term", "<", 5.0), Constraint("error-rate:term", "<", 0.1))
    plan = search_plan(knobs=(knob("a", 2),), constraints=limits)
    assert unprovable_limit(RaceMeasures(1.0, (4.0, 0.0), (0, 300)), plan) == ""
    problem = unprovable_limit(RaceMeasures(1.0, (4.0, 0.0), (0, 299)), plan)
    assert problem.startswith("10 races cannot show that error-rate:term < 0.1 % is kept: each needs 300 ")


AT = "2026-03-01T12:00:00+00:00"
DEFAULT_CANDIDATE = Candidate(0, (0,), "default")
SUGGESTED = TuneEvent(event="suggested", at=AT, candidates=(DEFAULT_CANDIDATE, Candidate(1, (1,), "drawn")))


def suggested(levels: tuple[int, ...]) -> TuneEvent:
    return replace(SUGGESTED, candidates=(Candidate(0, levels, "drawn"),))


def ended(candidate: int, block: int, objective: float, limits: tuple[float, ...] = (5.0,)) -> TuneEvent:
    return TuneEvent(
        event="ended",
        at=AT,
        candidate=candidate,
        block=block,
        outcome="raced",
        objective=objective,
        limits=limits,
    )


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([TuneEvent(event="chosen", at=AT, candidate=7)], "chooses the unknown candidate 7"),
        (
            [replace(SUGGESTED, candidates=(Candidate(0, (2,), "drawn"),))],
            "levels that the knobs do not have",
        ),
        (
            [replace(SUGGESTED, candidates=(Candidate(0, (-1,), "drawn"),))],
            "levels that the knobs do not have",
        ),
        ([replace(SUGGESTED, candidates=(Candidate(0, (), "drawn"),))], "levels that the knobs do not have"),
        ([SUGGESTED, ended(0, 1, 1.0, ())], "does not have a value for each limit"),
        ([ended(0, block, 1.0) for block in range(MOST_BLOCKS + 1)], "more races, blocks or candidates"),
        ([SUGGESTED] * (MAX_EVENTS + 1), "more races, blocks or candidates"),
    ],
)
def test_a_journal_that_no_search_has_is_refused(events: list[TuneEvent], problem: str) -> None:
    with pytest.raises(PacenoteError, match=problem):
        TuneProgress.of(PLAN, events)


def test_the_largest_and_the_smallest_numbers_are_compared(tmp_path: Path) -> None:
    journal = [SUGGESTED, *(ended(one, block, (5e-324, 1e75)[one]) for block in (1, 2) for one in (0, 1))]
    result = tune_result(TuneProgress.of(PLAN, journal), RaceStore(tmp_path))
    assert result.candidates[0].change > 1e80


@pytest.mark.parametrize("name", ["../../races/r", "/etc", "a\0b", "x" * 5_000])
def test_a_confirmation_is_an_experiment_of_the_store(tmp_path: Path, name: str) -> None:
    journal = [
        SUGGESTED,
        TuneEvent(event="chosen", at=AT, candidate=1),
        TuneEvent(event="confirming", at=AT, experiment_id=name),
    ]
    result = tune_result(TuneProgress.of(PLAN, journal), RaceStore(tmp_path))
    assert (result.answer, result.confirmation) == ("none yet", None)
