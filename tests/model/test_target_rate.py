"""When a task has missed its target rate, and when it only looks as if it had."""

import pytest
from msgspec.structs import replace

from pacenote.model.driver_facts import LateJoins
from pacenote.model.result import Throughput, WorkTotals
from pacenote.model.target_rate import (
    TargetRate,
    achieved_rate,
    has_other_work,
    keeps_target,
    late_share,
    late_share_of_task,
    misses_target,
    operations_per_s,
)
from pacenote.verdict.determine import determine_verdict, targets_not_kept
from support.records import bulk, paced, record, task, times

HUNDRED = TargetRate(100.0, operations=100.0)


def of_window(ended: int, window_s: float = 10.0, service_ms: float = 4.0):
    counts = replace(task().accounting, waited=1)
    service = times(p50=service_ms / 1.25)
    return paced(window_operations=ended, window_s=window_s, service_time=service, accounting=counts)


@pytest.mark.parametrize(("ended", "misses"), [(1_000, False), (949, False), (948, True), (23, True)])
def test_a_task_may_miss_its_target_by_the_tolerated_share_and_one_operation(ended, misses):
    # 999.6 operations are expected: those of the last 4 ms may end later.
    assert misses_target(of_window(ended), HUNDRED, 0.05) == misses


def test_operations_in_flight_at_the_end_of_the_window_are_not_missing():
    assert not misses_target(of_window(800, service_ms=2_000.0), HUNDRED, 0.05)
    assert misses_target(of_window(700, service_ms=2_000.0), HUNDRED, 0.05)


def test_failures_count_towards_the_mean_service_time():
    # 500 operations of 4 ms and 500 of 4 s: 800 are expected.
    failures = times(500, p50=3_200.0)
    mixed = replace(of_window(759), service_time=times(500, p50=3.2), failed_service_time=failures)
    assert not misses_target(mixed, HUNDRED, 0.05)
    assert misses_target(replace(mixed, window_operations=700), HUNDRED, 0.05)


def test_a_task_whose_operations_were_all_sent_when_they_were_due_ran_at_its_rate():
    held = of_window(500)
    for waited, unsent, misses in ((0, 0, False), (1, 0, True), (0, 1, True)):
        counts = replace(held.accounting, waited=waited, unsent=unsent)
        assert misses_target(replace(held, accounting=counts), HUNDRED, 0.05) == misses


def test_clients_that_join_late_may_miss_a_target_although_no_operation_waited():
    joins = LateJoins(clients=1, missed_s=7.0, missed_measured_s=7.0, latest_s=7.0)
    held = of_window(500)
    held = replace(held, accounting=replace(held.accounting, waited=0))
    assert misses_target(held, HUNDRED, 0.05, joins)
    assert not misses_target(replace(held, window_operations=990), HUNDRED, 0.05, joins)


def test_clients_that_share_a_schedule_skip_nothing_when_one_joins_late():
    joins = LateJoins(clients=1, missed_s=7.0, missed_measured_s=7.0, latest_s=7.0)
    held = replace(of_window(500), open_loop=True)
    held = replace(held, accounting=replace(held.accounting, waited=0))
    assert not misses_target(held, HUNDRED, 0.05, joins)
    assert misses_target(replace(held, accounting=replace(held.accounting, waited=1)), HUNDRED, 0.05, joins)


@pytest.mark.parametrize("ended_by", ["time", "iterations"])
def test_the_connections_of_clients_that_share_a_schedule_are_missing_until_they_join(ended_by: str):
    shared = replace(
        of_window(500), clients=4, window_from_s=5.0, duration_s=15.0, open_loop=True, ended_by=ended_by
    )
    joins = LateJoins(clients=2, missed_s=12.0, missed_measured_s=6.0, latest_s=11.0)
    assert late_share(shared, joins) == pytest.approx(6.0 / 40.0)
    assert late_share_of_task(shared, joins) == pytest.approx(12.0 / 60.0)
    # The others had done all iterations when it came.
    never = LateJoins(clients=1, missed_s=99.0, missed_measured_s=99.0, latest_s=99.0)
    assert late_share(shared, never) == pytest.approx(0.25)
    assert late_share_of_task(shared, never) == pytest.approx(0.25)


def test_what_clients_missed_in_the_warm_up_was_not_measured():
    joins = LateJoins(clients=2, missed_s=12.0, missed_measured_s=None, latest_s=7.0)
    timed = replace(of_window(500), clients=4, window_from_s=5.0, ended_by="time")
    assert late_share(timed, joins) == pytest.approx(2.0 / 40.0)
    assert late_share(replace(timed, window_from_s=8.0), joins) == 0.0
    # The two that began in time have done their iterations when the last client is still at its own.
    assert late_share(replace(timed, ended_by="iterations"), joins) == pytest.approx(0.7)
    # One client was late by 1 s of the warm-up, the other by 6 s of the window.
    joins = LateJoins(clients=2, missed_s=12.0, missed_measured_s=6.0, latest_s=11.0)
    assert late_share(timed, joins) == pytest.approx(6.0 / 40.0)


def test_clients_that_are_done_before_the_last_one_are_missing_from_a_window_that_was_drained():
    """Two of four clients join after 3 and 7 s, and the drain of the warm-up lasts until 8 s."""
    joins = LateJoins(clients=2, missed_s=10.0, missed_measured_s=0.0, latest_s=7.0)
    drained = replace(of_window(500), clients=4, window_from_s=8.0, ended_by="time")
    assert late_share(drained, joins) == 0.0
    # At the end, two clients have done their iterations 7 s before the last one, and one 4 s before it.
    for ended_by in ("iterations", "source"):
        assert late_share(replace(drained, ended_by=ended_by), joins) == pytest.approx(18.0 / 40.0)
        all_measured = replace(joins, missed_measured_s=10.0)
        assert late_share(replace(drained, ended_by=ended_by), all_measured) == pytest.approx(0.7)


def test_a_slow_schedule_need_not_fill_its_window_exactly():
    assert not misses_target(of_window(2, window_s=29.0), TargetRate(0.1, operations=0.1), 0.05)


def test_few_random_arrivals_may_be_fewer_than_expected():
    poisson = replace(HUNDRED, value=10.0, operations=10.0, arrivals="poisson")
    assert misses_target(of_window(80), replace(poisson, arrivals="deterministic"), 0.05)
    assert not misses_target(of_window(80), poisson, 0.05)
    assert misses_target(of_window(60), poisson, 0.05)


def test_a_task_without_a_measured_operation_is_not_judged():
    assert not misses_target(of_window(0), HUNDRED, 0.05)


def test_the_achieved_rate_has_the_unit_of_the_target():
    asked = TargetRate(20_000.0, "docs", operations=4.0)
    indexed = bulk(
        window_operations=30, window_s=10.0, error_rate=0.0, throughput=Throughput(1.0, 15_000.0, 1.0, 1.0)
    )
    assert achieved_rate(indexed, asked) == 15_000.0
    assert achieved_rate(indexed, TargetRate(4.0, operations=4.0)) == 3.0
    assert achieved_rate(task(throughput=None), asked) == 0.0


@pytest.mark.parametrize(
    ("docs_per_s", "kept", "as_asked"),
    [
        (20_000.0, True, True),
        (19_000.0, True, True),
        (18_400.0, False, False),
        (10_000.0, False, False),
        (21_000.0, True, True),
        (32_000.0, True, False),
    ],
)
def test_a_rate_of_work_is_kept_only_if_the_operations_have_that_work(docs_per_s, kept, as_asked):
    """All bulks were sent when they were due, but may have been shorter than the rate takes for granted."""
    asked = TargetRate(20_000.0, "docs", operations=4.0)
    indexed = bulk(
        **{"window_operations": 400, "window_s": 100.0, "error_rate": 0.0, "window_succeeded": 400},
        accounting=replace(task().accounting, waited=0, unsent=0),
        throughput=Throughput(1.0, docs_per_s, docs_per_s, docs_per_s),
    )
    assert keeps_target(indexed, asked, 0.05) == kept
    assert has_other_work(indexed, asked, 0.05) == (not as_asked)
    assert not has_other_work(indexed, TargetRate(4.0, operations=4.0), 0.05)
    race = record(tasks=(indexed,), targets={indexed.task: asked})
    findings = [
        finding
        for finding in determine_verdict(race).findings
        if "of its measured window had" in finding.text
    ]
    assert [(finding.cause, finding.tasks) for finding in findings] == [("track", (indexed.task,))] * (
        not as_asked
    )
    assert len(targets_not_kept(race)) == (not kept)


@pytest.mark.parametrize(("docs_per_s", "kept"), [(20_000.0, True), (19_100.0, True), (18_400.0, False)])
@pytest.mark.parametrize("bulks", [100, 400, 1_600])
def test_a_rate_that_follows_from_the_documents_is_judged_by_those_of_the_window(docs_per_s, kept, bulks):
    """Whether the bulks of the window are longer or shorter than those of the whole task, which had 2,000."""
    asked = TargetRate(20_000.0, "docs")
    indexed = bulk(
        **{"window_operations": bulks, "window_s": 100.0, "error_rate": 0.0, "window_succeeded": bulks},
        accounting=replace(task().accounting, waited=5, unsent=0),
        work=WorkTotals(2_000 * task().accounting.succeeded, 0),
        throughput=Throughput(1.0, docs_per_s, docs_per_s, docs_per_s),
    )
    assert keeps_target(indexed, asked, 0.05) == kept
    assert misses_target(indexed, asked, 0.05) == (not kept)
    assert not has_other_work(indexed, asked, 0.05)


@pytest.mark.parametrize(
    ("ended_by", "bulks", "missed"),
    [("time", 73, False), ("time", 72, True), ("source", 75, False), ("source", 74, True)],
)
def test_bulks_of_each_client_may_overlap_the_ends_of_a_time_period(ended_by, bulks, missed):
    """Of 8 clients and 80 bulks: 5 % may be missing, and 3.5 of a time period, otherwise one."""
    asked = TargetRate(20_000.0, "docs")
    docs_per_s = 250.0 * bulks
    indexed = bulk(
        **{"window_operations": bulks, "window_s": 20.0, "error_rate": 0.0, "window_succeeded": bulks},
        **{"clients": 8, "ended_by": ended_by, "accounting": replace(task().accounting, waited=5, unsent=0)},
        throughput=Throughput(1.0, docs_per_s, docs_per_s, docs_per_s),
        service_time=None,
    )
    assert misses_target(indexed, asked, 0.05) == missed
    assert keeps_target(indexed, asked, 0.05) == (not missed)
    assert misses_target(indexed, TargetRate(20_000.0, "docs", 4.0), 0.05) == (bulks < 75)


def test_if_many_operations_failed_a_rate_of_work_is_judged_by_all_that_ended():
    asked = TargetRate(20_000.0, "docs")
    failing = bulk(
        **{"window_operations": 100, "window_s": 100.0, "error_rate": 0.5, "window_succeeded": 50},
        accounting=replace(task().accounting, succeeded=500, failed=500, waited=5, unsent=0),
        work=WorkTotals(10_000_000, 10_000_000),
        throughput=Throughput(1.0, 10_000.0, 10_000.0, 10_000.0),
    )
    assert operations_per_s(failing, asked) == 1.0
    assert not misses_target(failing, asked, 0.05)


def test_a_short_bulk_at_the_end_does_not_miss_a_rate_of_work():
    asked = TargetRate(20_000.0, "docs", operations=4.0)
    few = bulk(
        **{"window_operations": 3, "window_s": 1.0, "error_rate": 0.0, "window_succeeded": 3},
        throughput=Throughput(1.0, 10_500.0, 10_500.0, 10_500.0),
    )
    assert not has_other_work(few, asked, 0.05)


def test_the_achieved_rate_of_a_runner_that_reports_its_time_is_that_of_the_window():
    # Half of 100 documents per second: 3,000 in a minute, for which the runner reports 0.6 s.
    half = task(unit="docs", window_s=60.0, reported_s=0.6, throughput=Throughput(4_900, 5_000, 5_000, 5_100))
    assert achieved_rate(half, TargetRate(100.0, "docs", 1.0)) == pytest.approx(50.0)
    assert achieved_rate(replace(half, window_s=0.0), TargetRate(100.0, "docs", 1.0)) == 0.0


def test_a_rate_of_work_is_judged_by_the_work_of_an_operation():
    counts = replace(task().accounting, succeeded=30, failed=0, waited=1)
    indexed = bulk(
        **{"window_operations": 30, "window_s": 10.0, "window_succeeded": 30, "accounting": counts},
        work=WorkTotals(150_000, 0),
        throughput=Throughput(1.0, 15_000.0, 1.0, 1.0),
    )
    assert misses_target(indexed, TargetRate(20_000.0, "docs"), 0.05)
    assert not misses_target(indexed, TargetRate(15_500.0, "docs"), 0.05)
    nothing = replace(indexed, work=WorkTotals(0, 0), throughput=None)
    assert not misses_target(nothing, TargetRate(20_000.0, "docs"), 0.05)


@pytest.mark.parametrize(
    ("error_rate", "achieved", "kept"),
    [(0.0, 100.0, True), (0.04, 96.0, True), (0.06, 94.0, False), (1.0, 0.0, False)],
)
def test_a_rate_is_achieved_and_kept_only_with_operations_that_succeed(error_rate, achieved, kept):
    failing = replace(of_window(1_000), error_rate=error_rate)
    assert achieved_rate(failing, HUNDRED) == pytest.approx(achieved)
    assert keeps_target(failing, HUNDRED, 0.05) == kept
    assert not misses_target(failing, HUNDRED, 0.05)


def test_the_achieved_rate_counts_what_succeeded_in_the_window_and_not_by_the_error_rate():
    # Operations of the warm-up failed in the window, and measured ones failed after it.
    for error_rate in (0.0, 0.5):
        task_result = replace(of_window(1_000), window_succeeded=600, error_rate=error_rate)
        assert achieved_rate(task_result, HUNDRED) == 60.0
        assert not keeps_target(task_result, HUNDRED, 0.05)


def test_operations_of_the_warm_up_make_up_for_those_in_flight_at_the_end():
    """Of 100/s with replies after 2 s, as many end in each second of a window after a warm-up of 2 s."""
    slow = of_window(800, service_ms=2_000.0)
    for window_from_s, ended_by, misses in (
        (2.0, "time", True),
        (1.0, "time", True),
        (0.4, "time", False),
        (0.0, "time", False),
        (2.0, "iterations", False),
    ):
        task_result = replace(slow, window_from_s=window_from_s, ended_by=ended_by)
        assert misses_target(task_result, HUNDRED, 0.05) == misses
        assert keeps_target(task_result, HUNDRED, 0.05) != misses
    in_time = replace(slow, window_from_s=30.0, window_operations=1_000)
    assert not misses_target(in_time, HUNDRED, 0.05)


def test_a_rate_is_not_kept_if_part_of_the_schedule_was_not_sent():
    for unsent, kept in ((10, True), (11, False)):
        counts = replace(task().accounting, operations=990, unsent=unsent)
        assert keeps_target(replace(of_window(1_000), accounting=counts), HUNDRED, 0.05) == kept
