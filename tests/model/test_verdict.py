"""The conditions that make a race valid, suspect or void."""

from dataclasses import replace
from typing import Any

import pytest

from pacenote.model.finding import Finding
from pacenote.model.race_record import DocumentCheck, RaceRecord, RecordedCorpus, Verdict
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import (
    DriverTime,
    FailureGroup,
    OperationTotals,
    PythonDelay,
    SampleCounts,
    TaskResult,
    WorkTotals,
)
from pacenote.model.target_rate import TargetRate
from pacenote.model.verdict import determine_verdict
from support.records import bulk, judged, paced, record, task, times


def test_a_race_without_problems_is_valid():
    assert determine_verdict(record()) == Verdict("valid")


def test_errors_above_the_limit_void_a_race():
    race = record(tasks=(bulk(error_rate=0.02),))
    assert judged(race) == (
        "void",
        (
            "index-append: 2 % of the operations failed (limit 1 %), mostly HTTP 429: correct the cause, "
            "which the errors of the report show, or accept them with --max-error-rate",
        ),
    )
    assert determine_verdict(replace(race, max_error_rate=0.02)).state == "valid"


def counts(warmup: int, measured: int, failed: int) -> OperationTotals:
    """Counts of which `failed` operations failed, without retries."""
    ended = warmup + measured
    return OperationTotals(ended, ended - failed, failed, 0, 0, warmup, measured, ended)


def test_failures_during_warm_up_are_judged_beside_the_measured_ones():
    failing = task(accounting=counts(warmup=50, measured=50, failed=3))
    (reason,) = determine_verdict(record(tasks=(failing,))).reasons
    assert reason.startswith("search: 3 % of all operations failed, warm-up included (limit 1 %): correct")
    assert determine_verdict(record(tasks=(failing,), max_error_rate=0.03)).state == "valid"
    both = replace(failing, error_rate=0.06)
    (reason,) = determine_verdict(record(tasks=(both,))).reasons
    assert reason.startswith("search: 6 % of the operations failed (limit 1 %): correct")


def test_a_reported_task_without_a_measured_operation_voids_a_race():
    warming = task(accounting=counts(warmup=500, measured=0, failed=0), error_rate=None, ended_by="source")
    race = record(tasks=(warming,))
    assert judged(race) == (
        "void",
        (
            "search: nothing was measured: the warm-up took all 500 operations: shorten the warm-up, or give "
            "the task more to do",
        ),
    )
    idle = replace(warming, accounting=counts(warmup=0, measured=0, failed=0))
    assert determine_verdict(record(tasks=(idle,))).reasons == (
        "search: nothing was measured: no operation ended",
    )
    assert determine_verdict(record(tasks=(replace(warming, ended_by="completed-by"),))).state == "valid"
    assert determine_verdict(replace(race, unreported=("search",))).state == "valid"
    assert determine_verdict(replace(race, interrupted=True)).reasons == ("interrupted",)


def test_interrupted_aborted_and_unfinished_races_are_void():
    assert judged(record(interrupted=True, complete=False)) == ("void", ("interrupted",))
    assert determine_verdict(record(aborted="the engine died", complete=False)).reasons == (
        "aborted: the engine died",
    )
    assert determine_verdict(record(tasks=(task(ended_by="aborted"),))).reasons == ("search: aborted",)
    assert determine_verdict(record(complete=False)).reasons == ("the race has not finished",)


def test_long_work_of_the_driver_makes_a_race_suspect():
    at_limit = DriverTime(operations=100, mean_ms=0.2, service_ms=2.0, share=0.1)
    assert determine_verdict(record(tasks=(task(driver_time=at_limit),))) == Verdict("valid")
    above = replace(at_limit, mean_ms=0.31, share=0.155)
    assert judged(record(tasks=(task(driver_time=above),))) == (
        "suspect",
        (
            "search: the driver's own work took 310 µs per operation, over 10 % of service time: it may have "
            "been the bottleneck: give the driver more threads and cores",
        ),
    )
    few = replace(above, operations=99)
    assert determine_verdict(record(tasks=(task(driver_time=few),))) == Verdict("valid")


def test_late_sends_make_a_race_suspect():
    assert judged(record(tasks=(paced(late_p99=0.81),))) == (
        "suspect",
        (
            "term: the driver sent late (p99 810 µs, over 10 % of service time): p99 is doubtful, p50 is "
            "not: give the driver more cores, or run the engine on another host",
        ),
    )
    (reason,) = determine_verdict(record(tasks=(paced(lateness=times(p50=0.21, p99=0.3)),))).reasons
    assert reason.startswith(
        "term: the driver sent late (p50 210 µs, over 10 % of service time): p50 is doubtful:"
    )
    (reason,) = determine_verdict(record(tasks=(paced(lateness=times(p50=0.21, p99=0.9)),))).reasons
    assert "(p99 900 µs, over 10 % of service time): p50 and p99 are doubtful:" in reason
    assert determine_verdict(record(tasks=(paced(late_p99=0.79),))).state == "valid"


def test_late_sends_are_blamed_on_the_machine_if_the_driver_waited_for_a_core_longer_than_it_had_one():
    def finding(waited_s: float | None):
        thread = {"name": "drive-0", "cpu_s": 0.77, "run_queue_s": waited_s, "wall_s": 125.0}
        (found,) = determine_verdict(
            record(tasks=(paced(late_p99=3.0),), driver={"threads": [thread]})
        ).findings
        return found

    machine = finding(1.83)
    assert (machine.cause, machine.advice) == (
        "machine",
        "stop other programs, or run the engine on another host or on a machine with more cores",
    )
    assert machine.text.startswith(
        "the driver sent late, because it waited for a core for 1.83 s in the race, and had one for 770 ms "
        "(p99 3 ms, over 10 % of service time)"
    )
    assert [finding(waited_s).cause for waited_s in (0.76, None)] == ["driver", "driver"]


def test_tasks_with_the_same_problem_share_a_reason_that_states_its_cause():
    late = [paced(name, late_p99=ms) for name, ms in (("term", 3.0), ("range", 3.1), ("default", 0.1))]
    (finding,) = determine_verdict(record(tasks=tuple(late))).findings
    assert (finding.tasks, finding.cause) == (("term", "range"), "driver")
    assert finding.text.startswith("the driver sent late (p99 3 ms to 3.1 ms, over 10 % of service time)")
    many = Finding("late", tasks=tuple(f"t{number}" for number in range(10)))
    assert str(many) == "t0, t1, t2, t3, t4, t5, t6, t7 and 2 more: late"


def test_late_sends_are_blamed_on_python_code_if_operations_waited_for_it():
    late = paced(lateness=times(p50=0.4, p99=0.8))
    assert late.lateness is not None
    assert late.processing_time is not None
    waited = "operations waited for the track's Python code and were sent late (p50 400 µs, over 10 %"
    own = "Python's own work before the request of a runner made it late (p50 400 µs, over 10 %"
    # The runner's own work takes 0.7 ms.
    processing = replace(late.processing_time, mean_ms=late.processing_time.mean_ms + 0.7)
    for lateness_ms, mean_ms, text in ((0.5, 0.3, own), (1.2, 0.6, waited), (1.3, 0.6, own)):
        delay = PythonDelay(operations=100, mean_ms=mean_ms, service_ms=10.0, share=mean_ms / 10.0)
        lateness = replace(late.lateness, mean_ms=lateness_ms)
        delayed = replace(late, lateness=lateness, python_delay=delay, processing_time=processing)
        (finding,) = determine_verdict(record(tasks=(delayed,))).findings
        assert (finding.cause, finding.text.startswith(text)) == ("track", True), finding.text
    assert "use a built-in operation type" in finding.advice
    # More than half of the lateness is not the runner's own work.
    later = replace(delayed, lateness=replace(late.lateness, mean_ms=1.5))
    (finding,) = determine_verdict(record(tasks=(later,))).findings
    assert (finding.cause, finding.text.startswith("the driver sent late (p50 400 µs")) == ("driver", True)


def test_unsent_operations_are_not_blamed_on_the_own_work_of_python():
    delay = PythonDelay(operations=100, mean_ms=0.3, service_ms=10.0, share=0.03)
    late = replace(paced(lateness=times(p50=0.4, p99=0.8)), python_delay=delay)
    assert late.processing_time is not None
    late = replace(late, processing_time=replace(late.processing_time, mean_ms=10.0))
    late = replace(late, accounting=replace(late.accounting, unsent=late.accounting.operations))
    unsent, _ = determine_verdict(record(tasks=(late,))).findings
    assert ("were not sent" in unsent.text, unsent.cause) == (True, "engine")


def test_operations_that_a_scheduler_could_not_be_asked_for_make_a_race_suspect():
    state, (reason,) = judged(record(tasks=(replace(paced(), unsent_is_least=True),)))
    assert state == "suspect"
    assert reason.startswith("term: how many operations were not sent is unknown (at least 0)")


@pytest.mark.parametrize(("caught", "is_suspect"), [(1, False), (2, True)])
def test_failed_requests_in_operations_that_succeed_make_a_race_suspect(caught, is_suspect):
    counts = replace(paced().accounting, requests=100)
    caught_in = paced(accounting=counts, caught_failures=caught)
    state, reasons = judged(record(tasks=(caught_in,)))
    assert (state, "".join(reasons)) == (
        (
            "suspect",
            "term: 2 of 100 requests failed in operations that count as successes (limit 1 %): let the "
            "runner raise the error or return success: false, or accept it with --max-error-rate",
        )
        if is_suspect
        else ("valid", "")
    )


def test_late_sends_are_blamed_on_the_scheduler_if_operations_waited_for_it():
    late = paced(lateness=times(p50=0.4, p99=0.8))
    # The mean lateness is 0.5 ms.
    half_s = late.accounting.operations * 0.25 / 1000
    for delay_s, cause in (
        (half_s * 0.99, "term: the driver sent late (p50 400 µs, "),
        (
            half_s,
            "term: operations waited for the scheduler or its parameter source in Python and were sent late",
        ),
    ):
        (reason,) = determine_verdict(record(tasks=(replace(late, scheduler_delay_s=delay_s),))).reasons
        assert reason.startswith(cause)


def test_unsent_operations_are_blamed_on_the_scheduler_if_waiting_for_it_explains_them():
    late = paced()
    assert late.service_time is not None
    unsent = replace(late, accounting=replace(late.accounting, unsent=late.accounting.operations))
    needed_s = unsent.accounting.unsent * late.service_time.mean_ms / 1000
    for delay_s, cause in (
        (needed_s * 0.99, "the engine is saturated, and latency is mostly waiting time"),
        (needed_s * 1.01, "the track's Python code was too slow: make schedulers, "),
    ):
        (reason,) = determine_verdict(record(tasks=(replace(unsent, scheduler_delay_s=delay_s),))).reasons
        assert cause in reason


def test_late_sends_are_blamed_on_a_parameter_source_if_operations_waited_for_it():
    late = paced(lateness=times(p50=0.4, p99=0.8))
    half_s = late.accounting.operations * 0.25 / 1000
    for waited_s, cause in (
        (half_s * 0.99, "term: the driver sent late (p50 400 µs, "),
        (half_s, "term: operations waited for a parameter source in Python and were sent late (p50 400 µs, "),
    ):
        # The tasks run for so long that the wait is a small part of the time of their clients.
        changed = replace(late, underrun_s=waited_s, duration_s=1e6)
        (reason,) = determine_verdict(record(tasks=(changed,))).reasons
        assert reason.startswith(cause)


def test_unsent_operations_are_blamed_on_the_driver_only_if_its_lateness_explains_them():
    late = paced(late_p99=3.0)
    assert late.lateness is not None
    assert late.service_time is not None
    late_ms = late.lateness.mean_ms * late.accounting.operations
    explained = int(late_ms / late.service_time.mean_ms * 2)
    for unsent, cause in ((explained, "driver"), (explained + 1, "engine")):
        counts = replace(late.accounting, unsent=unsent)
        first, second = determine_verdict(record(tasks=(replace(late, accounting=counts),))).findings
        assert ("were not sent" in first.text, first.cause) == (True, cause)
        assert (second.text.startswith("the driver sent late"), second.cause) == (True, "driver")


def test_late_sends_are_not_blamed_on_the_driver_alone_if_connections_were_opened_again():
    late = paced(late_p99=0.81)
    operations = late.accounting.operations
    for lateness, reconnects, is_named in (
        (late.lateness, operations // 100, True),
        (late.lateness, operations // 100 - 1, False),
        (times(p50=0.21, p99=0.3), operations // 100, False),
        (times(p50=0.21, p99=0.3), operations // 2, True),
    ):
        reopened = replace(late.accounting, reconnects=reconnects)
        changed = replace(late, lateness=lateness, accounting=reopened)
        (reason,) = determine_verdict(record(tasks=(changed,))).reasons
        named = f"{reconnects:,} connections had to be opened again" in reason
        assert (named, "the driver sent late" in reason) == (is_named, not is_named)


def test_pauses_of_the_driver_in_a_task_make_a_race_suspect():
    def reasons(paused_s, **clock):
        second = {"from_s": 1.0, "to_s": 1.0 + paused_s, "paused_s": paused_s}
        driver = {"wall_s": 7000.0, "clock": {"pauses": 1, "paused_s": paused_s, "paused": [second], **clock}}
        # The task begins with the race.
        return determine_verdict(record(tasks=(replace(paced(), duration_s=4.0),), driver=driver)).reasons

    assert reasons(0.05) == ()
    assert reasons(0.28) == (
        "term: the driver did not run for about 0.28 s of 4 s (limit 1 %): its process was stopped, or its "
        "virtual machine was paused: repeat the race on an idle machine",
    )
    # A gap is not one of the pauses.
    short, long = reasons(0.28, gaps=[{"at_s": 1.1, "length_s": 0.62}], gaps_s=0.62)
    assert short.startswith("term: the driver did not run for about 0.28 s of 4 s")
    assert long.startswith("the driver did not run for 0.62 s, 1.1 s after its start")


def test_samples_lost_to_a_slow_disk_make_a_race_suspect():
    lossy = task(samples=SampleCounts(kept=900, lost=100, from_s=3.0))
    assert judged(record(tasks=(lossy,))) == (
        "suspect",
        (
            "search: 100 of 1,000 samples were lost: the disk was too slow or full, or another program "
            "changed the file: use a faster disk, or keep fewer samples with --samples",
        ),
    )
    assert (
        determine_verdict(record(tasks=(task(samples=SampleCounts(left_out=100, from_s=3.0)),))).state
        == "valid"
    )


def test_a_lateness_percentile_with_too_few_samples_does_not_change_the_verdict():
    assert (
        determine_verdict(record(tasks=(paced("term", lateness=times(300, p50=0.1, p99=9.0)),))).state
        == "valid"
    )
    few = paced("term", late_p99=9.0, service_time=times(300, p50=2.0, p99=8.0))
    assert determine_verdict(record(tasks=(few,))).state == "valid"
    supported = replace(few, service_time=times(400, p50=2.0, p99=8.0))
    assert determine_verdict(record(tasks=(supported,))).state == "suspect"


def test_late_sends_of_a_task_without_responses_do_not_change_the_verdict():
    assert determine_verdict(record(tasks=(paced(late_p99=9.0, service_time=None),))).state == "valid"


def test_unsent_operations_make_a_race_suspect():
    slow = task("slow", accounting=replace(task().accounting, operations=900, unsent=100))
    (reason,) = determine_verdict(record(tasks=(slow,))).reasons
    assert reason.startswith("slow: 100 of 1,000 planned operations were not sent: the engine is saturated")
    last = task("last", accounting=replace(task().accounting, operations=999, unsent=1))
    assert determine_verdict(record(tasks=(last,))).state == "valid"


def failing(failed: int, unsent: int = 0, sources: int = 1) -> RaceRecord:
    """A race in which plug-ins failed, and the sources of some clients; the error rate is not a reason."""
    errors = (FailureGroup("plugin", "track.py:8: KeyError: 'size'", None, failed, 1.0, 2.0),)
    counts = replace(task().accounting, operations=1000 - unsent, failed=failed, unsent=unsent)
    return record(
        tasks=(task("own", errors=errors, accounting=counts, failed_sources=sources),), max_error_rate=1.0
    )


def test_failures_of_plug_ins_make_a_race_suspect_or_void():
    text = "own: 1 of 1,000 planned operations failed in a plug-in of the track"
    advice = ": correct the plug-in: the errors of the report state file and line"
    assert judged(failing(1)) == ("suspect", (f"{text}{advice}",))
    assert judged(failing(1, 9)) == ("suspect", (f"{text}, and 9 were not sent{advice}",))
    # The schedule was not kept because of the plug-in, not because of the engine.
    assert judged(failing(1, 10)) == ("void", (f"{text}, and 10 were not sent{advice}",))
    assert determine_verdict(failing(10)).state == "suspect"
    assert determine_verdict(failing(11)).state == "void"


def test_a_failure_of_a_plug_in_does_not_explain_the_backlog_of_other_clients():
    plugin = "own: 1 of 1,000 planned operations failed in a plug-in of the track"
    backlog = "own: 600 of 1,000 planned operations were not sent: the engine is saturated"
    # A runner that fails leaves nothing unsent.
    state, (unsent, failed) = judged(failing(1, 600, sources=0))
    assert (state, unsent.startswith(backlog), failed.startswith(f"{plugin}:")) == ("suspect", True, True)
    # One of two clients cannot leave more than half of the schedule.
    state, (failed, unsent) = judged(failing(1, 600, sources=1))
    assert (state, failed.startswith(f"{plugin}, and 500 were not sent:")) == ("void", True)
    assert unsent.startswith("own: 100 of 1,000 planned operations were not sent: the engine is saturated")
    # In an open loop, the other client sends the whole schedule.
    race = failing(1, 600, sources=1)
    shared = replace(race, tasks=(replace(race.tasks[0], open_loop=True),))
    assert judged(shared)[1][0].startswith(backlog)
    state, (failed,) = judged(failing(2, 600, sources=2))
    assert (state, "failed in a plug-in of the track, and 600 were not sent:" in failed) == ("void", True)


def test_a_defect_of_a_built_in_operation_is_not_blamed_on_the_track():
    race = failing(1)
    (own,) = race.tasks
    (group,) = own.errors
    defect = replace(group, reason="a defect of Pacenote in run-until: TypeError at run_until.py:7: odd")
    only = replace(race, tasks=(replace(own, errors=(defect,)),))
    (finding,) = determine_verdict(only).findings
    assert (finding.cause, finding.tasks) == ("pacenote", ("own",))
    text = "1 of 1,000 planned operations failed because of a defect of Pacenote in an operation"
    assert finding.text == text
    counts = replace(own.accounting, operations=998, unsent=2)
    # Only the source of the plug-in left operations unsent.
    mixed = replace(own, errors=(group, defect), accounting=counts)
    both = determine_verdict(replace(race, tasks=(mixed,)))
    assert [finding.cause for finding in both.findings] == ["track", "pacenote"]
    assert both.findings[0].text.endswith("failed in a plug-in of the track, and 2 were not sent")
    assert both.findings[1].text == text


def test_a_slow_parameter_source_makes_a_race_suspect():
    fed = task("fed", clients=4, duration_s=10.0, underruns=7, underrun_s=0.4)
    assert determine_verdict(record(tasks=(fed,))).state == "valid"
    (reason,) = determine_verdict(record(tasks=(replace(fed, underrun_s=0.41),))).reasons
    assert reason.startswith("fed: clients waited 0.41 s for a parameter source in Python, over 1 %")


def test_missing_documents_void_a_race_and_additional_ones_make_it_suspect_unless_expected():
    lost = DocumentCheck("logs", 10, 9)
    state, (reason,) = judged(record(documents=(lost,)))
    assert (state, reason.partition(": look")[0]) == (
        "void",
        "acknowledged documents are missing: 'logs' has 9 of 10",
    )
    state, (reason,) = judged(record(documents=(replace(lost, counted=11),)))
    assert state == "suspect"
    assert reason.startswith("there are more documents than were acknowledged: 'logs' has 11 of 10: delete")
    several = tuple(replace(lost, index=name) for name in "abcde")
    (reason,) = determine_verdict(record(documents=several)).reasons
    assert "'a' has 9 of 10, 'b' has 9 of 10, 'c' has 9 of 10, 2 more indices" in reason
    assert (
        determine_verdict(record(documents=(replace(lost, difference_expected="updates"),))).state == "valid"
    )
    unknown = replace(lost, counted=None, count_problem="logs: it is closed")
    assert judged(record(documents=(unknown,))) == (
        "suspect",
        ("documents of index 'logs' could not be counted: logs: it is closed",),
    )


def test_test_mode_makes_a_race_suspect_and_states_its_documents():
    corpora = (
        RecordedCorpus("geonames", "excerpt", 1_000, 9_000),
        RecordedCorpus("http_logs", "generated", 7_000, 9_000, seed=42),
        RecordedCorpus("own", "as-is", 1, 9),
    )
    race = record(options=RecordedOptions(test_mode=True), corpora=corpora)
    assert judged(race) == (
        "suspect",
        (
            "test mode: not a measurement, with the first 1,000 documents of 'geonames', 7,000 generated "
            "documents of 'http_logs', 1 document of 'own': omit --test-mode to measure",
        ),
    )
    (reason,) = determine_verdict(replace(race, corpora=())).reasons
    assert reason == "test mode: not a measurement: omit --test-mode to measure"


def test_a_void_race_also_lists_suspect_reasons():
    race = record(tasks=(paced(late_p99=1.0),), interrupted=True)
    assert [reason.split(":")[0] for reason in determine_verdict(race).reasons] == [
        "interrupted",
        "term",
    ]


def test_unsent_operations_of_a_task_with_a_slow_source_are_not_blamed_on_the_engine():
    counts = replace(task().accounting, operations=900, unsent=100)
    fed = task("fed", clients=4, duration_s=10.0, underrun_s=5.0, accounting=counts)
    unsent, _ = determine_verdict(record(tasks=(fed,))).reasons
    assert unsent == (
        "fed: 100 of 1,000 planned operations were not sent: the track's Python code was too slow: make "
        "schedulers, parameter sources and runners faster"
    )
    busy = task(accounting=counts, python_delay=PythonDelay(100, 1.0, 2.0, 0.5))
    unsent, _ = determine_verdict(record(tasks=(busy,))).reasons
    assert "the track's Python code was too slow" in unsent


def test_operations_that_wait_for_python_code_make_a_race_suspect():
    delay = PythonDelay(operations=100, mean_ms=0.6, service_ms=5.0, share=0.12)
    (reason,) = determine_verdict(record(tasks=(task(python_delay=delay),))).reasons
    assert reason.startswith("search: operations waited 600 µs on average for the track's Python code")
    for tolerable in (
        replace(delay, operations=99),
        replace(delay, share=0.1),
        replace(delay, mean_ms=0.4),
    ):
        assert determine_verdict(record(tasks=(task(python_delay=tolerable),))) == Verdict("valid")


def test_requests_outside_operations_make_a_race_suspect():
    outside = [{"step": "b", "requests": 1200, "failed": 7}, {"step": "c", "requests": 1, "failed": 0}]
    advice = "await every request in the operation that sends it"
    assert judged(record(driver={"outside_requests": outside})) == (
        "suspect",
        (
            "b, c: the track's Python code sent 1,201 requests outside its operations (7 failed), so that no "
            f"sample contains them: {advice}",
        ),
    )
    assert judged(record(driver={"outside_requests": outside[1:]})) == (
        "suspect",
        (
            "c: the track's Python code sent 1 request outside its operations, so that no sample contains "
            f"it: {advice}",
        ),
    )


def saturated(name: str = "term", ended: int = 1_400, **changes: Any) -> TaskResult:
    """A task with a target rate whose operations were sent, but later than asked."""
    counts = replace(
        task().accounting, operations=ended, succeeded=ended, warmup=0, normal=ended, waited=ended
    )
    own = {"accounting": counts, "window_operations": ended, "window_s": 12.0, "ended_by": "iterations"}
    return paced(name, **own | changes)


def test_a_missed_target_rate_is_the_first_reason():
    targets = {"term": TargetRate(5_000.0, operations=5_000.0)}
    race = record(tasks=(saturated(late_p99=0.7),), targets=targets, options=RecordedOptions(test_mode=True))
    state, reasons = judged(race)
    assert (state, reasons[0]) == (
        "suspect",
        "term: 117 of 5,000 ops/s: the engine is saturated, and latency is mostly waiting time: use a lower "
        "rate or more clients; `pacenote saturate` with --task and the track of this race finds the highest "
        "rate that it sustains",
    )
    both = replace(
        race, tasks=(saturated(), saturated("range", 6_000)), targets=targets | {"range": targets["term"]}
    )
    finding, *_ = determine_verdict(both).findings
    assert (finding.tasks, finding.cause) == (("term", "range"), "engine")
    assert finding.text.startswith("2 % to 10 % of their target rates: the engine is saturated")


def test_a_task_that_indexed_nothing_is_the_first_reason():
    failed = replace(task().accounting, operations=10, succeeded=0, failed=10, warmup=0, normal=10)
    search = task("term", accounting=failed, error_rate=1.0)
    index = bulk(accounting=failed, error_rate=1.0, work=WorkTotals(0, 5_000), throughput=None)
    first, second = determine_verdict(record(tasks=(search, index))).findings
    assert (first.tasks, second.tasks) == (("index-append",), ("term",))
    assert first.text.startswith(
        "100 % of the operations failed (limit 1 %), mostly HTTP 429: no document was"
    )


def test_a_small_part_of_a_target_rate_is_not_called_zero():
    targets = {name: TargetRate(5_000.0, operations=5_000.0) for name in ("term", "range")}
    race = record(tasks=(saturated(ended=12), saturated("range", 24)), targets=targets)
    finding, *_ = determine_verdict(race).findings
    assert finding.text.startswith("less than 1 % of their target rates")


def test_a_missed_target_rate_is_blamed_on_what_slowed_the_task():
    targets = {"term": TargetRate(5_000.0, operations=5_000.0)}
    causes = {
        "driver": saturated(lateness=times(p50=1.0, p99=2.0)),
        "track": saturated(underrun_s=100.0),
    }
    for cause, slowed in causes.items():
        assert determine_verdict(record(tasks=(slowed,), targets=targets)).findings[0].cause == cause
    counts = replace(saturated().accounting, operations=30_001, unsent=29_999)
    for failed_sources, why in ((0, "the engine is saturated"), (1, "parameter sources or schedulers of")):
        half = saturated(accounting=counts, failed_sources=failed_sources)
        missed, *_ = determine_verdict(record(tasks=(half,), targets=targets)).findings
        assert missed.text.startswith(f"117 of 5,000 ops/s: {why}")


def test_work_on_what_a_runner_returned_is_the_drivers_own_and_may_slow_a_task():
    work = DriverTime(operations=1_000, mean_ms=2.0, service_ms=2.0, share=1.0)
    waits = PythonDelay(operations=1_000, mean_ms=4.0, service_ms=2.0, share=2.0)
    slowed = saturated(driver_time=work, python_delay=waits)
    race = record(tasks=(slowed,), targets={"term": TargetRate(5_000.0, operations=5_000.0)})
    missed, own, _ = determine_verdict(race).findings
    assert (missed.cause, own.cause) == ("driver", "driver")
    assert missed.text == (
        "117 of 5,000 ops/s: the driver's own work on what the runner returned took too long"
    )
    assert own.text == (
        "the driver's own work on what the runner returned took 2 ms per operation, over 10 % of service "
        "time: it may have been the bottleneck"
    )
    assert own.advice == missed.advice
    # The other client causes at most 2 ms of these waits.
    longer = replace(slowed, python_delay=replace(waits, mean_ms=4.1))
    assert determine_verdict(replace(race, tasks=(longer,))).findings[0].cause == "track"


def test_an_engine_that_answers_nothing_is_not_called_saturated():
    hanging = replace(saturated().accounting, operations=1, succeeded=0, normal=0, unanswered=1, unsent=249)
    # The duration ends with the last reply.
    no_reply = {"service_time": None, "latency": None, "lateness": None, "duration_s": 0.0, "started_s": 2.0}
    silent = saturated(accounting=hanging, window_operations=0, ended_by="stopped", **no_reply)
    race = record(tasks=(silent,), interrupted=True, complete=False, driver={"wall_s": 8.0})
    interrupted, unanswered, unsent = determine_verdict(race).findings
    assert interrupted.text == "interrupted"
    assert unanswered.text == "1 operation was unanswered when the race ended, without any reply for 6 s"
    assert (unsent.text, unsent.cause) == (
        "249 of 250 planned operations were not sent: no operation was answered",
        "engine",
    )
    soon = determine_verdict(replace(race, driver={"wall_s": 6.0})).findings
    assert [finding.text for finding in soon] == [interrupted.text, unsent.text]


def test_an_engine_at_which_all_operations_fail_is_not_called_saturated():
    counts = replace(saturated().accounting, succeeded=0, failed=1_400)
    failing = saturated(accounting=counts, error_rate=1.0, service_time=None, latency=None, lateness=None)
    race = record(tasks=(failing,), targets={"term": TargetRate(5_000.0, operations=5_000.0)})
    failures, missed = determine_verdict(race).findings
    assert failures.text.startswith("100 % of the operations failed")
    assert missed.text == "0 of 5,000 ops/s: all operations failed"


def test_the_tolerated_shortfall_is_an_option():
    race = record(tasks=(saturated(ended=1_128),), targets={"term": TargetRate(100.0, operations=100.0)})
    assert determine_verdict(race).state == "suspect"
    assert determine_verdict(replace(race, max_shortfall=0.07)).state == "valid"


def test_operations_that_were_not_sent_are_not_a_second_reason_for_a_missed_target():
    counts = replace(task().accounting, operations=1_400, unsent=58_600, normal=1_400)
    race = record(
        tasks=(saturated(accounting=counts),), targets={"term": TargetRate(5_000.0, operations=5_000.0)}
    )
    assert len(determine_verdict(race).findings) == 1
