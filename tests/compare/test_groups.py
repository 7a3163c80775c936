"""Comparing groups of races: verdicts, primary metrics, and the answer."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared, index, race, search, unserved
from pacenote.cli.gates.comparison import gate_result
from pacenote.cli.gates.requirements import parse_requirements
from pacenote.compare import groups
from pacenote.compare.groups import compare_groups
from pacenote.errors import UsageError
from pacenote.model.comparison import Comparison, ComparisonOptions, MetricComparison, RaceNoise
from pacenote.model.finding import Finding
from pacenote.model.imported import UNSTATED_TIME, ImportedResults
from pacenote.model.race_record import Verdict
from pacenote.model.result import OperationTotals, WarmupBacklog
from pacenote.report.comparison_texts import (
    answer_sentence,
    answer_text,
    certainty_text,
    main_metric,
    shown_change,
    trust_text,
)
from pacenote.stats.percentile_change import BoundedPercentile, percentile_change
from support.records import task, times


def metric(comparison: Comparison, label: str) -> MetricComparison:
    return next(each for each in comparison.metrics if each.metric.label == label)


def of(sides, **options) -> Comparison:
    return compare_groups(compared(*sides[0]), compared(*sides[1]), ComparisonOptions(**options))


def test_a_change_in_blocks_is_estimated_with_its_interval():
    outcome = of(blocks(8, factor=1.2))
    rate = metric(outcome, "throughput:index-append")
    assert (outcome.design, outcome.answer, rate.word, rate.role) == ("paired", "better", "better", "primary")
    assert rate.change is not None
    assert rate.change.low < 0.2 < (rate.change.high or 0)
    assert rate.change.value == pytest.approx(0.2, abs=0.02)
    assert [each.race_id for each in outcome.baseline.races] == [f"a{number}" for number in range(8)]
    assert outcome.baseline.races[3].block == "heap/3"
    assert outcome.baseline.tags == {"experiment": "heap", "variant": "a"}


def test_equal_races_are_the_same_only_if_the_races_prove_it():
    assert of(blocks(10, noise=0.002)).answer == "same"
    assert of(blocks(3, noise=0.03)).answer == "unclear"


def test_the_other_direction_is_worse():
    sides = blocks(8, factor=1.2)
    comparison = of((sides[1], sides[0]))
    assert comparison.answer == "worse"
    assert metric(comparison, "throughput:index-append").word == "worse"


def test_one_race_each_has_no_verdict_whatever_the_change_is():
    comparison = of(([race("a")], [race("b", 1, tasks=(index(30_000.0), search(0.5)))]))
    assert (comparison.design, comparison.answer) == ("one race each", "no verdict")
    rate = metric(comparison, "throughput:index-append")
    assert (rate.change, rate.relative_change) == (None, pytest.approx(2.0))
    assert rate.reason == "one race each"


def test_percentiles_of_one_race_each_are_as_precise_as_their_operations_make_them():
    sides = [[race("a", tasks=(search(2.0),))], [race("b", 1, tasks=(search(3.0),))]]
    shifts = {each.metric.label: each.shift for each in of(sides).metrics}
    old, new = (side[0].tasks[0].service_time.at(50.0) for side in sides)
    # The percentiles of a race are those of its merged histogram, with the interval of their ranks.
    expected = percentile_change(*(BoundedPercentile(one.ms, one.low_ms, one.high_ms) for one in (old, new)))
    shift = shifts["p50-service-time:term"]
    assert (shift.value, shift.low, shift.high) == pytest.approx((0.5, expected.low - 1, expected.high - 1))
    assert shift.low < 0.5 < shift.high
    assert shifts["throughput:term"] is None
    # More races have the interval of their changes instead; races that must not be compared have none.
    assert all(each.shift is None for each in of(blocks(3)).metrics)
    other = [[*sides[0]], [replace(sides[1][0], challenge="other")]]
    assert all(each.shift is None for each in of(other).metrics)


@pytest.mark.parametrize(
    ("spread", "trust"), [(0.01, "larger than the noise of races"), (0.2, "differ as much")]
)
def test_one_race_each_is_compared_with_measured_noise(spread, trust):
    noise = {"throughput:index-append": RaceNoise(spread, 20)}
    comparison = of(([race("a")], [race("b", 1, tasks=(index(12_000.0), search()))]), noise=noise)
    rate = metric(comparison, "throughput:index-append")
    # Two races differ by a standard deviation of spread × √2; the quantile for 19 degrees is 2.093.
    assert rate.usual_change == pytest.approx(math.expm1(2.093 * spread * math.sqrt(2)), rel=1e-3)
    assert (rate.word, comparison.answer) == ("no verdict", "no verdict")
    assert trust in trust_text(comparison)


def test_races_without_blocks_are_compared_as_groups_whose_drift_is_not_excluded():
    sides = blocks(6, factor=1.2)
    untagged = tuple([replace(each, user_tags={}) for each in side] for side in sides)
    comparison = of(untagged)
    assert (comparison.design, comparison.answer) == ("unpaired", "better")
    assert any("drift of the machine is not excluded" in each.text for each in comparison.findings)
    assert not any("drift" in each.text for each in of(sides).findings)


def test_too_few_races_are_said():
    comparison = of((blocks(2)[0], blocks(2)[1]))
    assert comparison.answer == "no verdict"
    assert metric(comparison, "throughput:index-append").reason == "2 blocks: an interval needs 3"
    comparison = of(([race("a")], [race("b", 1), race("c", 2)]))
    reason = metric(comparison, "throughput:index-append").reason
    assert reason == "1 against 2 races: an interval needs 2 of each"


def test_the_reason_for_no_verdict_on_error_rates_is_the_right_one():
    few = failing(((0.0, 0.0), (0.001, 0.001)))
    tagged = [replace(each, user_tags={"experiment": "e", "block": each.race_id[1:]}) for each in few]
    errors = metric(of((tagged[:2], tagged[2:])), "error-rate:term")
    assert errors.reason == "2 blocks: an interval needs 3"


def test_a_race_given_twice_counts_once():
    """Three copies of one race have no noise, so that a change by 1 % would be better than certain."""
    sides = [race("a")], [race("b", 1, tasks=(index(10_100.0), search()))]
    comparison = of(tuple(side * 3 for side in sides))
    assert (comparison.design, comparison.answer) == ("one race each", "no verdict")
    assert [len(side.races) for side in (comparison.baseline, comparison.contender)] == [1, 1]
    assert "given more than once, but counted once: a and b" in [each.text for each in comparison.findings]


def test_races_of_two_machines_may_have_the_same_id():
    comparison = of(([race("a"), race("a", 5)], [race("b", 1), race("a", 6)]))
    assert [len(side.races) for side in (comparison.baseline, comparison.contender)] == [2, 2]
    assert "counted once" not in " ".join(each.text for each in comparison.findings)


def test_a_race_without_a_time_is_the_same_one_wherever_it_was_imported():
    """Its id follows from the content of its file, its time from when it was imported."""
    unknown = ImportedResults(tool="rally", form="summary", file="f", sha256="0", unstated=(UNSTATED_TIME,))
    here, there = race("a", imported=unknown), race("a", 7, imported=unknown)
    with pytest.raises(UsageError, match="race a is in the baseline and in the contender"):
        of(([here], [there]))
    assert len(of(([here, there], [race("b", imported=unknown)])).baseline.races) == 1


def test_a_side_that_ran_first_in_the_blocks_that_count_is_told():
    sides = blocks(5)
    busy = Verdict("suspect", (Finding("busy", "driver", "", ("index-append",), 0.0),))
    for number in (1, 3):
        sides[1][number] = replace(sides[1][number], verdict=busy)
    comparison = of(sides, primary=("throughput:index-append",), spare_blocks=2)
    assert (
        "the baseline ran first in every block, so that a drift of the machine is not excluded "
        "(of the blocks that count for throughput:index-append)"
    ) in [each.text for each in comparison.findings]
    assert "from 3 blocks" in certainty_text(comparison)


def primary_of(*tasks) -> list[str]:
    """The labels of the primary metrics of one race each with these tasks."""
    comparison = of(([race("a", tasks=tasks)], [race("b", 1, tasks=tasks)]))
    return [each.metric.label for each in comparison.primary if each.metric.kind != "error rate"]


def test_every_task_that_indexes_or_searches_has_one_primary_metric_and_its_error_rate():
    comparison = of((blocks(3)[0], blocks(3)[1]))
    assert [each.metric.label for each in comparison.primary] == [
        *("throughput:index-append", "error-rate:index-append"),
        *("p90-latency:term", "error-rate:term"),
    ]


def test_a_task_without_a_target_rate_is_judged_by_its_throughput():
    assert primary_of(search(paced=False, latency=None)) == ["throughput:term"]


def test_a_task_that_indexes_at_its_target_rate_is_judged_by_its_latency():
    assert primary_of(index(paced=True, latency=times())) == ["p90-latency:index-append"]


def test_the_percentile_that_decides_is_one_that_the_samples_of_all_races_carry():
    assert primary_of(search(latency=times(20))) == ["p50-latency:term"]
    sides = [race("a")], [race("b", 1, tasks=(index(), search(latency=times(20))))]
    labels = [each.metric.label for each in of(sides).primary]
    assert "p50-latency:term" in labels
    assert "p90-latency:term" not in labels


def test_the_track_may_name_other_primary_metrics():
    meta = {"term": {"primary-metrics": ["p99", "throughput"]}}
    sides = [[replace(each, task_meta=meta) for each in side] for side in blocks(3)]
    comparison = of(sides)
    assert [each.metric.label for each in comparison.primary] == ["throughput:term", "p99-latency:term"]
    assert not any("primary" in each.text for each in comparison.findings)
    # What some races name decides; the default of the others does not.
    mixed = (sides[0], [replace(each, task_meta={}) for each in sides[1]])
    assert [each.metric.label for each in of(mixed).primary] == ["throughput:term", "p99-latency:term"]


@pytest.mark.parametrize(
    ("names", "primary"),
    [(["p99.5", "p99"], ["p99-latency:term"]), ("p99.5", None), (7, None)],
)
def test_names_of_the_track_that_are_no_metrics_are_told(names, primary):
    sides = [
        [replace(each, task_meta={"term": {"primary-metrics": names}}) for each in side] for side in blocks(3)
    ]
    comparison = of(sides)
    labels = [each.metric.label for each in comparison.primary]
    assert labels == primary if primary else "throughput:index-append" in labels
    unknown = "7" if names == 7 else "p99.5"
    told = [each for each in comparison.findings if each.text.endswith(f"that not all races have: {unknown}")]
    assert [each.tasks for each in told] == [("term",)]


def test_options_name_other_primary_metrics():
    sides = blocks(3)
    comparison = of(sides, primary=("p90-service-time:term", "segment-count"))
    assert [each.metric.label for each in comparison.primary] == ["segment-count", "p90-service-time:term"]
    with pytest.raises(UsageError, match="no common metric 'p99:trem'") as caught:
        of(sides, primary=("p99:trem",))
    assert "did you mean p99:term" in caught.value.hint


def test_the_smallest_effect_decides_between_better_and_probably_better():
    sides = blocks(8, factor=1.05, noise=0.003)
    assert metric(of(sides), "throughput:index-append").word == "better"
    rate = metric(of(sides, smallest_effect=0.05), "throughput:index-append")
    assert (rate.word, rate.smallest_effect) == ("probably better", 0.05)


def test_better_and_worse_is_mixed():
    sides = blocks(6, factor=1.2)
    slower = [replace(each, tasks=(each.tasks[0], search(3.0))) for each in sides[1]]
    assert of((sides[0], slower)).answer == "mixed"


def voided(sides, *labels: str):
    """Returns races in whose contender figures of the term task are doubtful from a percentile on."""
    late = Verdict("suspect", (Finding("late", "driver", "", ("term",), 90.0),))
    return sides[0], [replace(each, verdict=late) for each in sides[1]]


@pytest.mark.parametrize(
    ("factor", "answer", "better", "fails"),
    [
        (1.2, "partly void", "no answer as a whole", True),
        (1.0, "partly void", "no answer as a whole", True),
        (0.8, "worse", "no: the contender is worse", True),
    ],
)
def test_a_void_primary_metric_leaves_no_good_answer(factor, answer, better, fails):
    comparison = of(voided(blocks(8, factor=factor, noise=0.002)))
    assert (comparison.answer, answer_text(comparison)[: len(better)]) == (answer, better)
    assert answer_sentence(comparison).startswith(f"{answer}: ")
    assert "p90" not in answer_sentence(comparison)
    assert any(each.word in ("worse", "void") for each in comparison.primary) is fails
    assert trust_text(comparison).startswith("in part: 1 reason" if answer == "partly void" else "with care")


def test_only_void_primary_metrics_are_void():
    assert of(voided(blocks(8)), primary=("p99:term",)).answer == "void"


def test_better_in_some_metrics_is_an_answer_in_part():
    draw = random.Random(3)
    sides = [
        [replace(each, tasks=(each.tasks[0], search(2.0 * draw.lognormvariate(0, 0.4)))) for each in side]
        for side in blocks(8, factor=1.2, noise=0.002)
    ]
    comparison = of(sides)
    assert comparison.answer == "better"
    assert answer_sentence(comparison).startswith("better in 1 of 2 metrics: throughput of index-append +2")
    assert answer_text(comparison) == (
        "in 1 of 2 metrics: the contender is better than the baseline (1 better, 1 unclear)"
    )
    assert answer_text(of(blocks(8, factor=1.2, noise=0.002))).startswith("yes: ")


def test_primary_metrics_decide_together():
    """With Holm's correction, the more primary metrics there are, the wider is the interval of each."""
    sides, many = blocks(6, noise=0.15), ("throughput", "p90", "p50", "p99")
    alone = metric(of(sides, primary=("p90:term",)), "p90-latency:term")
    among = metric(of(sides, primary=many), "p90-latency:term")
    assert (alone.word, among.word) == ("unclear", "unclear")
    assert alone.change is not None
    assert among.change is not None
    assert (alone.change.confidence, alone.change.value) == (0.95, among.change.value)
    assert among.change.confidence > 0.98
    assert among.change.alone == alone.change.alone


def test_same_is_shown_by_each_metric_alone():
    """Of twenty metrics, each is the same by its own 95 % interval, which is shown, and all must be."""
    draw = random.Random(4)
    tasks = [f"s{number}" for number in range(20)]
    sides = [
        [
            replace(each, tasks=tuple(search(2.0 * draw.gauss(1, 0.02), task=name) for name in tasks))
            for each in side
        ]
        for side in blocks(20)
    ]
    comparison = of(sides)
    assert (comparison.answer, len(comparison.primary)) == ("same", 40)
    changes = [each.change for each in comparison.primary if each.change]
    assert [each.confidence for each in changes] == [pytest.approx(0.95)] * 20
    # It says within what, of the metric that is nearest to a change that matters, and of all others.
    assert "which excludes a change by 5.0 %; each of the other 19 metrics is farther" in certainty_text(
        comparison
    )


def test_the_headline_of_an_unclear_answer_is_the_metric_nearest_to_a_decision():
    draw = random.Random(2)
    sides = [
        [
            replace(each, tasks=(index(1e4 * draw.gauss(1, 0.05)), search(speed * draw.gauss(1, 0.02))))
            for each in side
        ]
        for side, speed in zip(blocks(5), (2.0, 2.06), strict=True)
    ]
    comparison = of(sides)
    p = {each.metric.label: each.change.p for each in comparison.primary if each.change}
    assert comparison.answer == "unclear"
    assert p["p90-latency:term"] < p["throughput:index-append"]
    assert answer_sentence(comparison).startswith("unclear: p90 latency of term")
    own = metric(comparison, "p90-latency:term").change
    assert own is not None
    assert f"an effect of {own.detectable * 100:.1f} % would have been seen" in certainty_text(comparison)


def test_percentiles_with_too_few_samples_never_decide():
    few = [
        [
            replace(each, tasks=(task("term", service_time=times(200, p50=speed, p99=speed * 4)),))
            for each in side
        ]
        for side, speed in zip(blocks(6), (2.0, 1.0), strict=True)
    ]
    comparison = of(few, primary=("p50", "p99"))
    assert metric(comparison, "p50-service-time:term").word == "better"
    p99 = metric(comparison, "p99-service-time:term")
    assert (p99.word, p99.change, p99.reason) == ("no verdict", None, "too few samples: a race needs 368")
    assert "too few samples for p99" in " ".join(each.text for each in comparison.findings)


def test_missing_samples_are_told_of_all_percentiles_that_decide():
    """Of a task that does not search, and of latency, too."""
    sides = [
        [replace(each, tasks=(index(service_time=times(200)), search(latency=times(100)))) for each in side]
        for side in blocks(3)
    ]
    comparison = of(sides, primary=("p99:index-append", "p99-latency:term", "p50-service-time:term"))
    told = {each.tasks for each in comparison.findings if each.text.startswith("too few samples for p99")}
    assert told == {("index-append", "term")}


def test_a_race_on_both_sides_is_an_error():
    with pytest.raises(UsageError, match="race a is in the baseline and in the contender"):
        compare_groups(compared(race("a")), compared(race("b"), race("a")))
    with pytest.raises(UsageError, match="each need a race"):
        compare_groups(compared(race("a")), [])


def test_only_metrics_of_all_races_are_compared():
    comparison = of(([race("a")], [race("b", 1, tasks=(index(),))]))
    assert {each.metric.task for each in comparison.metrics} == {"", "index-append"}
    missing = next(each for each in comparison.findings if each.tasks == ("term",))
    assert missing.text == "not in all races, and therefore not compared"


def test_races_without_a_partner_are_left_out_and_named():
    sides = blocks(4)
    comparison = of((sides[0], sides[1][:3]))
    assert len(comparison.baseline.races) == 3
    assert any("a3 (heap/3)" in each.text for each in comparison.findings)


def test_the_document_has_every_verdict():
    document = json.loads(json.dumps(of(blocks(6, factor=1.2)).to_document()))
    assert (document["format"], document["answer"]) == (1, "better")
    rate = next(each for each in document["metrics"] if each["metric"]["label"] == "throughput:index-append")
    assert rate["word"] == "better"
    assert set(rate["change"]) == {
        *("value", "low", "high", "confidence", "p", "detectable", "is_absolute", "unit", "alone"),
    }
    assert document["differences"] == [
        {"area": "Race", "key": "race.car_params.heap", "baseline": ["1g"], "contender": ["2g"]}
    ]
    keys = {"text", "cause", "advice", "tasks", "doubtful_from", "voids", "sentence"}
    assert set(document["findings"][0]) == keys


def failing(rates):
    """Returns races of which these shares of 10,000 operations failed."""
    counts = OperationTotals(10_000, 10_000, 0, 0, 0, 0, 10_000, 10_000)
    return [
        race(f"{side}{number}", number, tasks=(task("term", error_rate=rate, accounting=counts),))
        for side, own in zip("ab", rates, strict=True)
        for number, rate in enumerate(own)
    ]


def test_error_rates_are_compared_by_their_difference():
    races = failing(((0.0, 0.0, 0.0, 0.0), (0.008, 0.008, 0.009, 0.008)))
    errors = metric(of((races[:4], races[4:])), "error-rate:term")
    assert errors.word == "worse"
    assert errors.change is not None
    assert (errors.change.is_absolute, errors.change.value) == (True, pytest.approx(0.825))
    assert answer_sentence(of((races[:4], races[4:]))).startswith("worse: error rate of term +0.8")
    few = failing(((0.0, 0.0001, 0.0), (0.0001, 0.0, 0.0)))
    assert metric(of((few[:3], few[3:])), "error-rate:term").word == "same"


def test_error_rates_that_vary_too_much_are_not_shown_to_be_the_same():
    """Failures of ten races that come in two bursts say little about the bursts that others have."""
    requirement = parse_requirements("no-worse:5%:error-rate:term")
    alike = failing(((0.0002, 0.0003, 0.0002) * 3, (0.0003, 0.0002, 0.0002) * 3))
    both = of((alike[:9], alike[9:]))
    assert metric(both, "error-rate:term").word == "same"
    assert not gate_result(both, None, requirement).text
    bursts = failing(((0.0,) * 9 + (0.001,), (0.001,) + (0.0,) * 9))
    both = of((bursts[:10], bursts[10:]))
    errors = metric(both, "error-rate:term")
    assert errors.word == "unclear"
    assert "come in bursts" in errors.reason
    assert errors.change is not None
    assert max(abs(errors.change.low), errors.change.high) < errors.smallest_effect
    assert (
        "is not shown of error-rate:term (unclear: its failures" in gate_result(both, None, requirement).text
    )
    # What is worse is worse all the same.
    worse = failing(((0.0,) * 10, (0.004, 0.009) * 5))
    assert metric(of((worse[:10], worse[10:])), "error-rate:term").word == "worse"


def test_that_no_operation_failed_is_neither_a_verdict_nor_an_answer():
    comparison = of(blocks(10, noise=0.002))
    errors = metric(comparison, "error-rate:term")
    assert (errors.word, errors.change, comparison.answer) == ("no verdict", None, "same")
    assert errors.reason.startswith("0 in all races")


@pytest.mark.parametrize(("races", "is_shown"), [(3, False), (10, True)])
def test_that_few_operations_did_not_fail_does_not_show_that_few_fail(races, is_shown):
    """Each race has 500 operations; that fewer than 0.1 points fail takes 3,688 of them."""
    comparison = of(blocks(races, noise=0.002))
    errors = metric(comparison, "error-rate:index-append")
    expected = 100 * (1 - 0.025 ** (1 / (500 * races)))
    assert errors.possible_rise == pytest.approx(expected)
    assert metric(comparison, "throughput:index-append").possible_rise is None
    text = gate_result(comparison, None, parse_requirements("no-worse:5%:error-rate:index-append")).text
    assert (text == "") is is_shown
    assert is_shown or "so few operations do not exclude a rise by 0.25 points" in text


def test_ranks_that_disagree_are_shown():
    """One slow race of fourteen widens the interval of the mean, but hardly that of the ranks."""
    label, sides = "throughput:index-append", blocks(14, factor=1.2, noise=0.002)
    slow = replace(sides[1][4], tasks=(index(4_000.0), sides[1][4].tasks[1]))
    rate = metric(of((sides[0], [*sides[1][:4], slow, *sides[1][5:]]), primary=(label,)), label)
    assert rate.word == "unclear"
    assert rate.reason == "by ranks better: +19.7 … +20.2 %"


@pytest.mark.process
@pytest.mark.parametrize(("factor", "answers"), [(1.0, {"same", "unclear"}), (0.9, {"worse"})])
def test_answers_are_right_although_the_machine_drifts(factor, answers, monkeypatch):
    """Of a hundred comparisons of identical races, at most five say that something changed, and all but five
    see a planted slowdown by 10 %. The machine slows down by 1 % from race to race; chance decides which side
    is first.
    """
    # The configurations are equal, and comparing them takes most of the time.
    monkeypatch.setattr(groups, "group_differences", lambda *_: ((), ()))
    draw = random.Random(5)
    counts = Counter(of(drifting(draw, factor)).answer for _ in range(100))
    assert sum(count for answer, count in counts.items() if answer not in answers) <= 5


def drifting(draw, factor):
    sides = ([], [])
    for block in range(10):
        order = (0, 1) if draw.random() < 0.5 else (1, 0)
        for position, side in enumerate(order):
            number = 2 * block + position
            rate = 10_000 * 0.99**number * (1.0, factor)[side] * draw.lognormvariate(0, 0.01)
            tasks = (index(rate), search(2.0 * draw.lognormvariate(0, 0.01)))
            tags = {"experiment": "drift", "block": block}
            sides[side].append(race(f"{'ab'[side]}{block}", number, tasks=tasks, user_tags=tags))
    return sides


def test_a_race_that_left_operations_unsent_is_not_faster():
    """The successes of the contender are as fast, but each of its races hung: throughput decides."""

    def sides(share, primary=()):
        baseline, contender = blocks(6)
        baseline = [replace(each, tasks=(search(2.0),)) for each in baseline]
        hung = [replace(each, tasks=(unserved(share),)) for each in contender]
        return of((baseline, hung), primary=primary)

    comparison = sides(0.15)
    p90 = metric(comparison, "p90-latency:term")
    assert (p90.word, p90.change, p90.role) == ("no verdict", None, "secondary")
    assert p90.reason.startswith("so many operations failed, or were not answered or not sent, that")
    assert metric(comparison, "throughput:term").role == "primary"
    assert metric(sides(0.009), "throughput:term").role == "secondary"
    chosen = sides(0.15, ("p90:term",))
    text = "p90 of latency does not decide: more than 10 % of the operations failed, or were not answered or "
    assert [each.tasks for each in chosen.findings if each.text == f"{text}not sent in a race"] == [("term",)]


def test_latency_with_the_backlog_of_a_warm_up_never_decides():
    """It is no headline either, and service time decides."""

    def sides(count):
        return [
            [
                replace(each, tasks=(search(speed, warmup_backlog=WarmupBacklog(135, 4.2, marked=marked)),))
                for each in side
            ]
            for side, speed, marked in zip(blocks(count), (2.0, 1.0), (True, False), strict=True)
        ]

    comparison = of(sides(6))
    assert metric(comparison, "p50-service-time:term").word == "better"
    p99 = metric(comparison, "p99-latency:term")
    assert (p99.word, p99.change, p99.has_backlog) == ("no verdict", None, True)
    assert p99.reason == "latency includes the backlog of the warm-up"
    text = "§ latency includes the backlog of the warm-up in a race, so that it does not decide"
    assert [(each.tasks, each.advice) for each in comparison.findings if each.text == text] == [
        (("term",), "use a longer warm-up")
    ]
    assert shown_change(p99).endswith(" % §")
    assert "p90 service time" in answer_sentence(comparison)
    single = of(sides(1))
    main = main_metric(single)
    assert main is not None
    assert "latency" not in main.metric.key
    assert metric(single, "p99-latency:term").shift is None
