"""Trends of races with known changes."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta

import pytest
from msgspec import structs

from compare.quality_races import with_values
from compare.races import index, race, search, unserved
from pacenote.compare.trend import find_trend
from pacenote.errors import StoreError, UsageError
from pacenote.model.comparison import ComparedRace
from pacenote.model.custom_metrics import QualityDirection
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.imported import UNSTATED_TIME, ImportedResults, ImportedValue
from pacenote.model.race_record import Environment, RaceRecord, RecordedCluster, Verdict
from pacenote.model.race_state import race_state
from pacenote.model.result import OperationTotals, WarmupBacklog
from pacenote.model.trend import MetricTrend, Trend, TrendOptions
from pacenote.report.render.trend import render_trend_csv
from pacenote.report.screen.screen import Command
from pacenote.report.screen.text import plain_text
from pacenote.report.screen.trend import trend_lines
from support.records import times

Factor = Callable[[int], float]


def one(_night: int) -> float:
    return 1.0


def nights(
    count: int,
    rate: Factor = one,
    time: Factor = one,
    revision: Callable[[int], str] = lambda night: f"r{night:02}",
    noise: float = 0.01,
) -> list[RaceRecord]:
    """Returns a race for each night: how fast it indexed and how long a search took, with this noise."""
    draw = random.Random(11)
    records = []
    for night in range(count):
        tasks = (
            index(10_000 * rate(night) * draw.gauss(1, noise)),
            search(2.0 * time(night) * draw.gauss(1, noise)),
        )
        cluster = RecordedCluster("opensearch", "3.3.0", None, revision(night), "c", ({"name": "node-0"},))
        own = race(f"n{night:02}", tasks=tasks, cluster=cluster)
        records.append(structs.replace(own, timestamp=own.timestamp + timedelta(days=night)))
    return records


def trend_of(records: Iterable[RaceRecord], **options: object) -> Trend:
    races = [ComparedRace(each, state=race_state(each)) for each in records]
    return find_trend(races, TrendOptions(**options))  # type: ignore[arg-type]


def metric(trend: Trend, label: str = "throughput:index-append") -> MetricTrend:
    return next(each for each in trend.metrics if each.metric.label == label)


def step(at: int, factor: float) -> Factor:
    return lambda night: factor if night >= at else 1.0


def shown(trend: Trend, width: int = 80) -> str:
    return plain_text(trend_lines(trend, (), width))


def test_a_steady_track_has_no_regression():
    trend = trend_of(nights(20))
    assert trend.answer == "no regression"
    assert not trend.events
    assert all(not each.changes for each in trend.metrics)
    rate = metric(trend)
    assert len(rate.points) == 20
    assert rate.levels[0].low < 10_000 < rate.levels[0].high
    assert rate.noise == pytest.approx(0.01, rel=0.4)
    assert 0.02 < (rate.detectable or 0) < 0.07
    assert "NO REGRESSION" in shown(trend)


def test_a_worsening_among_the_newest_races_is_a_regression():
    trend = trend_of(nights(20, rate=step(14, 0.85)))
    assert trend.answer == "regression"
    (change,) = metric(trend).changes
    assert (change.before, change.after, change.word) == (13, 14, "worse")
    assert change.change.value == pytest.approx(-0.15, abs=0.01)
    assert change.change.low < -0.15 < (change.change.high or 0)
    assert (change.matters, change.is_new, change.is_regression) == (True, True, True)
    assert [event.metrics for event in trend.events] == [("throughput:index-append",)]
    text = shown(trend)
    assert "REGRESSION  throughput of index-append -1" in text
    assert "since 2026-03-15 12:30 (n14)" in " ".join(text.split())


def test_a_longer_time_is_worse_and_a_higher_rate_is_better():
    trend = trend_of(nights(20, rate=step(12, 1.2), time=step(12, 1.3)))
    assert metric(trend).changes[0].word == "better"
    assert metric(trend, "p90-latency:term").changes[0].word == "worse"
    assert {each.metric.key for each, _ in trend.regressions} == {"p90-latency"}
    (event,) = trend.events
    assert len(event.metrics) == 2


def test_an_old_worsening_is_a_regression_that_is_not_new():
    records = nights(30, rate=step(10, 0.85))
    trend = trend_of(records)
    (change,) = metric(trend).changes
    assert (change.word, change.is_new, change.is_regression) == ("worse", False, True)
    assert trend.answer == "regression"
    assert "none of them newly" in shown(trend)
    assert metric(trend_of(records, new_races=20)).changes[0].is_new
    # Only what was not found before a day is a regression since that day.
    day = records[10].timestamp.date()
    assert trend_of(records, since=day).answer == "regression"
    assert trend_of(records, since=day + timedelta(days=5)).answer == "no regression"
    assert trend_of(records, since=date(2030, 1, 1)).new_from == 30


def test_a_regression_that_was_made_up_for_is_none_any_more():
    trend = trend_of(nights(30, rate=lambda night: 0.85 if 22 <= night < 26 else 1.0))
    changes = metric(trend).changes
    assert [(each.after, each.word, each.is_regression) for each in changes] == [
        (22, "worse", False),
        (26, "better", False),
    ]
    assert trend.answer == "no regression"
    half = trend_of(nights(30, rate=lambda night: 0.8 if 22 <= night < 26 else 0.9 if night >= 26 else 1.0))
    assert [each.is_regression for each in metric(half).changes] == [True, False]


def test_one_race_that_is_far_off_is_to_be_repeated():
    trend = trend_of(nights(20, rate=step(19, 0.7)))
    assert trend.answer == "last race deviates"
    rate = metric(trend)
    assert not rate.changes
    assert rate.deviation is not None
    assert (rate.deviation.races, rate.deviation.word) == (1, "worse")
    assert rate.deviation.change == pytest.approx(-0.3, abs=0.03)
    text = " ".join(shown(trend).split())
    assert re.search(r"the last race deviates \(throughput of index-append -(29|30)\.", text)
    assert "one race is no verdict: repeat it" in text
    two = trend_of(nights(11, rate=step(9, 0.7)))
    assert "two races are no verdict: run one more" in " ".join(shown(two).split())
    assert re.search(r"last 2 races -(29|30|31)\.", shown(two))
    assert trend_of(nights(20, rate=step(18, 0.7))).answer == "regression"


def test_a_last_race_that_is_better_is_no_reason_to_worry():
    trend = trend_of(nights(20, rate=step(19, 1.5)))
    assert trend.answer == "no regression"
    assert metric(trend).deviation is not None


def test_a_slow_drift_is_one():
    trend = trend_of(nights(40, rate=lambda night: 0.995**night))
    assert trend.answer == "regression"
    drift = metric(trend).drift
    assert drift is not None
    assert (drift.word, drift.is_regression) == ("worse", True)
    assert drift.per_race == pytest.approx(-0.005, rel=0.1)
    assert re.search(r"changes gradually: by -0\.\d+ % per race", " ".join(shown(trend).split()))


def test_a_certain_change_that_is_too_small_to_matter_is_the_same():
    trend = trend_of(nights(40, rate=step(20, 0.978)))
    (change,) = metric(trend).changes
    assert (change.word, change.matters) == ("same", False)
    assert not trend.events
    assert metric(trend_of(nights(40, rate=step(20, 0.978)), smallest_effect=0.01)).changes[0].matters


def test_the_facts_that_changed_here_and_only_here_come_first():
    records = nights(20, rate=step(14, 0.85))
    changed = [
        structs.replace(each, car_params={"heap": "1g" if night < 14 else "512m"})
        for night, each in enumerate(records)
    ]
    (event,) = trend_of(changed).events
    facts = {fact.difference.key: (fact.difference, fact.only_here) for fact in event.facts}
    heap, only_here = facts["race.car_params.heap"]
    assert (heap.baseline, heap.contender, only_here) == (("1g",), ("512m",), True)
    revision, everywhere = facts["engine.build_hash"]
    assert (revision.baseline, revision.contender, everywhere) == (("r13",), ("r14",), False)
    assert event.facts[0].only_here
    text = shown(trend_of(changed))
    assert "changed here    race.car_params.heap: 1g → 512m" in text
    assert "opensearch 3.3.0 r13 → opensearch 3.3.0 r14" in " ".join(text.split())


def test_too_few_races_say_how_many_are_needed():
    trend = trend_of(nights(5, rate=step(2, 0.5)))
    assert trend.answer == "too few races"
    assert metric(trend).reason == "5 races: 6 are needed to find a change"
    assert "not known: 5 races: 6 are needed" in shown(trend)
    assert trend_of(nights(6, rate=step(3, 0.5))).answer == "regression"


def test_races_that_must_not_be_used_are_left_out_and_named():
    records = nights(12)
    tags = {"experiment": "heap", "variant": "a", "block": 1}
    options = structs.replace(records[5].options, test_mode=True)
    changed = [
        structs.replace(records[0], verdict=Verdict("void", (Finding("bad"),))),
        structs.replace(records[1], complete=False, interrupted=True),
        structs.replace(records[2], user_tags=tags),
        structs.replace(records[3], challenge="other"),
        structs.replace(records[4], car=("4gheap",)),
        structs.replace(records[5], options=options),
        structs.replace(records[6], environment=Environment(cpu_model="Another CPU", cpu_logical_cores=64)),
    ]
    trend = trend_of([*changed, *records[7:]])
    assert [each.race_id for each in trend.races] == [each.race_id for each in records[7:]]
    text = "\n".join(trend.left_out)
    for part in (
        "1 race is void: n00",
        "1 race did not finish: n01",
        "1 race is of experiments, whose order is part of their design: n02",
        "another challenge than append-no-conflicts: other (n03)",
        "another car than defaults: 4gheap (n04)",
        "test mode, which does not measure: n05",
        "another machine than A CPU, 2 cores: Another CPU, 64 cores (n06)",
    ):
        assert part in text


def test_races_of_an_experiment_are_used_if_all_are():
    tags = {"experiment": "heap", "variant": "a"}
    trend = trend_of(structs.replace(each, user_tags=tags | {"block": 1}) for each in nights(8))
    assert len(trend.races) == 8


def test_no_race_that_can_be_used_is_an_error():
    void = [structs.replace(each, verdict=Verdict("void", (Finding("bad"),))) for each in nights(2)]
    with pytest.raises(StoreError, match="no race can be used for a trend") as raised:
        trend_of(void)
    assert raised.value.hint == "2 races are void: n00 and n01"


def test_only_the_newest_races_are_used_if_asked():
    trend = trend_of(nights(20), last=8)
    assert [each.race_id for each in trend.races] == [f"n{night:02}" for night in range(12, 20)]
    assert any("12 older races" in text for text in trend.left_out)


def test_suspect_races_are_marked_and_a_change_to_them_is_probable_at_most():
    records = nights(20, rate=step(14, 0.85))
    doubt = Verdict("suspect", (Finding("the driver was busy", "driver", "", (), EVERYTHING),))
    after = [
        structs.replace(each, verdict=doubt) if night >= 14 else each for night, each in enumerate(records)
    ]
    trend = trend_of(after)
    (change,) = metric(trend).changes
    assert (change.word, change.is_regression) == ("probably worse", True)
    assert [point.is_doubtful for point in metric(trend).points] == [False] * 14 + [True] * 6
    assert any("6 races are suspect" in note for note in trend.notes)
    few = [
        structs.replace(each, verdict=doubt) if night in (14, 15) else each
        for night, each in enumerate(records)
    ]
    assert metric(trend_of(few)).changes[0].word == "worse"


def test_error_rates_are_compared_by_points():
    def rate(night: int) -> float:
        return 0.006 if night >= 12 else 0.0

    totals = OperationTotals(5000, 5000, 0, 0, 0, 0, 5000, 5000)
    records = [
        structs.replace(each, tasks=(index(error_rate=rate(night), accounting=totals), *each.tasks[1:]))
        for night, each in enumerate(nights(18))
    ]
    trend = trend_of(records)
    (change,) = metric(trend, "error-rate:index-append").changes
    assert (change.change.is_absolute, change.word) == (True, "worse")
    assert change.change.value == pytest.approx(0.6)
    assert metric(trend, "error-rate:term").reason == "0 in all races"
    assert "+0.6 points" in shown(trend)


@pytest.mark.parametrize(("operations", "changes"), [(100, 0), (100_000, 1)])
def test_few_operations_do_not_show_that_an_error_rate_changed(operations, changes):
    """One failure of 100 operations in each of the last races may be chance; 1 % of 100,000 is not."""
    totals = OperationTotals(operations, operations, 0, 0, 0, 0, operations, operations)
    records = [
        structs.replace(
            each, tasks=(index(error_rate=0.01 * (night >= 12), accounting=totals), *each.tasks[1:])
        )
        for night, each in enumerate(nights(18))
    ]
    trend = trend_of(records)
    rate = metric(trend, "error-rate:index-append")
    assert len(rate.changes) == changes
    assert rate.deviation is None
    assert len(trend.regressions) == changes
    # The level of 0 is as uncertain as so many operations leave it.
    high = rate.levels[0].high
    assert high > 0.1 if changes == 0 else high < 0.1


@pytest.mark.parametrize(
    ("operations", "rate", "night"), [(500, 0.006, 2), (500, 0.003, 5), (5000, 0.003, 2)]
)
def test_a_higher_error_rate_is_found_soon(operations, rate, night):
    """With 500 operations, a rate of 0.6 % is three failures a race, of which there were none in 30 races."""
    totals = OperationTotals(operations, operations, 0, 0, 0, 0, operations, operations)
    failed = [0] * 30 + [math.floor(operations * rate) + at % 2 for at in range(night)]
    records = [
        structs.replace(
            each, tasks=(index(error_rate=count / operations, accounting=totals), *each.tasks[1:])
        )
        for each, count in zip(nights(len(failed)), failed, strict=True)
    ]
    assert trend_of(records[:31]).answer != "regression"
    trend = trend_of(records)
    assert [(each.metric.label, change.after) for each, change in trend.regressions] == [
        ("error-rate:index-append", 30)
    ]


def test_the_failures_of_an_outlier_do_not_hide_a_change():
    """A race in which everything failed is no part of its level, and its operations do not count."""
    totals = OperationTotals(1000, 1000, 0, 0, 0, 0, 1000, 1000)

    def rate(night: int) -> float:
        return 1.0 if night == 4 else 0.01 if night >= 12 else 0.001 * (1 + night % 2)

    records = [
        structs.replace(each, tasks=(index(error_rate=rate(night), accounting=totals), *each.tasks[1:]))
        for night, each in enumerate(nights(18))
    ]
    error_rate = metric(trend_of(records), "error-rate:index-append")
    assert [point.is_outlier for point in error_rate.points].index(True) == 4
    assert [change.word for change in error_rate.changes] == ["worse"]


def test_percentiles_with_too_few_samples_do_not_decide():
    records = [
        structs.replace(each, tasks=(index(), search(service_time=times(200), latency=times(200))))
        for each in nights(10)
    ]
    trend = trend_of(records, metrics=("p99:term",))
    assert metric(trend, "p99-latency:term").reason == "too few samples: a race needs 368"


def test_the_metrics_are_those_that_decide_a_comparison():
    """A race whose samples carry another percentile does not add it, nor does it take one away."""
    records = nights(12)
    labels = ["throughput:index-append", "error-rate:index-append", "p90-latency:term", "error-rate:term"]
    assert [each.metric.label for each in trend_of(records).metrics] == labels
    few = search(service_time=times(30), latency=times(30))
    records[7] = structs.replace(records[7], tasks=(records[7].tasks[0], few))
    assert [each.metric.label for each in trend_of(records).metrics] == labels


def test_metrics_can_be_named_and_unknown_ones_are_explained():
    trend = trend_of(nights(10), metrics=("p99:term", "segment-count"))
    assert [each.metric.label for each in trend.metrics] == ["segment-count", "p99-latency:term"]
    with pytest.raises(UsageError, match="no metric 'p98:term'"):
        trend_of(nights(10), metrics=("p98:term",))


def test_a_task_that_only_some_races_have_has_fewer_points():
    records = nights(14)
    trend = trend_of([structs.replace(each, tasks=each.tasks[:1]) for each in records[:4]] + records[4:])
    assert len(metric(trend).points) == 14
    points = metric(trend, "p90-latency:term").points
    assert [point.race for point in points] == list(range(4, 14))


def test_imported_races_have_a_trend():
    def imported(night: int, record: RaceRecord) -> RaceRecord:
        rate = (900.0 if night >= 9 else 1000.0) + night % 3
        values = (
            ImportedValue("Mean Throughput", "index", rate, "docs/s"),
            ImportedValue("error rate", "index", 0.0, "%"),
        )
        source = ImportedResults("rally", "race", f"{night}.json", "0" * 64, "2.13.0", values=values)
        return structs.replace(
            record, imported=source, tasks=(), verdict=Verdict("suspect", (Finding("unknown"),))
        )

    records = [imported(night, each) for night, each in enumerate(nights(14))]
    unknown = structs.replace(
        records[0],
        race_id="undated",
        imported=structs.replace(records[0].imported, unstated=(UNSTATED_TIME,)),
    )
    own = structs.replace(nights(1)[0], race_id="own")
    trend = trend_of([unknown, own, *records])
    (change,) = metric(trend, "throughput:index").changes
    assert (change.after, change.word, change.is_regression) == (9, "worse", True)
    assert any("no known time: undated" in text for text in trend.left_out)
    assert any("another tool than Rally: Pacenote (own)" in text for text in trend.left_out)


def test_several_races_of_one_day_are_points_of_their_own_in_their_order():
    records = nights(12)
    day = [
        structs.replace(each, timestamp=records[0].timestamp + timedelta(minutes=minute))
        for minute, each in enumerate(records)
    ]
    trend = trend_of(reversed(day))
    assert [each.race_id for each in trend.races] == [each.race_id for each in records]
    assert "12 races, 2026-03-01;" in shown(trend)


def test_names_with_control_characters_reach_no_terminal():
    evil = "a\x1b[31m<b>\n|x"
    records = [
        structs.replace(
            each,
            challenge=evil,
            tasks=(index(task=evil), *each.tasks[1:]),
            car_params={"x": evil if night >= 8 else "y"},
        )
        for night, each in enumerate(nights(12, rate=step(8, 0.8)))
    ]
    text = shown(trend_of(records)) + plain_text(trend_lines(trend_of(records), [Command(evil, "this")], 80))
    assert "\x1b" not in text
    assert "a [31m<b> |x" in text
    assert "Next          a [31m<b> |x   this" in text


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_screen_fits_its_width(width):
    trend = trend_of(nights(40, rate=step(34, 0.85), time=lambda night: 1.5 if night == 39 else 1.0))
    assert max(map(len, shown(trend, width).splitlines())) <= width


def test_the_document_and_the_table_have_every_point():
    trend = trend_of(nights(20, rate=step(14, 0.85)))
    document = json.loads(json.dumps(trend.to_document()))
    assert (document["format"], document["answer"]) == (2, "regression")
    rate = next(each for each in document["metrics"] if each["metric"]["label"] == "throughput:index-append")
    assert [point["race"] for point in rate["points"]] == list(range(20))
    assert [(each["first"], each["last"]) for each in rate["levels"]] == [(0, 13), (14, 19)]
    assert rate["changes"][0]["is_regression"] is True
    lines = render_trend_csv(trend).splitlines()
    assert len(lines) == 1 + sum(len(each.points) for each in trend.metrics)
    assert sum(",worse,1," in line for line in lines) == 1


def test_a_percentile_of_latency_that_is_one_of_operations_without_reply_does_not_count():
    races = [structs.replace(each, tasks=(each.tasks[0], unserved(0.05))) for each in nights(20)]
    trend = trend_of(races, metrics=("p99:term", "p90:term"))
    assert metric(trend, "p99-latency:term").reason.startswith("so many operations failed, or were not")
    assert not metric(trend, "p90-latency:term").reason


def test_latency_with_the_backlog_of_a_warm_up_does_not_count():
    backlog = WarmupBacklog(135, 4.2, marked=True)
    races = [
        structs.replace(each, tasks=(each.tasks[0], structs.replace(each.tasks[1], warmup_backlog=backlog)))
        for each in nights(20)
    ]
    trend = trend_of(races, metrics=("p99:term", "p99-service-time:term"))
    assert metric(trend, "p99-latency:term").reason == "latency includes the backlog of the warm-up"
    assert not metric(trend, "p99-service-time:term").reason


def recalls(values: Iterable[float], name: str = "recall", **changes: object) -> list[RaceRecord]:
    """One race a night whose runner returned these means."""
    draw = random.Random(5)
    return [
        race(
            f"r{night}",
            144 * night,
            tasks=(with_values(search(task="knn"), {name: value + draw.gauss(0, 0.002)}),),
            **changes,
        )
        for night, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("before", "after", "answer", "absolute"),
    [
        (0.93, 0.85, "regression", False),
        (0.85, 0.93, "no regression", False),
        (0.93, -0.01, "regression", True),
        (-0.01, 0.93, "no regression", True),
    ],
)
def test_a_quality_that_falls_is_a_regression(before, after, answer, absolute):
    trend = trend_of(recalls([before] * 15 + [after] * 6))
    (recall,) = [each for each in trend.metrics if each.metric.label == "recall:knn"]
    assert recall.is_absolute == absolute
    assert (trend.answer, len(recall.changes)) == (answer, 1)
    assert recall.changes[0].before == 14


@pytest.mark.parametrize("lost", [0.92, 0.0])
def test_a_race_without_recall_does_not_end_the_alarms(lost):
    usual = [0.93, 0.94, 0.92, 0.945, 0.925] * 4
    usual[3] = lost
    trend = trend_of(recalls([*usual, 0.88, 0.89]))
    (recall,) = [each for each in trend.metrics if each.metric.label == "recall:knn"]
    assert recall.is_absolute == (lost == 0)
    assert (trend.answer, [change.word for change in recall.changes]) == ("regression", ["probably worse"])


def test_the_number_of_hits_has_changes_and_no_regressions():
    trend = trend_of(recalls([10.0] * 15 + [8.0] * 6, "hits"), metrics=("hits",))
    (hits,) = trend.metrics
    assert (trend.answer, [change.word for change in hits.changes]) == ("no regression", ["changed"])


def test_the_direction_of_a_trend_is_that_of_the_track():
    races = recalls([2.0] * 15 + [3.0] * 6, "distance")
    assert trend_of(races, metrics=("distance",)).answer == "no regression"
    declared = {"knn": {"quality-metrics": {"distance": "lower"}}}
    newest = structs.replace(races[-1], task_meta=declared)
    assert trend_of([*races[:-1], newest]).answer == "regression"


@pytest.mark.parametrize(
    ("quality", "answer", "is_shown"),
    [
        ("distance=lower", "regression", True),
        ("distance:knn=lower", "regression", True),
        ("distance=higher", "no regression", True),
        ("distance=neutral", "no regression", False),
    ],
)
def test_an_option_says_the_direction_of_a_trend_before_the_track(quality, answer, is_shown):
    declared = {"knn": {"quality-metrics": {"distance": "higher"}}}
    races = [
        structs.replace(each, task_meta=declared) for each in recalls([2.0] * 15 + [3.0] * 6, "distance")
    ]
    trend = trend_of(races, quality=(QualityDirection.parse(quality),))
    assert trend.answer == answer
    assert any(each.metric.label == "distance:knn" for each in trend.metrics) == is_shown


def test_a_direction_of_no_metric_of_a_trend_is_refused():
    races = recalls([2.0] * 3, "distance")
    for quality in ("distanc=lower", "distance:other=lower"):
        with pytest.raises(UsageError, match=f"--quality={quality}: the races have no metric 'distanc"):
            trend_of(races, checked_quality=(QualityDirection.parse(quality),))
