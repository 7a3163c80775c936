"""Objectives and limits, as they are written and as races have them."""

import pytest
from msgspec.structs import replace

from compare.quality_races import with_values
from compare.races import index, race, search, unserved
from pacenote.errors import UsageError
from pacenote.lab.tune.measure import measured, parse_constraint, parse_objective, with_direction
from pacenote.model.custom_metrics import QualityDirection
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import Verdict
from pacenote.model.result import WarmupBacklog
from pacenote.model.tune import Constraint, TuneObjective
from support.records import times

THROUGHPUT = TuneObjective("throughput:index-append")


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("p99:search<50ms", Constraint("p99:search", "<", 50.0)),
        ("p99.9-latency:my search < 0.5 s", None),
        ("p99.9-latency:term < 0.5 s", Constraint("p99.9-latency:term", "<", 500.0)),
        ("p50:term<250us", Constraint("p50:term", "<", 0.25)),
        ("error-rate:term<1%", Constraint("error-rate:term", "<", 1.0)),
        ("throughput:index-append>1000", Constraint("throughput:index-append", ">", 1000.0)),
        ("throughput:index-append>1000ms", None),
        ("p99:search<50", None),
        ("p99:search", None),
        ("p99:search<fast", None),
        ("<5", None),
    ],
)
def test_constraints(text, constraint):
    if constraint is not None:
        assert parse_constraint(text) == constraint
        return
    with pytest.raises(UsageError, match="--constraint must be a metric and its limit"):
        parse_constraint(text)


@pytest.mark.parametrize(
    "text", ["p50:term<=250us", "error-rate:term<=0%", "error-rate:term<0%", "p99:x>=5ms"]
)
def test_limits_that_a_search_cannot_have(text):
    with pytest.raises(UsageError, match="stays below or above its limit") as raised:
        parse_constraint(text)
    assert "such as error-rate:search<0.1%" in raised.value.hint


def test_objectives():
    assert parse_objective("throughput:index-append").higher_is_better
    assert not parse_objective(" p99:term ").higher_is_better
    with pytest.raises(UsageError, match="--objective must name a metric"):
        parse_objective("")


def test_a_race_has_the_objective_and_the_limits():
    name = search().task
    measurement = measured(race("a"), THROUGHPUT, [Constraint(f"p99:{name}", "<", 50.0)])
    assert (measurement.objective, measurement.limits, measurement.problem) == (10_000.0, (8.0,), "")


def test_a_limit_of_an_error_rate_has_its_operations():
    limits = [Constraint("p99:term", "<", 50.0), Constraint("error-rate:index-append", "<", 1.0)]
    assert measured(race("a"), THROUGHPUT, limits).operations == (0, 500)


def test_races_that_do_not_count_say_why():
    record = race("a")
    assert "no metric 'throughput:index'" in measured(record, TuneObjective("throughput:index"), []).problem
    assert "throughput:index-append" in measured(record, TuneObjective("nonsense:x"), []).problem
    several = measured(record, TuneObjective("error-rate"), [])
    assert "error-rate is a metric of several tasks: choose one, such as error-rate:" in several.problem
    few = race("a", tasks=(index(), search(latency=times(100), service_time=times(100))))
    assert (
        "p99:term needs 368 samples in each race, and race a has fewer"
        in measured(few, TuneObjective("p99:term"), []).problem
    )
    behind = race("a", tasks=(index(), search(warmup_backlog=WarmupBacklog(135, 4.2, marked=True))))
    assert measured(behind, TuneObjective("p50-latency:term"), []).problem == (
        "p50-latency:term of race a: latency includes the backlog of the warm-up; lengthen the warm-up"
    )
    assert not measured(behind, TuneObjective("p50-service-time:term"), []).problem
    hung = race("a", tasks=(index(), unserved(0.2)))
    assert measured(hung, TuneObjective("p90-latency:term"), []).problem == (
        "p90-latency:term of race a: so many operations failed, or were not answered or not sent, that this "
        "percentile of latency is theirs"
    )
    assert not measured(hung, TuneObjective("p50-latency:term"), []).problem
    void = replace(record, verdict=replace(record.verdict, state="void"))
    assert measured(void, THROUGHPUT, []).problem.startswith("race a is void")


@pytest.mark.parametrize(
    ("finding", "problem"),
    [
        (
            Finding("red", "engine", doubtful_from=EVERYTHING),
            "throughput:index-append of race a is doubtful: red",
        ),
        (
            Finding("red", "engine", "", ("term",), EVERYTHING),
            "p50-latency:term of race a is doubtful: term: red",
        ),
        (Finding("slow", "engine", "", ("term",), 99.0), ""),
        # The confirmation would be void as well, but no candidate is to blame.
        (Finding("waited", "machine", doubtful_from=EVERYTHING), ""),
    ],
)
def test_a_race_that_makes_the_objective_or_a_limit_doubtful_does_not_count(finding, problem):
    record = replace(race("a"), verdict=Verdict("suspect", (finding,)))
    measurement = measured(record, THROUGHPUT, [Constraint("p50-latency:term", "<", 50.0)])
    assert measurement.problem == problem
    assert (measurement.objective is None) == bool(problem)


def test_a_quality_limits_a_search_and_may_be_its_objective():
    knn = with_values(search(task="knn"), {"recall@10": 0.93, "distance": 2.0})
    record = replace(race("a"), tasks=(index(), knn))
    limit = parse_constraint("recall@10:knn>0.9")
    assert limit == Constraint("recall@10:knn", ">", 0.9)
    assert not limit.is_broken_by(0.93)
    assert limit.is_broken_by(0.56)
    assert measured(record, THROUGHPUT, [limit]).limits == (0.93,)
    recall, distance = map(parse_objective, ("recall@10:knn", "distance:knn"))
    assert recall.higher_is_better
    assert measured(record, recall, []).objective == 0.93
    assert "it is not known which of its values are better" in measured(record, distance, []).problem
    for direction, objective, problem in (
        ("lower", 2.0, ""),
        ("higher", None, "its higher values are better, and `tune` would search for lower ones"),
    ):
        declared = replace(record, task_meta={"knn": {"quality-metrics": {"distance": direction}}})
        measurement = measured(declared, distance, [])
        assert measurement.objective == objective
        assert problem in measurement.problem
    with pytest.raises(UsageError, match="--constraint must be a metric and its limit"):
        parse_constraint("recall:knn>0.9ms")


@pytest.mark.parametrize(
    ("quality", "objective", "higher"),
    [
        ("distance=lower", 2.0, False),
        ("distance:knn=higher", 2.0, True),
        # That of the task has precedence, and neither direction is one to search in.
        ("distance=neutral", None, False),
    ],
)
def test_an_option_says_the_direction_of_an_objective(quality, objective, higher):
    knn = with_values(search(task="knn"), {"distance": 2.0})
    record = replace(race("a"), tasks=(index(), knn))
    given = (QualityDirection.parse(quality),)
    distance = with_direction(parse_objective("distance:knn"), given)
    assert distance.higher_is_better == higher
    assert measured(record, distance, [], given).objective == objective
    assert with_direction(THROUGHPUT, given) == THROUGHPUT


def test_a_direction_of_no_metric_ends_a_search():
    given = (QualityDirection.parse("recal=higher"),)
    measurement = measured(race("a"), THROUGHPUT, [], given)
    assert measurement.problem == "--quality=recal=higher: the races have no metric 'recal'"
