"""The conditions under which a probe passes, fails or is void."""

from array import array

import pytest
from msgspec.structs import replace

from pacenote.errors import UsageError
from pacenote.lab.probe import (
    NO_LOWER_RATE,
    MachineUse,
    RunEvidence,
    evaluate_probe,
    includes_warmup,
    level_left_out,
    lower_service_ms,
    lowest_decided_rate,
    lowest_rate,
    window_s,
)
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Finding
from pacenote.model.result import (
    CensoredPercentile,
    OperationTotals,
    SampleCounts,
    Throughput,
    WarmupBacklog,
    WorkTotals,
)
from pacenote.model.saturation import LatencyLimit, Objective, Probe, parse_latency_limits
from pacenote.model.warmup_backlog import BACKLOG_REASON
from pacenote.race.measured_seconds import MeasuredSeconds
from pacenote.stats.power import operations_to_decide
from pacenote.verdict.determine import disturbances
from support.records import paced, record, times

OBJECTIVE = Objective((LatencyLimit(99.0, 10.0),), error_rate=0.01)

UNLIMITED = Objective((), error_rate=1.0)

FEW_SUCCEEDED = (
    "error rate 25 %",
    "no p99 of latency: more than 1 % of the operations failed or were not sent",
)

OTHER_PROGRAMS = Finding("programs beside engine and driver used 70 %", "machine")

NO_USE = MachineUse()

OTHERS = MachineUse((OTHER_PROGRAMS,), by_others=True)

QUIET = {"threads": [{"name": "drive-0", "busiest": {"step": "term", "share": 0.1}}]}


def result(done=2000, failed=0, unsent=0, late=0, **changes):
    """Returns the result of a probe of 20 s, without warm-up; `late` operations ended after the window."""
    accounting = OperationTotals(
        operations=done + failed,
        succeeded=done,
        failed=failed,
        unanswered=0,
        retried=0,
        warmup=0,
        normal=done + failed,
        requests=done + failed,
        unsent=unsent,
    )
    return paced(
        window_operations=done + failed - late,
        window_succeeded=done,
        throughput=Throughput(*[done / 20] * 4),
        work=WorkTotals(done, failed),
        error_rate=failed / (done + failed),
        **{"window_s": 20.0, "latency": times(count=done), "accounting": accounting} | changes,
    )


def probe(task_result, rate=100.0, objective=OBJECTIVE, driver=QUIET, machine=NO_USE) -> Probe:
    return evaluate_probe(7, rate, task_result, objective, RunEvidence(driver, machine))


def keeping_up(task_result, lower_ms) -> Probe:
    """Returns a probe without limits; at lower rates, operations took `lower_ms`."""
    return evaluate_probe(7, 100.0, task_result, UNLIMITED, RunEvidence(QUIET, lower_service_ms=lower_ms))


def test_a_sustained_rate_within_the_objective_passes():
    evaluated = probe(result())
    assert (evaluated.outcome, evaluated.reasons, evaluated.achieved) == ("passed", (), 100.0)
    assert evaluated.at(99.0).ms == 8.0


def test_connections_that_the_engine_closes_do_not_excuse_a_probe_that_fails():
    counts = replace(result(done=1500, failed=500).accounting, reconnects=500)
    task_result = result(
        done=1500,
        failed=500,
        accounting=counts,
        lateness=times(p50=0.1, p99=5.0),
        latency=times(1500, p99=13.0),
    )
    assert [finding.cause for finding in disturbances((task_result,), QUIET)] == ["engine"]
    assert (probe(task_result).outcome, probe(task_result).reasons) == ("failed", FEW_SUCCEEDED)
    assert level_left_out(task_result, replace(OBJECTIVE, error_rate=0.5), RunEvidence(QUIET)) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"late": 40}, "only 98.0 % of the operations that were due were done"),
        # A figure that misses its limit does not look like it.
        ({"done": 100_000, "late": 1_018}, "only 98.98 % of the operations that were due were done"),
        ({"unsent": 30}, "30 operations could not be sent in time"),
        ({"done": 1960, "failed": 40}, "error rate 2 %"),
        ({"latency": times(p99=10.5)}, "p99 of latency is 10.5 ms"),
        (
            {"done": 1979, "failed": 21},
            "no p99 of latency: more than 1 % of the operations failed or were not sent",
        ),
        ({"latency": None}, "p99 of latency is missing"),
        ({"done": 1000, "unsent": 11, "late": 0}, "11 operations could not be sent in time"),
    ],
)
def test_a_probe_that_exceeds_a_limit_fails(changes, reason):
    evaluated = probe(result(**changes))
    assert evaluated.outcome == "failed"
    assert reason in evaluated.reasons


@pytest.mark.parametrize(
    ("service_ms", "lower_ms", "late", "outcome"),
    [
        (400.0, 400.0, 44, "passed"),
        (400.0, 400.0, 49, "failed"),
        (0.01, 0.01, 25, "failed"),
        # A backlog makes replies slow, but lets no more operations overlap by chance.
        (400.0, 10.0, 25, "failed"),
        (400.0, 10.0, 24, "passed"),
        (10.0, 400.0, 25, "failed"),
        # Without a lower rate, it is not known which of both it is.
        (400.0, None, 44, "undecided"),
        (400.0, None, 21, "passed"),
        (400.0, None, 49, "failed"),
    ],
)
def test_operations_in_flight_may_differ_by_chance_between_both_ends_of_the_window(
    service_ms, lower_ms, late, outcome
):
    """At 98 per second for 400 ms each, 39 are in flight on average, and seldom 27 more or fewer."""
    evaluated = keeping_up(result(late=late, service_time=replace(times(), mean_ms=service_ms)), lower_ms)
    assert evaluated.outcome == outcome
    assert (NO_LOWER_RATE in evaluated.reasons) == (outcome == "undecided")


def test_the_shortest_replies_of_lower_rates_are_those_of_an_engine_without_a_backlog():
    at_rates = [(50.0, 12.0), (100.0, 900.0), (75.0, 11.0), (80.0, None), (200.0, 5.0)]
    probes = [replace(probe(result()), rate=rate, service_ms=ms) for rate, ms in at_rates]
    assert lower_service_ms(probes, 100.0) == 11.0
    assert lower_service_ms(probes, 75.0) == 12.0
    assert lower_service_ms(probes, 50.0) is None


@pytest.mark.parametrize("excess", [1.015, 1.02, 1.05])
def test_an_engine_that_serves_one_at_a_time_does_not_keep_more_than_it_serves(excess):
    """It serves 100 per second, and replies take longer and longer at a rate above that."""
    due = [number / (100 * excess) for number in range(int(25 * 100 * excess))]
    ended, last = [], 0.0
    for at in due:
        last = max(last, at) + 0.01
        ended.append(last)
    measured = [(at, end) for at, end in zip(due, ended, strict=True) if at >= 5]
    mean_ms = sum(end - at for at, end in measured) / len(measured) * 1000.0
    late = len(measured) - sum(5 <= end < 25 for end in ended)
    task_result = result(done=len(measured), late=late, service_time=replace(times(), mean_ms=mean_ms))
    assert keeping_up(task_result, 10.0).outcome == "failed"


@pytest.mark.parametrize("service_s", [0.6, 2.0])
def test_an_engine_that_serves_any_number_at_a_time_keeps_every_rate(service_s):
    """Of random arrivals with exponential service times, nothing waits, and few of 400 windows fail."""
    import numpy as np

    random, failed = np.random.default_rng(1), 0
    for _ in range(400):
        due = np.cumsum(random.exponential(1 / 94, 3_200))
        ended = due + random.exponential(service_s, len(due))
        measured = np.count_nonzero((due >= 10) & (due < 30))
        done = np.count_nonzero((ended >= 10) & (ended < 30))
        times_ = replace(times(), mean_ms=service_s * 1000.0)
        task_result = result(done=measured, late=measured - done, service_time=times_)
        failed += keeping_up(task_result, service_s * 1000.0).outcome == "failed"
    assert failed <= 2


def test_pauses_of_the_whole_engine_are_those_in_which_nothing_ends():
    """Of 10 connections at 100 per second, all are answered once in 0.1 s."""
    stops = [at * 1_000_000_000 + number * 4_000_000 for at in range(20) for number in range(100)]
    steady = [number * 10_000_000 for number in range(2_000)]
    # Replies that come together, whenever all connections were sent an operation.
    together = [number // 10 * 100_000_000 for number in range(2_000)]
    # The last replies come after the window, seconds apart.
    late = [*steady, 23_000_000_000, 29_000_000_000]
    own = result(clients=10, window_from_s=0.0)
    for ended, share in ((stops, 20 * 0.604 / 20), (steady, 0.0), (together, 0.0), (late, 0.0)):
        seconds = MeasuredSeconds((), array("q", ended))
        evaluated = evaluate_probe(7, 100.0, own, UNLIMITED, RunEvidence(QUIET, seconds=seconds))
        assert evaluated.silent_share == pytest.approx(share)
    assert probe(result()).silent_share is None
    # All of few connections are often busy by chance.
    few = MeasuredSeconds((), array("q", stops))
    evaluated = evaluate_probe(7, 100.0, replace(own, clients=3), UNLIMITED, RunEvidence(QUIET, seconds=few))
    assert evaluated.silent_share is None


def test_a_few_operations_need_not_fill_the_window_exactly():
    """In 20 s at 3.33 per second, 67 operations are due, and the last may end after the window."""
    few = result(done=67, late=1)
    assert probe(few, rate=3.33, objective=UNLIMITED).outcome == "passed"
    assert probe(replace(few, window_operations=65), rate=3.33).outcome == "failed"


def test_with_random_arrivals_the_throughput_is_compared_with_the_operations_that_were_due():
    """Of 2,000 expected operations, 1,900 were due, which happens one time in a hundred; all were done."""
    assert probe(result(done=1900)).outcome == "passed"


def test_a_probe_without_measured_operations_fails():
    accounting = OperationTotals(1, 1, 0, 0, 0, 1, 0, 1)
    nothing = replace(result(), throughput=None, accounting=accounting, window_operations=0)
    assert probe(nothing, objective=UNLIMITED).reasons == ("no operation was measured",)
    # All connections hang since the warm-up.
    hanging = replace(nothing, accounting=replace(accounting, unsent=900, unanswered=4), error_rate=None)
    assert probe(hanging, objective=Objective((), 0.01)).outcome == "failed"


def test_only_operations_of_the_window_count():
    """The warm-up has failed, and an operation of the warm-up ended in the window."""
    task_result = result(done=1000, late=500)
    totals = replace(task_result.accounting, operations=1500, failed=500, warmup=500)
    failed_before = replace(task_result, accounting=totals, work=WorkTotals(1000, 500))
    assert probe(failed_before).achieved == 25.0
    assert probe(failed_before).reasons == ("only 50.0 % of the operations that were due were done",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"latency": times(p99=8.5)}, "p99 of latency is 8.5 ms, but its interval reaches 10.62 ms"),
        ({"latency": times(count=300)}, "p99 of latency has too few samples"),
        (
            {"done": 1985, "failed": 15},
            "p99 of latency is 8 ms, but failures leave its interval without upper bound",
        ),
    ],
)
def test_a_percentile_whose_interval_contains_the_limit_does_not_decide(changes, reason):
    evaluated = probe(result(**changes), objective=replace(OBJECTIVE, error_rate=1.0))
    assert (evaluated.outcome, evaluated.reasons) == ("undecided", (reason,))


@pytest.mark.parametrize(
    ("failed", "outcome", "reasons"),
    [
        (0, "passed", ()),
        (11, "passed", ()),
        (12, "undecided", ("error rate is 0.6 %, but its interval reaches 1.05 %",)),
        (20, "undecided", ("error rate is 1 %, but its interval reaches 1.54 %",)),
        (29, "undecided", ("error rate is 1.45 %, but its interval reaches 2.08 %",)),
        (30, "failed", ("error rate 1.5 %",)),
    ],
)
def test_an_error_rate_whose_interval_contains_the_limit_does_not_decide(failed, outcome, reasons):
    """The exact 95 % interval of 11 failures of 2,000 ends at 0.98 %, that of 30 begins at 1.01 %."""
    evaluated = probe(result(done=2000 - failed, failed=failed), objective=Objective((), 0.01))
    assert (evaluated.outcome, evaluated.reasons) == (outcome, reasons)


def test_too_few_operations_without_a_failure_do_not_prove_an_error_rate():
    limited = Objective((), 0.01)
    assert probe(result(done=368), objective=limited).outcome == "passed"
    assert probe(result(done=367), objective=limited).outcome == "undecided"


def test_an_error_rate_of_0_is_met_if_no_operation_fails():
    nothing_fails = Objective((), 0.0)
    assert probe(result(), objective=nothing_fails).outcome == "passed"
    assert probe(result(done=1999, failed=1), objective=nothing_fails).reasons == ("error rate 0.05 %",)


def test_failures_rank_above_every_latency():
    """Of 2,000 operations, 2 % fail at once, and 99 % of the others take 1 ms."""
    fast = replace(OBJECTIVE, error_rate=0.05)
    task_result = result(done=1960, failed=40, latency=times(count=1960, p50=1.0, p99=1.0))
    assert probe(task_result, objective=fast).outcome == "failed"
    assert probe(task_result, objective=replace(fast, latency=(LatencyLimit(90.0, 5.0),))).outcome == "passed"
    assert probe(task_result, objective=fast).at(99.0).ms is None
    assert probe(task_result, objective=fast).latency == task_result.latency.percentiles


SLOW_CLOCK = {"clock": {"sources": ["hpet"], "read_ns": 1400.0, "resolution_ns": 1}}


@pytest.mark.parametrize(
    ("changes", "driver", "reason"),
    [
        ({}, {"threads": [{"busiest": {"step": "s", "share": 0.95}}]}, "was busy 95 % of"),
        (
            {"lateness": times(p50=0.05, p99=3.0), "service_time": times(p99=7.0)},
            QUIET,
            "the driver sent late (p99 3 ms, over 10 %",
        ),
        ({}, {"machine": {"stolen_share": 0.2}}, "20 % of CPU time was stolen"),
        (
            {},
            {"threads": [{"delayed": {"task": "term", "wait_ms": 0.4, "service_ms": 2.0}}]},
            "waited for a core and read replies late, by 20 %",
        ),
        ({"samples": SampleCounts(kept=10, lost=1)}, QUIET, "samples were lost"),
    ],
)
def test_what_makes_a_race_suspect_voids_a_probe_that_does_not_pass(changes, driver, reason):
    race = record(tasks=(result(**changes),), driver=driver)
    assert race.verdict.state == "suspect"
    failed = probe(result(latency=times(p99=10.5), **changes), driver=driver)
    assert failed.outcome == "void"
    texts = tuple(finding.text for finding in race.verdict.findings)
    assert failed.reasons == ("p99 of latency is 10.5 ms", *texts)
    assert reason in failed.reasons[-1]
    undecided = probe(result(latency=times(p99=9.0), **changes), driver=driver)
    assert undecided.outcome == "void"
    # Latency is measured from the due time, so a late driver or a slow machine can only make it longer.
    passed = probe(result(**changes), driver=driver)
    assert (passed.outcome, passed.reasons) == ("void" if "samples" in changes else "passed", texts)


@pytest.mark.parametrize(
    ("failed", "reported", "objective", "outcome"),
    [
        # 2 % of the operations fail.
        (40, 40, OBJECTIVE, "failed"),
        (40, 21, OBJECTIVE, "failed"),
        # 29 failures of 2,000 do not prove more than 1 %.
        (40, 30, Objective((), 0.01), "failed"),
        (40, 29, Objective((), 0.01), "void"),
        (40, 20, OBJECTIVE, "void"),
        (40, 0, OBJECTIVE, "void"),
        # The error rate is not limited, but the failures make p99 endless.
        (40, 40, replace(OBJECTIVE, error_rate=1.0), "failed"),
        (40, 20, replace(OBJECTIVE, error_rate=1.0), "void"),
    ],
)
def test_a_busy_driver_does_not_excuse_failures_that_the_engine_reports(failed, reported, objective, outcome):
    busy = {"threads": [{"busiest": {"step": "s", "share": 0.95}}]}
    task_result = result(done=2000 - failed, failed=failed, reported_failures=reported)
    assert probe(task_result, objective=objective, driver=QUIET).outcome == "failed"
    assert probe(task_result, objective=objective, driver=busy).outcome == outcome


@pytest.mark.parametrize(
    ("reported", "overload", "outcome"),
    [
        (60, 60, "void"),
        (60, 40, "void"),
        # Failures that the load does not explain are too many alone.
        (60, 0, "failed"),
        (60, 1, "failed"),
    ],
)
def test_overload_of_an_engine_whose_processors_others_used_is_excused(reported, overload, outcome):
    task_result = result(done=1940, failed=60, reported_failures=reported, overload_failures=overload)
    assert probe(task_result, driver=QUIET).outcome == "failed"
    assert probe(task_result, driver=QUIET, machine=OTHERS).outcome == outcome


@pytest.mark.parametrize(
    ("group", "failed"),
    [
        # 100 rejections in the warm-up, one bulk with 500 rejected documents, and 60 timeouts, which are not
        # among the failures that the engine reports.
        (FailureGroup("http-status", "y", 429, 100, 0.0, 1.0, "operations"), 60),
        (FailureGroup("bulk-item", "y", 429, 500, 0.0, 1.0, "documents"), 61),
        (FailureGroup("timeout", "y", None, 60, 0.0, 1.0, "operations"), 120),
    ],
)
def test_only_measured_operations_that_the_engine_reports_are_excused(group, failed):
    refused = FailureGroup("http-status", "x", 400, 60, 0.0, 9.0, "operations")
    overload = int(group.unit == "documents")
    task_result = result(
        done=2000 - failed,
        failed=failed,
        reported_failures=60 + overload,
        overload_failures=overload,
        errors=(group, refused),
    )
    assert probe(task_result, driver=QUIET, machine=OTHERS).outcome == "failed"


def test_a_clock_that_cannot_be_trusted_voids_every_probe():
    race = record(tasks=(result(),), driver=SLOW_CLOCK)
    passed = probe(result(), driver=SLOW_CLOCK)
    texts = tuple(finding.text for finding in race.verdict.findings)
    assert (passed.outcome, passed.reasons) == ("void", texts)
    assert probe(result(latency=times(p99=10.5)), driver=SLOW_CLOCK).outcome == "void"


def test_a_driver_that_did_not_run_for_a_while_does_not_void_a_probe_that_passes():
    paused = QUIET | {"clock": {"gaps": [{"at_s": 1.0, "length_s": 0.6}], "gaps_s": 0.6}}
    assert probe(result(), driver=paused).outcome == "passed"
    assert probe(result(latency=times(p99=10.5)), driver=paused).outcome == "void"


def test_hosts_that_fail_under_load_do_not_excuse_the_engine():
    uses = {"cluster": "default", "host": "a:9200", "requests": 9, "connection_failures": 0, "set_aside": 3}
    judged = probe(result(done=1900, failed=100), driver=QUIET | {"hosts": [uses, uses | {"host": "b:9200"}]})
    assert judged.outcome == "failed"


def test_a_level_that_fails_or_was_disturbed_is_left_out_of_the_law():
    assert level_left_out(result(), OBJECTIVE, RunEvidence(QUIET)) == ()
    assert level_left_out(result(done=1960, failed=40), OBJECTIVE, RunEvidence(QUIET)) == ("error rate 2 %",)
    stolen = {"machine": {"stolen_share": 0.2}}
    (reason,) = level_left_out(result(), OBJECTIVE, RunEvidence(stolen))
    assert reason.startswith("20 % of CPU time was stolen by other virtual machines")


def test_failures_within_the_objective_do_not_lower_the_rate():
    task_result = result(done=1000, failed=1000)
    assert probe(task_result, objective=Objective((), error_rate=0.6)).outcome == "passed"


def test_low_rates_are_measured_for_longer_to_decide_the_percentiles():
    assert window_s(OBJECTIVE, 1000.0, 20.0) == 20.0
    assert window_s(OBJECTIVE, 10.0, 20.0) == pytest.approx(1.1 * operations_to_decide(0.01) / 10)
    assert window_s(OBJECTIVE, 0.1, 20.0) == 300.0
    assert window_s(Objective((), 0.01), 10.0, 20.0) == window_s(OBJECTIVE, 10.0, 20.0)
    for without_proof in (UNLIMITED, Objective((), 0.0)):
        assert window_s(without_proof, 10.0, 20.0) == 20.0
        assert window_s(without_proof, 1.0, 20.0) == 100.0


def test_below_the_lowest_rate_even_the_longest_probe_has_too_few_samples():
    for text in ("p50:1ms", "p99:1ms", "p99.9:1ms", "p99.99:1ms"):
        objective = Objective(parse_latency_limits(text), 1.0)
        lowest = lowest_rate(objective, 20.0)
        assert lowest * window_s(objective, lowest, 20.0) >= objective.samples_needed()
        assert lowest / 2 * window_s(objective, lowest / 2, 20.0) < objective.samples_needed()
        decided = lowest_decided_rate(objective, 20.0)
        assert decided > lowest
        limit = objective.latency[0]
        assert decided * window_s(objective, decided, 20.0) >= operations_to_decide(1 - limit.q / 100)
    assert lowest_rate(UNLIMITED, 20.0) == lowest_decided_rate(UNLIMITED, 20.0) == 0
    assert lowest_rate(Objective((), 0.01), 20.0) == lowest_rate(OBJECTIVE, 20.0)
    assert lowest_decided_rate(Objective((), 0.01), 20.0) == lowest_decided_rate(OBJECTIVE, 20.0)
    assert lowest_rate(OBJECTIVE, 600.0) == pytest.approx(lowest_rate(OBJECTIVE, 20.0) / 2)


def test_latency_limits_are_parsed_with_their_units():
    assert parse_latency_limits("p99:100ms, p50<=2,p99.9:1s") == (
        LatencyLimit(99.0, 100.0),
        LatencyLimit(50.0, 2.0),
        LatencyLimit(99.9, 1000.0),
    )
    for wrong in ("99:1", "p95:1ms", "p99:0", "p99"):
        with pytest.raises(UsageError):
            parse_latency_limits(wrong)


def with_seconds(task_result, seconds, machine=NO_USE, effects=(), objective=OBJECTIVE):
    """Returns the probe whose window has these slow operations in each second of 100 operations: they take 12
    ms, the others 1 to 9 ms.
    """
    latencies = tuple(
        array("q", [12_000_000] * slow + [1_000_000 + 80_000 * number for number in range(100 - slow)])
        for slow in seconds
    )
    evidence = RunEvidence(QUIET, machine, MeasuredSeconds(latencies), effects)
    return evaluate_probe(7, 100.0, task_result, objective, evidence)


def test_other_programs_void_a_probe_that_does_not_pass():
    slow = result(latency=times(p99=10.5))
    disturbed = with_seconds(slow, [4] * 20, OTHERS)
    assert disturbed.outcome == "void"
    assert disturbed.reasons == ("p99 of latency is 10.5 ms", OTHER_PROGRAMS.text)
    assert with_seconds(slow, [4] * 20).outcome == "failed"
    # They only make latency longer.
    assert with_seconds(result(), [0] * 20, OTHERS).outcome == "passed"
    evidence = RunEvidence(QUIET, OTHERS)
    assert level_left_out(result(), OBJECTIVE, evidence) == (OTHER_PROGRAMS.text,)


def test_one_burst_of_slow_operations_neither_fails_a_probe_nor_lets_it_pass():
    one_burst = [0] * 12 + [25] + [0] * 7
    above = with_seconds(result(latency=times(p99=10.5)), one_burst)
    assert above.outcome == "undecided"
    assert above.reasons[0].startswith(
        "slow operations came in bursts, so that 2,000 operations show as little"
    )
    assert with_seconds(result(), [0] * 12 + [16] + [0] * 7).outcome == "undecided"
    # As many operations are no burst if each second has some.
    assert with_seconds(result(latency=times(p99=10.5)), [2, 1, 1, 1] * 5).outcome == "failed"
    assert with_seconds(result(), [1, 0, 0, 0] * 5).outcome == "passed"
    # Many bursts are proof, and so is an engine that does not keep up.
    assert with_seconds(result(latency=times(p99=10.5)), [0, 25] * 10).outcome == "failed"
    assert with_seconds(result(latency=times(p99=10.5)), [0] * 5 + [100] * 15).outcome == "failed"


def test_the_bound_that_a_probe_shows_is_the_one_that_decides():
    probes = []
    for burst in range(0, 24, 3):
        bursts = [burst if second == 3 else 0 for second in range(60)]
        probes.append(with_seconds(result(latency=times(p99=8.9), done=6000), bursts))
    assert {probe.outcome for probe in probes} == {"passed", "undecided"}
    for probe in probes:
        bound = probe.at(99.0)
        assert (probe.outcome == "passed") == (bound.high_ms is not None and bound.high_ms <= 10.0), probe


@pytest.mark.parametrize("q", [90.0, 99.0])
def test_operations_in_bursts_have_wider_intervals(q):
    task_result = result(latency=times(p50=4.3, p99=8.9))
    independent = with_seconds(task_result, [1, 0, 0, 0] * 5).at(q)
    assert independent == probe(task_result).at(q)
    # Whether the objective limits the percentile or not.
    dependent = with_seconds(task_result, [0] * 9 + [60] + [0] * 10).at(q)
    assert dependent.high_ms is None or dependent.high_ms > independent.high_ms
    assert (dependent.ms, dependent.supported) == (independent.ms, independent.supported)


def test_a_probe_whose_seconds_are_not_known_counts_operations_as_independent():
    """It has too many samples to be read; earlier probes had bursts."""
    task_result = result(latency=times(p50=4.3, p99=8.9))
    unknown = with_seconds(task_result, [], effects=(3.0,))
    assert (unknown.outcome, unknown.at(99.0)) == (probe(task_result).outcome, probe(task_result).at(99.0))
    assert unknown.at(99.0).high_ms is not None


def test_a_probe_that_lost_samples_does_not_pass_as_if_it_had_no_bursts():
    burst = [0] * 12 + [16] + [0] * 7
    assert with_seconds(result(), burst).outcome == "undecided"
    lost = result(samples=SampleCounts(kept=1999, lost=1))
    unknown = with_seconds(lost, [])
    assert (unknown.outcome, unknown.reasons) == (
        "void",
        tuple(finding.text for finding in disturbances((lost,), QUIET)),
    )
    # Those of the window are complete, or there is no limit that bursts could hide from.
    assert with_seconds(lost, [0] * 20).outcome == "passed"
    assert probe(lost, objective=UNLIMITED).outcome == "passed"
    # What the engine itself reports as failed counts.
    failing = result(done=1900, failed=100, samples=lost.samples, reported_failures=100)
    assert with_seconds(failing, []).outcome == "failed"


def test_bursts_of_earlier_probes_make_later_ones_longer():
    assert with_seconds(result(), [0] * 20).outcome == "passed"
    assert with_seconds(result(), [0] * 20, effects=(1.0, 20.0)).outcome == "undecided"
    assert window_s(OBJECTIVE, 1000.0, 20.0, effect=20.0) == pytest.approx(37.5, rel=0.01)
    assert window_s(OBJECTIVE, 10.0, 20.0, effect=20.0) == 600.0


def test_latency_that_includes_a_backlog_of_the_warm_up_does_not_fail_a_rate_that_caught_up():
    backlog = WarmupBacklog(operations=40, until_s=6.0, gone=True, marked=True)
    slow = {"latency": times(p99=10.5)}
    late = probe(result(**slow, warmup_backlog=backlog))
    assert (late.outcome, BACKLOG_REASON in late.reasons) == ("undecided", True)
    assert probe(result(warmup_backlog=backlog)).outcome == "passed"
    # An overload, few operations that waited, and failures.
    assert probe(result(**slow, warmup_backlog=replace(backlog, gone=False))).outcome == "failed"
    assert probe(result(**slow, warmup_backlog=replace(backlog, marked=False))).outcome == "failed"
    assert probe(result(**slow, done=1960, failed=40, warmup_backlog=backlog)).outcome == "failed"


def test_a_backlog_of_the_warm_up_that_decides_only_the_percentile_of_the_objective_is_the_reason():
    """It is a burst, but not one that the engine has later, and it does not lengthen later probes."""
    objective = Objective((LatencyLimit(99.9, 10.0),), error_rate=0.01)
    latency = (CensoredPercentile(99.9, 40.0, 42.0, True),)
    backlog = WarmupBacklog(operations=120, until_s=5.1, gone=True, effect=1.3, from_quantile=0.999)
    burst = [60, *[0] * 19]
    late = result(latency_with_failures=latency, warmup_backlog=backlog)
    assert with_seconds(late, burst, objective=objective).reasons == (BACKLOG_REASON,)
    assert with_seconds(late, burst, objective=objective).outcome == "undecided"
    assert probe(late, objective=objective).reasons == (BACKLOG_REASON,)
    assert includes_warmup(late, objective)
    # It does not decide p99.
    assert not includes_warmup(late, OBJECTIVE)
    unknown = replace(late, warmup_backlog=replace(backlog, from_quantile=None))
    assert BACKLOG_REASON not in with_seconds(unknown, burst, objective=objective).reasons
    assert not includes_warmup(unknown, objective)
