"""What a search answers, and which metrics of its confirmation that rests on."""

from __future__ import annotations

from dataclasses import replace

from compare.races import blocks, compared
from lab.tune.searches import RACE_S, RECORDS, Search, knob, limit, search_plan
from pacenote.compare.groups import compare_groups
from pacenote.lab.tune.confirm import primary_names
from pacenote.lab.tune.evaluate import compared_metric
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.finding import Finding
from pacenote.model.race_record import Verdict
from pacenote.model.tune import Constraint

PLAN = search_plan(knobs=(knob("a", 2),), budget_s=40 * RACE_S, constraints=(limit("p99:term", 10.0),))


def test_what_is_doubtful_answers_nothing(tmp_path):
    """A part of the metrics may be void, and the others decide alone."""
    search = Search.of(tmp_path, PLAN, effect=lambda params: 1.08 if params.get("a") == 2 else 1.0)
    search.run()
    found = search.result()
    assert (found.answer, [one.word for one in found.limits]) == ("better", ["kept"])
    stored = dict(RECORDS)
    for doubtful, answer, word in (("index-append", "void", "kept"), ("term", "not shown", "unclear")):
        verdict = Verdict("suspect", (Finding("late", "machine", "", (doubtful,), 0.0),))
        RECORDS.update({
            folder: replace(race, verdict=verdict)
            for folder, race in stored.items()
            if "experiment" in race.user_tags
        })
        found = search.result()
        assert found.confirmation.variants[1].comparison.answer == "partly void"
        assert (found.answer, [one.word for one in found.limits]) == (answer, [word])


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
