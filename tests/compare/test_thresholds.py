"""Thresholds of one race."""

from __future__ import annotations

import pytest
from msgspec import structs

from compare.quality_races import returned
from compare.races import index, race, search, unserved
from pacenote.compare.thresholds import judge_thresholds, parse_threshold
from pacenote.errors import UsageError
from pacenote.model.finding import Finding
from pacenote.model.race_record import Verdict
from pacenote.model.result import OperationTotals, TaskResult, WarmupBacklog
from pacenote.report.render.thresholds_junit import render_thresholds_junit
from support.records import times, with_failures


def problems(text: str, **changes) -> list[str]:
    own = {"tasks": (index(), search()), "verdict": Verdict("valid"), "complete": True}
    return [each.problem for each in judge_thresholds(race("r", **(own | changes)), [parse_threshold(text)])]


def test_the_interval_decides_and_not_the_value():
    p90 = search().latency.at(90.0)
    assert p90.high_ms > p90.ms
    assert problems(f"p90:term<{p90.high_ms * 1.01}ms") == [""]
    (problem,) = problems(f"p90:term<{(p90.ms + p90.high_ms) / 2}ms")
    assert problem.startswith("it is not shown to be below")


def test_errors_are_judged_by_what_counting_shows():
    few = structs.replace(
        search(),
        error_design_effect=1.0,
        error_rate=0.0,
        accounting=OperationTotals(100, 100, 0, 0, 0, 0, 100, 100),
    )
    many = structs.replace(few, accounting=OperationTotals(9000, 9000, 0, 0, 0, 0, 9000, 9000))
    # Of 100 operations without a failure, up to 3.6 % may fail.
    assert problems("errors<0.1%", tasks=(few,))[0].startswith("it is not shown to be below 0.1 %")
    assert problems("errors<0.1%", tasks=(many,)) == [""]


def test_a_burst_of_errors_is_worth_few():
    counts = OperationTotals(9000, 8996, 4, 0, 0, 0, 9000, 9000)
    independent = structs.replace(search(), error_rate=4 / 9000, error_design_effect=1.0, accounting=counts)
    # Four failures in 9,000 operations are at most 0.114 %; one in 2,250 is up to 0.25 %.
    assert problems("errors<0.12%", tasks=(independent,)) == [""]
    burst = structs.replace(independent, error_design_effect=4.0)
    assert problems("errors<0.12%", tasks=(burst,)) == ["it is not shown to be below 0.12 %"]
    assert problems("errors<0.3%", tasks=(burst,)) == [""]


def test_what_was_measured_for_too_short_proves_nothing():
    few = (
        "it is not known how independent its operations are: they ended in fewer than 8 parts of its time, "
        "or an older version of Pacenote raced"
    )
    short = structs.replace(search(), error_design_effect=None)
    assert problems("errors<50%", tasks=(short,)) == [f"the error rate has no interval: {few}"]
    percentile = search().latency.at(90.0)
    for bounds, problem in [
        ((None, None), f"p90 has no interval: {few}"),
        (
            (1.0, None),
            "too few slow operations, or bursts of them, were measured for an upper bound of p90",
        ),
    ]:
        changed = structs.replace(percentile, low_ms=bounds[0], high_ms=bounds[1])
        latency = structs.replace(search().latency, percentiles=(changed,))
        assert problems("p90<9999s", tasks=(search(latency=latency),)) == [problem]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"verdict": Verdict("void", (Finding("busy", "driver"),))}, "the race is void: busy"),
        ({"complete": False}, "the race is not complete"),
        ({"tasks": (index(),)}, "the race has no task term; its tasks: index-append"),
        ({"tasks": (search(latency=times(20)),)}, "too few samples for p99"),
        ({"tasks": (search(latency=times(200)),)}, "too few samples for p99"),
        (
            {"tasks": (search(warmup_backlog=WarmupBacklog(135, 4.2, marked=True)),)},
            "latency includes the backlog of the warm-up",
        ),
        (
            {"verdict": Verdict("suspect", (Finding("late", "machine", "", ("term",), 90.0),))},
            "the race makes it doubtful",
        ),
    ],
)
def test_what_proves_nothing_fails(changes, problem):
    assert problems("p99:term<1s", **changes) == [problem]


def test_a_percentile_that_a_few_operations_of_a_backlog_decide_proves_nothing():
    backlog = WarmupBacklog(80, 3.4, effect=8.0, from_quantile=0.999)
    tasks = (search(latency=times(5000), warmup_backlog=backlog),)
    assert problems("p99.9:term<9999s", tasks=tasks) == ["latency includes the backlog of the warm-up"]
    assert problems("p99:term<9999s", tasks=tasks) == [""]
    tasks = (search(latency=times(5000), warmup_backlog=structs.replace(backlog, from_quantile=None)),)
    assert problems("p99.9:term<9999s", tasks=tasks) == [""]


def test_operations_that_were_not_sent_count_as_the_slowest():
    """Their engine is the cause, and the race does not make any figure doubtful."""
    hung = Verdict("suspect", (Finding("not sent", "engine", tasks=("term",)),))
    without = "operations failed, or were not answered or not sent"
    for q, share, problem in (
        (90, 0.29, f"more than 10 % of its {without}"),
        (50, 0.29, f"too many {without} for an upper bound of p50"),
        (50, 0.2, f"too many {without} for an upper bound of p50"),
        (50, 0.1, ""),
        (99, 0.02, f"more than 1 % of its {without}"),
        (99, 0.004, f"too many {without} for an upper bound of p99"),
        (99, 0.0005, ""),
    ):
        assert problems(f"p{q}:term<100ms", tasks=(unserved(share),), verdict=hung) == [problem]
    record = race("r", tasks=(unserved(0.29),), verdict=hung, complete=True)
    (result,) = judge_thresholds(record, [parse_threshold("p90:term<1s")])
    assert result.value == "p90 latency endless"


def test_a_task_without_a_target_rate_has_failed_operations_too():
    def bulks(failed: int, unanswered: int = 0) -> TaskResult:
        counts = OperationTotals(5_000, 5_000 - failed, failed, unanswered, 0, 0, 5_000, 5_000)
        return structs.replace(
            index(),
            error_rate=failed / 5_000,
            accounting=counts,
            service_time=times(5_000 - failed),
            error_design_effect=1.0,
        )

    assert problems("p99:index-append<1s", tasks=(bulks(20),)) == [""]
    for task in (bulks(51), bulks(0, 51)):
        (problem,) = problems("p99:index-append<1s", tasks=(task,))
        assert problem == "more than 1 % of its operations failed or were not answered"


def test_failures_that_leave_no_bound_do_so_with_and_without_a_target_rate():
    """9 of 1,000 failed: less than 1 %, but by chance more of 1 % may fail or be slow."""
    counts = OperationTotals(1_000, 991, 9, 0, 0, 0, 1_000, 1_000)
    successes = times(991, 5.0, 9.0)
    failing = search(
        latency=successes,
        service_time=successes,
        accounting=counts,
        error_rate=0.009,
        error_design_effect=1.0,
        latency_with_failures=with_failures(successes, 9),
    )
    unpaced = structs.replace(failing, paced=False, latency=None, latency_with_failures=())
    for task in (failing, unpaced):
        (problem,) = problems("p99:term<100ms", tasks=(task,))
        assert problem.startswith("too many operations failed")
        assert problem.endswith("for an upper bound of p99")
    few = structs.replace(counts, succeeded=4_999, failed=1, operations=5_000, normal=5_000)
    rare = structs.replace(unpaced, accounting=few, error_rate=1 / 5_000, service_time=times(4_999, 5.0, 9.0))
    assert problems("p99:term<100ms", tasks=(rare,)) == [""]
    in_a_row = structs.replace(rare, error_design_effect=60.0)
    assert problems("p99:term<100ms", tasks=(in_a_row,))[0].startswith("too many operations failed")


def test_operations_that_were_not_sent_raise_a_percentile_and_its_bound():
    some = unserved(0.0005)
    raised = tuple(
        structs.replace(each, ms=each.ms and each.ms * 2, high_ms=each.high_ms and each.high_ms * 2)
        for each in some.latency_with_failures
    )
    # Of 8 ms, the bound is 10 ms; of 16 ms, it is 20 ms: as wide as that of the successes at least.
    narrow = tuple(structs.replace(each, high_ms=each.high_ms and each.ms) for each in raised)
    for of_all in (raised, narrow):
        task = structs.replace(some, latency_with_failures=of_all)
        assert problems("p99:term<20.1ms", tasks=(task,)) == [""]
        assert problems("p99:term<19.9ms", tasks=(task,))[0].startswith("it is not shown to be below")


def test_operations_without_latency_in_a_row_are_one_event():
    """50 of 9,050 are fewer than the 73 that prove a p99, but one event proves nothing about the next one."""
    too_many = "too many operations failed, or were not answered or not sent for an upper bound of p99"
    assert problems("p99:term<1s", tasks=(unserved(50 / 9_050),)) == [too_many]
    # After 5 of them, as many operations as there are above p99.9 may be slower than the bound.
    assert problems("p99:term<12.1ms", tasks=(unserved(5 / 9_005),)) == [""]
    assert problems("p99:term<11.9ms", tasks=(unserved(5 / 9_005),))[0].startswith("it is not shown")
    counts = OperationTotals(9_000, 8_960, 40, 0, 0, 0, 9_000, 9_000)
    successes = times(8_960, p50=2.5)
    failing = search(
        latency=successes,
        accounting=counts,
        error_rate=40 / 9_000,
        latency_with_failures=with_failures(successes, 40),
    )
    for effect, problem in ((1.0, ""), (40.0, too_many), (None, too_many)):
        task = structs.replace(failing, error_design_effect=effect)
        assert problems("p99:term<1s", tasks=(task,)) == [problem]


def test_an_unknown_number_of_operations_without_latency_proves_nothing():
    unknown = unserved(0.001, unsent_is_least=True)
    assert problems("p50:term<1s", tasks=(unknown,)) == [
        "it is not known how many of its operations were not sent"
    ]
    old = structs.replace(unserved(0.001), latency_with_failures=())
    assert problems("p50:term<1s", tasks=(old,)) == [
        "operations failed, or were not answered or not sent, and an older version of Pacenote did not "
        "record latency with them"
    ]
    served = structs.replace(search(), latency_with_failures=())
    assert problems("p50:term<1s", tasks=(served,)) == [""]


def test_a_threshold_without_a_task_is_for_each():
    assert problems("p50<10s") == ["", ""]
    assert len(problems("p50<1us")) == 2
    assert problems("p50<1s", tasks=()) == ["the race has no task with figures"]


@pytest.mark.parametrize(
    "text",
    [
        *("p99:term", "p99<1%", "errors<1ms", "errors>1%", "p99<x", "p98<1ms", "p100<1s", "p9.9.9<1s", ""),
        *("p99 :a<1ms", "recall:a<b<1", "recall : a<1", "p99:a<", "<1"),
    ],
)
def test_other_forms_are_refused(text):
    with pytest.raises(UsageError, match="--threshold"):
        parse_threshold(text)


def test_junit_has_a_case_for_each_threshold_and_task():
    record = race("r", tasks=(index(), search()), verdict=Verdict("valid"), complete=True)
    results = judge_thresholds(record, [parse_threshold("p50<10s"), parse_threshold("p90:term<1us")])
    text = render_thresholds_junit("r", results)
    assert 'tests="3" failures="1"' in text
    assert '<testcase classname="term" name="p90:term&lt;1us">' in text


def test_a_custom_metric_has_a_limit_on_its_interval():
    few = structs.replace(returned(0.93), count=7)
    values = {"recall": returned(0.93, 0.02), "few": few, "old": returned(0.93)}
    knn = structs.replace(search(task="knn"), values=values)
    tasks = (index(), knn)
    assert problems("recall:knn>0.9", tasks=tasks) == [""]
    # Without a task, it is one of the tasks that return it.
    assert problems("recall>0.9", tasks=tasks) == [""]
    assert problems("recall<0.96", tasks=tasks) == [""]
    assert problems("recall:knn>0.92", tasks=tasks) == ["it is not shown to be above 0.92"]
    assert problems("recall:knn<0.94", tasks=tasks) == ["it is not shown to be below 0.94"]
    assert problems("few:knn>0.5", tasks=tasks) == [
        "its mean has no interval: fewer than 8 operations returned it"
    ]
    assert problems("old:knn>0.5", tasks=tasks) == [
        "its mean has no interval: the race is of an older version, or its values are too large"
    ]
    assert problems("ndcg>0.5", tasks=tasks) == ["no task has ndcg"]
    assert problems("ndcg:knn>0.5", tasks=tasks) == ["its operations did not return ndcg"]
    assert problems("recall:other>0.5", tasks=tasks)[0].startswith("the race has no task other")
    assert problems("recall>0.5", tasks=tasks, complete=False) == ["the race is not complete"]


@pytest.mark.parametrize(
    "text", ["recall:knn>0.9%", "recall", "throughput>5", "p99:term<5", "errors<1", "recall>0.9.1"]
)
def test_what_is_no_threshold_of_a_custom_metric_is_refused(text):
    with pytest.raises(UsageError, match="--threshold cannot be"):
        parse_threshold(text)


@pytest.mark.parametrize(
    ("text", "task", "limit"),
    [
        ("p99<100ms", "", 100.0),
        (" p99 <\t100 ms ", "", 100.0),
        ("p99: a b\n<1s", "a b", 1000.0),
        ("p99:a<b<100us", "a<b", 0.1),
        ("errors:a<b < 5 %", "a<b", 0.05),
        ("recall < 0.9", "", 0.9),
        ("recall: a b >0.9 ", "a b", 0.9),
        ("recall:a:b>-1", "a:b", -1.0),
    ],
)
def test_blanks_and_characters_of_names_may_be_anywhere(text: str, task: str, limit: float) -> None:
    threshold = parse_threshold(text)
    assert (threshold.task, threshold.limit) == (task, pytest.approx(limit))
