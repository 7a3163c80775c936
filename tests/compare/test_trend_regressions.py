"""Which changes of a trend are regressions: until they are accepted or gone, also if they are found late."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import cache

import pytest
from msgspec.structs import replace

from compare.races import index
from compare.test_trend import metric, nights, one, shown, step, trend_of
from pacenote.compare.metric_scale import MetricScale
from pacenote.compare.metric_trend import TrendCriteria, metric_trend
from pacenote.compare.metrics import Datum
from pacenote.compare.trend import ALARMS_PER_YEAR, FAMILY_LEVEL, find_trend
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.comparison import ComparedRace, MetricId
from pacenote.model.finding import Finding
from pacenote.model.race_record import Environment, RaceRecord, Verdict
from pacenote.model.trend import MetricTrend, TrendOptions, TrendPoint
from pacenote.stats.change_points import LEVEL

LABEL = "throughput:index-append"


@cache
def steady(count: int) -> tuple[RaceRecord, ...]:
    """Returns so many nights: making them takes longer than finding their trend."""
    return tuple(nights(count))


def rates(values: list[float]) -> list[RaceRecord]:
    """Returns a race for each rate, with nothing else than this task."""
    races = steady(len(values))
    return [replace(race, tasks=(index(value),)) for race, value in zip(races, values, strict=True)]


def noisy_rates(levels: list[float], seed: int, noise: float = 0.02) -> list[float]:
    draw = random.Random(seed)
    return [10_000 * level * draw.lognormvariate(0, noise) for level in levels]


def noisy(levels: list[float], seed: int, noise: float = 0.02) -> list[RaceRecord]:
    return rates(noisy_rates(levels, seed, noise))


def judged(values: list[float], alarms_per_year: float = ALARMS_PER_YEAR) -> MetricTrend:
    """Returns what a trend says of the races of its only metric."""
    rate = MetricId("index", "throughput", "docs/s", "throughput", "throughput", higher_is_better=True)
    points = [(TrendPoint(race, value), Datum(value)) for race, value in enumerate(values)]
    level = min(LEVEL, FAMILY_LEVEL)
    criteria = TrendCriteria(level, alarms_per_year, len(values), max(0, len(values) - 10))
    return metric_trend(MetricScale.of(rate, TrendOptions()), points, criteria)


def after_each_race(values: list[float], first: int) -> list[MetricTrend]:
    """Returns what is said of the indexing rate after each race."""
    return [judged(values[:count]) for count in range(first, len(values) + 1)]


def test_a_trend_judges_its_only_metric_by_itself():
    values = noisy_rates([1.0] * 20 + [0.94] * 30, 1)
    for count in (25, 50):
        trend = trend_of(rates(values[:count]), metrics=(LABEL,))
        assert metric(trend).changes == judged(values[:count]).changes
        assert (trend.answer == "regression") == judged(values[:count]).is_worse


@pytest.mark.process
@pytest.mark.parametrize("seed", range(4))
def test_a_regression_that_was_found_stays_until_it_is_accepted_or_gone(seed):
    """-6 % at a noise of 2 %, found late or not: the job does not become green by itself."""
    worse = [each.is_worse for each in after_each_race(noisy_rates([1.0] * 20 + [0.94] * 30, seed), 20)]
    first = worse.index(True)
    assert first <= 20
    assert all(worse[first:])


@pytest.mark.process
def test_a_regression_stays_when_its_old_level_leaves_the_newest_races():
    """With `--last=100`, the 20 races before it are none of the newest ones from race 120 on."""
    records = noisy([1.0] * 20 + [0.94] * 240, 1)
    for count in (60, 118, 121, 150, 199, 260):
        trend = trend_of(records[:count], metrics=(LABEL,), last=100)
        assert trend.answer == "regression", count
        assert trend.races[0].race_id == "n00"
        assert any("older" in text or "before the newest" in text for text in trend.notes) == (count > 100)
    (change,) = trend.regressions
    entry = AcceptedRegression(trend.races[change[1].after].race_id, LABEL, -0.06, "meant to be")
    accepted = trend_of(records, metrics=(LABEL,), last=100, accepted=(entry,))
    assert (accepted.answer, len(accepted.races)) == ("no regression", 100)
    assert not accepted.notes
    assert any("160 older races: --last" in text for text in accepted.left_out)


def test_a_regression_before_the_newest_races_that_was_made_up_for_is_gone():
    records = noisy([1.0] * 20 + [0.9] * 40 + [1.0] * 120, 1)
    trend = trend_of(records, metrics=(LABEL,), last=100)
    assert (trend.answer, len(trend.races)) == ("no regression", 100)


def test_a_drift_that_ended_before_the_newest_races_remains_a_regression():
    records = noisy([0.997 ** min(night, 60) for night in range(230)], 2, noise=0.005)
    assert trend_of(records, metrics=(LABEL,), last=100).answer == "regression"


def test_a_regression_is_new_while_it_was_not_known_ten_races_ago():
    new = [
        any(change.is_new for change in each.regressions if abs(change.after - 20) <= 2)
        for each in after_each_race(noisy_rates([1.0] * 20 + [0.94] * 30, 1), 20)
    ]
    first = new.index(True)
    assert new[first : first + 10] == [True] * 10
    assert not any(new[first + 10 :])


@pytest.mark.process
def test_a_late_regression_is_new_although_its_level_began_long_ago():
    """Without the online detector, a noise of 3 % often hides a step of 5 % for longer than ten races."""
    late = 0
    for seed in range(30):
        draw = random.Random(seed)
        values = [draw.lognormvariate(0, 0.03) * (0.95 if race >= 20 else 1.0) for race in range(60)]
        judgements = ((count, judged(values[:count], 1e-9)) for count in range(21, 61))
        count, first = next(((count, each) for count, each in judgements if each.is_worse), (0, None))
        if first is not None and first.regressions and count - first.regressions[0].after > 10:
            late += 1
            assert first.regressions[0].is_new
    assert late >= 3


def test_a_level_that_came_back_ends_a_regression():
    values = noisy_rates([1.0] * 20 + [0.9] * 8 + [1.0] * 12, 5)
    assert any(each.is_worse for each in after_each_race(values, 20)[:12])
    assert trend_of(rates(values), metrics=(LABEL,)).answer == "no regression"


def accepted(change: float | None = -0.15, race: str = "n10", label: str = LABEL) -> AcceptedRegression:
    return AcceptedRegression(race, label, change, "the new default of 3.4", "step")


def accepted_drift(change: float, race: str) -> AcceptedRegression:
    return AcceptedRegression(race, LABEL, change, "the corpus grows", "drift")


def test_an_accepted_regression_is_none_and_its_reason_is_shown():
    records = nights(30, rate=step(10, 0.85))
    trend = trend_of(records, accepted=(accepted(),))
    assert trend.answer == "no regression"
    (change,) = metric(trend).changes
    assert (change.is_regression, change.accepted) == (False, "the new default of 3.4")
    assert "1 accepted regression: the new default of 3.4" in shown(trend)


@pytest.mark.parametrize(
    "other",
    [accepted(race="n20"), accepted(label="p50-latency:term"), accepted(-0.05), accepted(race="unknown")],
)
def test_another_regression_is_not_accepted(other):
    """At another place, of another metric, or of a smaller change."""
    trend = trend_of(nights(30, rate=step(10, 0.85)), accepted=(other,))
    assert trend.answer == "regression"


def test_a_further_regression_after_an_accepted_one_is_one():
    records = nights(30, rate=lambda night: 1.0 if night < 10 else 0.85 if night < 22 else 0.75)
    trend = trend_of(records, accepted=(accepted(),))
    assert [each.is_regression for each in metric(trend).changes] == [False, True]


def test_a_drift_is_accepted_until_it_is_worse_again():
    def drifting(night: int) -> float:
        return 0.995**night

    half = trend_of(nights(40, rate=drifting), accepted=(accepted_drift(-0.18, "n39"),))
    assert half.answer == "no regression"
    assert metric(half).drift is not None
    later = trend_of(nights(60, rate=drifting), accepted=(accepted_drift(-0.18, "n39"),))
    assert later.answer == "regression"


def test_what_an_earlier_version_accepted_may_be_a_step_or_a_drift():
    drift = replace(accepted_drift(-0.18, "n39"), kind=None)
    trend = trend_of(nights(40, rate=lambda night: 0.995**night), accepted=(drift,))
    assert trend.answer == "no regression"
    trend = trend_of(nights(30, rate=step(10, 0.85)), accepted=(replace(accepted(), kind=None),))
    assert trend.answer == "no regression"


def test_a_step_after_an_accepted_drift_is_not_accepted():
    """The step is smaller than the accepted drift, and begins with the race after its acceptance."""
    rates_then = [1 - 0.003 * night for night in range(45)]
    records = noisy([*rates_then, *[rates_then[-1] * 0.88] * 15], 3)
    drift = accepted_drift(-0.14, "n44")
    assert trend_of(records[:45], metrics=(LABEL,), accepted=(drift,)).answer == "no regression"
    for count in range(48, 61):
        trend = trend_of(records[:count], metrics=(LABEL,), accepted=(drift,))
        assert trend.answer == "regression", count
        after = [change.after for _, change in trend.regressions]
        assert all(place >= 43 for place in after), count


def test_an_accepted_step_accepts_no_drift():
    records = nights(40, rate=lambda night: 0.995**night)
    assert trend_of(records, accepted=(accepted(-0.18, "n39"),)).answer == "regression"


@pytest.mark.process
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("count", "size", "races"), [(5, 0.025, 12), (5, 0.02, 8), (2, 0.05, 10), (4, 0.04, 6)]
)
def test_stairs_are_a_regression(count, size, races, seed):
    levels = [1.0] * 20 + [(1 - size) ** (1 + at // races) for at in range(count * races)]
    trend = trend_of(noisy(levels, seed), metrics=(LABEL,))
    assert trend.answer == "regression"
    assert "no single change" not in shown(trend)


def test_two_clear_steps_are_two_steps():
    counts = []
    for seed in range(20):
        levels = [1.0] * 20 + [0.95] * 10 + [0.9] * 10
        trend = judged(noisy_rates(levels, seed))
        counts.append(len(trend.changes) if trend.drift is None else 0)
    assert sum(count == 2 for count in counts) >= 16


def test_small_steps_that_matter_together_say_so():
    """Each step of 2.5 % is certain at a noise of 0.2 %, and too small to matter."""
    levels = [1.0] * 12 + [0.975] * 12 + [0.95] * 12
    trend = metric(trend_of(noisy(levels, 2, noise=0.002), metrics=(LABEL,)))
    first, second = trend.changes
    assert (first.is_regression, second.is_regression) == (True, False)
    assert first.total is not None
    assert first.total.value == pytest.approx(-0.05, abs=0.005)


def later(record: RaceRecord, name: str, hours: float, **changes: object) -> RaceRecord:
    moved = record.timestamp + timedelta(hours=hours)
    return replace(record, race_id=name, timestamp=moved, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("at", "answer"), [(14, "newest races unusable"), (8, "no regression")])
def test_a_value_of_0_does_not_count_and_is_named(at, answer):
    """It has no ratio to others. The newest one is not good news; an older one hides no regression."""
    records = nights(15)
    records[at] = replace(records[at], tasks=(index(0.0), *records[at].tasks[1:]))
    trend = trend_of(records)
    assert trend.answer == answer
    assert not metric(trend).reason
    assert any("1 race has a throughput:index-append of 0" in note for note in trend.notes)
    worse = [*records, *nights(24, rate=step(15, 0.8))[15:]]
    assert trend_of(worse).answer == "regression"


def test_an_alarm_that_does_not_matter_is_no_regression():
    """A change of 2.5 % is found at a noise of 0.5 %; 3 % matter."""
    levels = [1.0] * 30 + [0.975] * 2
    alarm = trend_of(noisy([1.0] * 30 + [0.95] * 2, 1, noise=0.005), metrics=(LABEL,))
    assert [change.raised for _, change in alarm.regressions] == [31]
    small = trend_of(noisy(levels, 1, noise=0.005), metrics=(LABEL,))
    assert (small.answer, small.regressions) == ("no regression", ())


VOID = {"verdict": Verdict("void", (Finding("30 % of the searches failed"),))}
UNFINISHED = {"complete": False, "interrupted": True}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ((VOID,), "the newest race is void: x0"),
        ((VOID, VOID), "the newest 2 races are void: x0 and x1"),
        ((UNFINISHED,), "the newest race did not finish: x0"),
        ((VOID, UNFINISHED), "the newest 2 races are void or did not finish: x0 and x1"),
    ],
)
def test_newest_races_that_cannot_be_used_are_not_good_news(changes, text):
    records = nights(15)
    bad = [later(records[-1], f"x{at}", 24 * (at + 1), **each) for at, each in enumerate(changes)]
    trend = trend_of([*records, *bad])
    assert (trend.answer, trend.newest_unusable) == ("newest races unusable", text)
    assert f"not known: {text}" in " ".join(shown(trend).split())


def test_a_race_that_failed_before_it_knew_its_engine_counts_as_the_newest():
    records = nights(15)
    cluster = replace(records[-1].cluster, distribution=None, nodes=())
    early = later(records[-1], "x", 24, **UNFINISHED, tasks=(), cluster=cluster)
    assert trend_of([*records, early]).answer == "newest races unusable"


def test_unusable_races_that_are_older_or_of_another_kind_do_not_matter():
    records = nights(15)
    other = Environment(cpu_model="Another CPU", cpu_logical_cores=64)
    trend = trend_of([
        *records,
        later(records[-1], "x", -1, **VOID),
        later(records[-1], "y", 24, **VOID, challenge="other"),
        later(records[-1], "z", 24, **VOID, environment=other),
    ])
    assert (trend.answer, trend.newest_unusable) == ("no regression", "")


def test_a_metric_that_the_newest_race_lacks_is_not_good_news():
    records = nights(15)
    records[-1] = replace(records[-1], tasks=records[-1].tasks[:1])
    trend = trend_of(records)
    assert trend.answer == "newest races unusable"
    assert {each.metric.task for each in trend.metrics if each.is_missing} == {"term"}
    labels = [each.metric.label for each in trend.metrics if each.is_missing]
    kept = tuple(accepted(None, "n14", label) for label in labels)
    assert trend_of(records, accepted=kept).answer == "no regression"


def test_a_newest_race_that_is_too_old_is_not_good_news():
    records = nights(15)
    races = [ComparedRace(each) for each in records]
    newest = records[-1].timestamp
    for hours, answer in ((-1, "no regression"), (1, "newest races unusable")):
        options = TrendOptions(not_before=newest + timedelta(hours=hours))
        assert find_trend(races, options).answer == answer


@pytest.mark.process
def test_races_resemble_each_other_only_if_chance_does_not_explain_it():
    """Of many metrics of independent races, some have a correlation above 0.3."""
    noted, correlated = 0, 0
    for seed in range(10):
        draw = random.Random(seed)
        records = []
        for record in steady(15):
            tasks = [index(10_000 * draw.lognormvariate(0, 0.02), task=f"index-{at}") for at in range(20)]
            records.append(replace(record, tasks=tuple(tasks)))
        trend = trend_of(records)
        correlated += any(each.correlation >= 0.3 for each in trend.metrics)
        noted += any("resemble each other" in note for note in trend.notes)
    assert correlated >= 5
    assert noted <= 2


def test_races_that_do_resemble_each_other_are_noted():
    draw, value, values = random.Random(1), 0.0, []
    for _ in range(60):
        value = 0.8 * value + draw.gauss(0, 0.012)
        values.append(10_000 * (1 + value))
    trend = trend_of(rates(values), metrics=(LABEL,))
    assert any("resemble each other" in note for note in trend.notes)


def test_the_steady_track_has_no_alarm():
    assert all(not each.changes for each in trend_of(nights(60, rate=one)).metrics)
