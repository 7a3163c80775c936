"""Which races form a series: those that a comparison would not call void because they did something else."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from compare.races import compared, index, race, search
from compare.test_trend import shown
from pacenote.compare.groups import compare_groups
from pacenote.compare.race_series import race_series
from pacenote.compare.trend import find_trend
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import EndedBy, WorkTotals
from pacenote.model.target_rate import TargetRate
from pacenote.model.trend import Trend, TrendOptions

CHANGED_FROM = 10


def nights(**changes: object) -> list[RaceRecord]:
    """Returns sixteen nights, of which the last six search more slowly, with these changes."""
    draw = random.Random(1)
    races = []
    for number in range(16):
        is_new = number >= CHANGED_FROM
        own = search(2.0 * draw.gauss(1, 0.01) * (1.6 if is_new else 1.0))
        own = replace(own, **changes) if is_new else own  # type: ignore[arg-type]
        races.append(race(f"n{number:02}", number, tasks=(index(10_000 * draw.gauss(1, 0.01)), own)))
    return races


def with_documents(races: list[RaceRecord], documents: int, ended_by: EndedBy) -> list[RaceRecord]:
    """Returns the nights, of which the last six index this number of documents."""
    return [
        replace(own, tasks=(_indexing(own, number, documents, ended_by), *own.tasks[1:]))
        for number, own in enumerate(races)
    ]


def _indexing(own: RaceRecord, number: int, documents: int, ended_by: EndedBy) -> object:
    work = WorkTotals(documents, 0) if number >= CHANGED_FROM else own.tasks[0].work
    return replace(own.tasks[0], work=work, ended_by=ended_by)


def with_target(races: list[RaceRecord], rate: float) -> list[RaceRecord]:
    """Returns the nights, of which the last six have this target rate, and the others 100 ops/s."""
    return [
        replace(own, targets={"term": TargetRate(rate if number >= CHANGED_FROM else 100.0)})
        for number, own in enumerate(races)
    ]


def profiled(races: list[RaceRecord], first: int) -> list[RaceRecord]:
    """Returns the nights, profiled from one of them on."""
    return [
        replace(own, options=replace(own.options, telemetry=("jfr",))) if number >= first else own
        for number, own in enumerate(races)
    ]


def trend_of(races: list[RaceRecord], **options: object) -> Trend:
    return find_trend(compared(*races), TrendOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("races", "reason"),
    [
        (
            nights(operation_type="vector-search"),
            "10 races have another work of a task than the newest one: term has the operation type search "
            "instead of vector-search",
        ),
        (
            nights(unit="pages"),
            "10 races have another work of a task than the newest one: "
            "term has the unit ops instead of pages",
        ),
        (
            with_documents(nights(), 1_480_000, "source"),
            "10 races have another work of a task than the newest one: "
            "index-append indexes 740,000 documents instead of 1,480,000",
        ),
        (
            with_target(nights(), 150.0),
            "10 races have another work of a task than the newest one: "
            "term has the target rate 100 ops/s instead of 150 ops/s",
        ),
    ],
)
def test_a_series_begins_where_a_task_does_something_else(races, reason):
    comparison = compare_groups(compared(*races[:CHANGED_FROM]), compared(*races[CHANGED_FROM:]))
    assert any(finding.makes_doubtful for finding in comparison.findings)
    trend = trend_of(races)
    assert trend.answer != "regression"
    assert [own.race_id for own in trend.races] == [own.race_id for own in races[CHANGED_FROM:]]
    assert any(text.startswith(reason) for text in trend.left_out)
    assert not any("work" in key for key in trend.configuration)


@pytest.mark.parametrize(
    "races",
    [
        nights(operation="term-query"),
        # They hardly differ.
        with_documents(nights(), 745_000, "source"),
        # A slower engine indexes less in the same time, which must not hide that it is slower.
        with_documents(nights(), 500_000, "time"),
        with_target(nights(), 100.0),
    ],
)
def test_a_series_goes_on_if_its_tasks_do_the_same(races):
    trend = trend_of(races)
    assert (trend.answer, len(trend.races)) == ("regression", 16)


def test_a_regression_before_a_task_did_something_else_is_not_hidden():
    races = nights()
    last = races[-1]
    other = replace(last.tasks[1], operation_type="vector-search")
    trend = trend_of([*races[:-1], replace(last, tasks=(last.tasks[0], other))])
    assert trend.answer == "earlier regression"
    assert "before the machine, the data or the work of a task changed" in " ".join(shown(trend).split())


def test_profiled_races_are_left_out_and_do_not_pass_as_the_newest():
    trend = trend_of(profiled(nights(), CHANGED_FROM))
    assert len(trend.races) == CHANGED_FROM
    assert any(
        "6 races were profiled (jfr), which changes what they measure" in text for text in trend.left_out
    )
    assert trend.answer == "newest races unusable"
    assert trend.newest_unusable.startswith("the newest 6 races were profiled (jfr)")


def test_a_profiled_race_among_others_is_only_left_out():
    races = nights()
    races[3] = profiled([races[3]], 0)[0]
    series = race_series(compared(*races), TrendOptions())
    assert len(series.races) == 15
    assert series.newest_unusable == ""
    assert series.left_out == ("1 race was profiled (jfr), which changes what they measure: n03",)


def test_races_that_are_all_profiled_alike_form_a_series():
    assert len(race_series(compared(*profiled(nights(), 0)), TrendOptions()).races) == 16
