"""Quality metrics: a speed that is paid for with quality is not better."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from compare.quality_races import quality_blocks, with_values
from compare.races import changed, compared, search
from pacenote.cli.gates.comparison import gate_result, parse_gates
from pacenote.cli.gates.requirements import parse_requirements
from pacenote.compare.groups import compare_groups
from pacenote.compare.metrics import race_metrics
from pacenote.errors import UsageError
from pacenote.model.comparison import Comparison, ComparisonOptions, MetricComparison
from pacenote.report.comparison_texts import answer_sentence, answer_text
from pacenote.report.page.comparison.build import ComparisonPageSources, build_comparison_page
from pacenote.report.quality_texts import quality_text
from pacenote.report.render.comparison import render_comparisons_csv
from pacenote.report.render.comparison_junit import render_comparison_junit
from pacenote.report.render.page import render_small_page
from pacenote.report.screen.comparison import comparison_lines
from pacenote.report.screen.text import plain_text


def of(sides, **options) -> Comparison:
    return compare_groups(compared(*sides[0]), compared(*sides[1]), ComparisonOptions(**options))


def metric(comparison: Comparison, label: str) -> MetricComparison:
    return next(each for each in comparison.metrics if each.metric.label == label)


def with_meta(sides, meta):
    return tuple(changed(side, task_meta={"knn": meta}) for side in sides)


def screen(comparison: Comparison) -> list[str]:
    return plain_text(comparison_lines(comparison, (), 120)).splitlines()


def test_a_faster_search_that_finds_less_is_not_better():
    result = of(quality_blocks({"recall": 0.93}, {"recall": 0.56}))
    recall = metric(result, "recall:knn")
    assert (result.answer, recall.word, recall.role) == ("mixed", "worse", "quality")
    assert metric(result, "p90-latency:knn").word == "better"
    assert recall.change is not None
    assert recall.change.value == pytest.approx(0.56 / 0.93 - 1, abs=0.01)
    # It is said first, everywhere.
    assert answer_sentence(result).startswith("mixed: mean recall of knn -39.")
    assert "p90 latency of knn -2" in answer_sentence(result)
    lines = screen(result)
    assert lines[0].startswith(" MIXED  mean recall of knn -39.")
    assert next(line for line in lines[1:] if line.startswith("  ") and "Quality" in line).split()[:6] == [
        "Quality",
        "mean",
        "recall",
        "of",
        "knn",
        "is",
    ]
    assert "quality: 1 worse" in answer_text(result)
    page = render_small_page(build_comparison_page(ComparisonPageSources(result, (), "")))
    assert page.index("Mean recall of knn") < page.index("90 latency of knn")
    (row,) = [row for row in render_comparisons_csv({"b": result}, full=True).splitlines() if "recall" in row]
    assert row.startswith("mean recall,knn,0.93")
    assert ",quality,worse," in row


def test_a_faster_search_that_finds_as_much_is_better():
    comparison = of(quality_blocks({"recall": 0.93}, {"recall": 0.9302}))
    assert (comparison.answer, metric(comparison, "recall:knn").word) == ("better", "same")
    assert quality_text(comparison) == "mean recall of knn does not differ by what matters"


def test_quality_that_improves_does_not_make_anything_better():
    sides = quality_blocks({"recall": 0.56}, {"recall": 0.93}, faster=1 / 1.5)
    comparison = of(sides)
    assert (comparison.answer, metric(comparison, "recall:knn").word) == ("worse", "better")
    assert "mean recall of knn is better" in quality_text(comparison)


def test_lower_quality_alone_is_worse():
    comparison = of(quality_blocks({"recall": 0.93}, {"recall": 0.56}, faster=1.0))
    assert comparison.answer == "worse"
    assert answer_sentence(comparison).startswith("worse: mean recall of knn")


def test_a_quality_that_is_probably_worse_blocks_better_too():
    first, second = quality_blocks({"recall": 0.93}, {"recall": 0.56})
    apart = (changed(first, user_tags={}), changed(second, user_tags={}))
    days = [replace(each, timestamp=each.timestamp.replace(day=20)) for each in apart[1]]
    comparison = of((apart[0], days))
    assert comparison.run_order == "baseline first"
    assert (comparison.answer, metric(comparison, "recall:knn").word) == ("mixed", "probably worse")


def test_gates_and_requirements_include_quality():
    comparison = of(quality_blocks({"recall": 0.93}, {"recall": 0.56}))
    for gate in ("worse", "worse:recall:knn", "probably-worse:recall"):
        assert gate_result(comparison, parse_gates(gate)).text == "--fail-on: recall:knn is worse"
    assert gate_result(comparison, parse_gates("worse:p90:knn")).text == ""
    for text in ("no-worse:5%", "no-worse:5%:recall:knn"):
        problem = gate_result(comparison, None, parse_requirements(text)).text
        assert f"--require={text} is not shown of recall:knn" in problem
    same = of(quality_blocks({"recall": 0.93}, {"recall": 0.93}))
    assert gate_result(same, parse_gates("worse"), parse_requirements("no-worse:5%")).text == ""


def test_quality_can_decide():
    outcome = of(quality_blocks({"recall": 0.93}, {"recall": 0.56}), primary=("recall:knn",))
    assert (outcome.answer, [each.metric.label for each in outcome.primary]) == ("worse", ["recall:knn"])
    outcome = of(quality_blocks({"recall": 0.56}, {"recall": 0.93}), primary=("recall",))
    assert outcome.answer == "better"


@pytest.mark.parametrize(
    ("declared", "word"),
    [
        ({"distance": "lower"}, "worse"),
        ({"distance": {"direction": "lower", "unit": "m"}}, "worse"),
        ({"distance": "higher"}, "better"),
        ({"distance": "neutral"}, "changed"),
    ],
)
def test_the_direction_is_declared_by_the_track(declared, word):
    sides = quality_blocks({"distance": 2.0}, {"distance": 3.0})
    comparison = of(with_meta(sides, {"quality-metrics": declared}))
    distance = metric(comparison, "distance:knn")
    assert (distance.word, distance.role) == (word, "quality")
    assert distance.metric.unit == ("m" if isinstance(declared["distance"], dict) else "")
    assert comparison.answer == ("mixed" if word == "worse" else "better")


def test_an_option_says_the_direction_before_the_track():
    sides = with_meta(
        quality_blocks({"distance": 2.0}, {"distance": 3.0}), {"quality-metrics": {"distance": "lower"}}
    )
    assert of(sides, quality={("", "distance"): "higher"}).answer == "better"
    assert of(sides, quality={("knn", "distance"): "neutral"}).answer == "better"
    assert of(sides, quality={("other", "distance"): "higher"}).answer == "mixed"


def test_only_one_side_may_declare_it():
    old, new = quality_blocks({"distance": 2.0}, {"distance": 3.0})
    declared = changed(new, task_meta={"knn": {"quality-metrics": {"distance": "lower"}}})
    assert of((old, declared)).answer == "mixed"


def test_a_number_of_unknown_direction_has_changed_and_decides_nothing():
    comparison = of(quality_blocks({"x": 2.0}, {"x": 3.0}))
    number = metric(comparison, "x:knn")
    assert (number.word, number.role, number.metric.higher_is_better) == ("changed", "secondary", None)
    assert (comparison.answer, quality_text(comparison)) == ("better", "")


def test_that_the_number_of_hits_changed_is_said():
    comparison = of(quality_blocks({"hits": 10.0}, {"hits": 8.0}))
    assert (comparison.answer, metric(comparison, "hits:knn").word) == ("better", "changed")
    assert any("mean hits changed (10" in finding.text for finding in comparison.findings)
    assert gate_result(comparison, parse_gates("worse")).text == ""


def test_values_that_are_not_above_zero_are_compared_by_their_difference():
    comparison = of(quality_blocks({"recall": 0.9}, {"recall": 0.0}))
    recall = metric(comparison, "recall:knn")
    assert (comparison.answer, recall.word, recall.is_absolute) == ("mixed", "worse", True)
    assert recall.change is not None
    assert recall.change.value == pytest.approx(-0.9, abs=0.01)
    assert "-0.9" in answer_sentence(comparison)
    assert "points" not in "".join(screen(comparison))
    metres = {"knn": {"quality-metrics": {"distance": {"direction": "lower", "unit": "m"}}}}
    sides = [changed(side, task_meta=metres) for side in quality_blocks({"distance": 0.0}, {"distance": 2.0})]
    assert any("+2 m" in line for line in screen(of(sides)))
    unmet = gate_result(comparison, None, parse_requirements("no-worse:5%:recall")).text
    assert "is not shown of recall:knn" in unmet


def test_what_matters_of_a_speed_does_not_matter_for_quality():
    sides = quality_blocks({"recall": 0.93}, {"recall": 0.88})
    comparison = of(sides, smallest_effect=0.2)
    assert (comparison.answer, metric(comparison, "recall:knn").smallest_effect) == ("mixed", 0.01)


def test_few_races_do_not_hide_that_quality_may_be_worse():
    comparison = of(quality_blocks({"recall": 0.93}, {"recall": 0.56}, count=1))
    assert comparison.design == "one race each"
    assert any("mean recall may be worse (0.93" in finding.text for finding in comparison.findings)
    assert quality_text(comparison).startswith("not decided: mean recall of knn: 0.93")


def test_quality_that_only_one_side_has_is_said():
    old, new = quality_blocks({"recall": 0.93}, {})
    comparison = of((old, new))
    (finding,) = [each for each in comparison.findings if "recall" in each.text]
    assert finding.text == "not all races have recall, so that it is not known whether quality changed"
    assert finding.tasks == ("knn",)
    assert comparison.lacking_quality == ("recall:knn",)
    # It may have fallen: nothing is shown.
    for requirement in ("no-worse:1%", "no-worse:1%:primary"):
        result = gate_result(comparison, None, parse_requirements(requirement))
        assert result.text.endswith("is not shown of recall:knn (not all races have it)")
    assert not gate_result(comparison, None, parse_requirements("no-worse:1%:p90:knn")).text
    for gate in ("worse", "worse:primary", "probably-worse", "regression"):
        result = gate_result(comparison, parse_gates(gate))
        assert result.text == "--fail-on: not all races have recall:knn, so that it may be worse"
        assert result.failed == ("recall:knn",)
    # What is not about everything that decides, or about what is worse, holds without it.
    for gate in ("worse:p90:knn", "same", "unclear"):
        assert not gate_result(comparison, parse_gates(gate)).failed
    declared = with_meta(quality_blocks({}, {}), {"quality-metrics": {"ndcg@10": "higher"}})
    assert any("not all races have ndcg@10" in each.text for each in of(declared).findings)


@pytest.mark.parametrize("swapped", [False, True])
def test_junit_has_a_case_for_quality_that_only_one_side_has(swapped):
    sides = quality_blocks({"recall": 0.93}, {})
    comparison = of(sides[::-1] if swapped else sides)
    fails = gate_result(comparison, parse_gates("worse")).failed
    case = render_comparison_junit(comparison, fails).partition('<testcase classname="knn" name="recall">')[2]
    assert case.splitlines()[1] == '    <failure message="not all races have it, so that it may be worse"/>'
    assert "<skipped message=" in render_comparison_junit(comparison, ()).partition('name="recall">')[2]


def test_sides_that_declare_opposite_directions_are_named():
    old, new = (
        changed(side, task_meta={"knn": {"quality-metrics": {"distance": direction}}})
        for side, direction in zip(
            quality_blocks({"distance": 2.0}, {"distance": 3.0}), ("higher", "lower"), strict=True
        )
    )
    text = 'races declare "distance" in quality-metrics of knn differently: that of the last one counts'
    assert text in [each.text for each in of((old, new)).findings]
    given = of((old, new), quality={("", "distance"): "lower"})
    assert text not in [each.text for each in given.findings]


@pytest.mark.parametrize("wrong", ["up", ["recall"], {"recall": "up"}, {"recall": {"unit": "m"}}])
def test_a_wrong_declaration_is_said(wrong):
    comparison = of(with_meta(quality_blocks({"recall": 0.9}, {"recall": 0.9}), {"quality-metrics": wrong}))
    (finding,) = [each for each in comparison.findings if "quality-metrics" in each.text]
    assert finding.cause == "track"
    assert " is not " in finding.text


def test_names_of_other_metrics_are_not_taken():
    task = with_values(search(task="knn"), {"throughput": 3.0, "error-rate": 0.1, "p99": 4.0, "recall": 0.9})
    record = replace(quality_blocks({}, {})[0][0], tasks=(task,))
    labels = [metric.label for metric in race_metrics(record)]
    assert len(set(labels)) == len(labels)
    assert {"returned-throughput:knn", "returned-error-rate:knn", "returned-p99:knn", "recall:knn"} <= set(
        labels
    )


def test_points_in_time_are_not_compared():
    task = with_values(search(task="knn"), {"start_time_millis": 1.0, "duration": 2.0})
    record = replace(quality_blocks({}, {})[0][0], tasks=(task,))
    assert [metric.key for metric in race_metrics(record) if metric.kind == "custom"] == ["duration"]


def test_equal_values_have_an_interval_that_is_not_empty():
    comparison = of(quality_blocks({"recall": 0.93}, {"recall": 0.56}, noise=0.0))
    recall = metric(comparison, "recall:knn")
    assert recall.change is not None
    assert recall.change.low < math.fsum((0.56 / 0.93, -1)) < (recall.change.high or math.inf)


def test_a_quality_metric_that_does_not_exist_cannot_be_a_gate():
    comparison = of(quality_blocks({"recall": 0.93}, {"recall": 0.93}))
    with pytest.raises(UsageError, match="no common metric 'ndcg:knn'"):
        gate_result(comparison, parse_gates("worse:ndcg:knn"))


@pytest.mark.parametrize("name", ["recall_at_10", "knn_recall", "ndcg_at_10", "p@10", "recall10"])
def test_usual_names_of_quality_are_known(name):
    comparison = of(quality_blocks({name: 0.93}, {name: 0.56}))
    assert (comparison.answer, metric(comparison, f"{name}:knn").role) == ("mixed", "quality")
    assert gate_result(comparison, parse_gates("worse")).failed == (f"{name}:knn",)


def test_a_number_that_changed_and_may_be_a_quality_limits_the_answer():
    comparison = of(quality_blocks({"score": 0.93}, {"score": 0.56}))
    limits = [str(each) for each in comparison.findings if "whose direction is not known" in each.text]
    assert len(limits) == 1
    assert "mean score changed by -39." in limits[0]
    assert "--quality=score=higher" in limits[0]
    for old, new in (({"score": 0.93}, {"score": 0.93}), ({"took": 5.0}, {"took": 2.0})):
        comparison = of(quality_blocks(old, new))
        assert not any("whose direction is not known" in each.text for each in comparison.findings)
