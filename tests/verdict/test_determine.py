"""The conditions that make a race valid, suspect or void."""

import pytest
from msgspec import structs

from pacenote.model.document_checks import DocumentCheck
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Finding
from pacenote.model.race_record import RaceRecord, RecordedCorpus, Verdict
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import (
    DriverTime,
    OperationTotals,
    PythonDelay,
    SampleCounts,
    WorkTotals,
)
from pacenote.verdict.determine import determine_verdict
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
    assert determine_verdict(structs.replace(race, max_error_rate=0.02)).state == "valid"


def counts(warmup: int, measured: int, failed: int) -> OperationTotals:
    """Counts of which `failed` operations failed, without retries."""
    ended = warmup + measured
    return OperationTotals(ended, ended - failed, failed, 0, 0, warmup, measured, ended)


def test_failures_during_warm_up_are_judged_beside_the_measured_ones():
    failing = task(accounting=counts(warmup=50, measured=50, failed=3))
    (reason,) = determine_verdict(record(tasks=(failing,))).reasons
    assert reason.startswith("search: 3 % of all operations failed, warm-up included (limit 1 %): correct")
    assert determine_verdict(record(tasks=(failing,), max_error_rate=0.03)).state == "valid"
    both = structs.replace(failing, error_rate=0.06)
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
    late = structs.replace(warming, accounting=structs.replace(warming.accounting, unsent=700))
    (finding, *_) = determine_verdict(record(tasks=(late,))).findings
    assert (finding.text, finding.cause, finding.advice) == (
        "nothing was measured: all operations that were sent until the end were due in the warm-up, and 700 "
        "later ones were not sent",
        "unknown",
        "use a lower rate",
    )
    idle = structs.replace(warming, accounting=counts(warmup=0, measured=0, failed=0))
    assert determine_verdict(record(tasks=(idle,))).reasons == (
        "search: nothing was measured: no operation ended",
    )
    assert (
        determine_verdict(record(tasks=(structs.replace(warming, ended_by="completed-by"),))).state == "valid"
    )
    assert determine_verdict(structs.replace(race, unreported=("search",))).state == "valid"
    assert determine_verdict(structs.replace(race, interrupted=True)).reasons == ("interrupted",)


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
    above = structs.replace(at_limit, mean_ms=0.31, share=0.155)
    assert judged(record(tasks=(task(driver_time=above),))) == (
        "suspect",
        (
            "search: the driver's own work took 310 µs per operation, over 10 % of service time: it may have "
            "been the bottleneck: give the driver more threads and cores",
        ),
    )
    few = structs.replace(above, operations=99)
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


def test_lateness_of_operations_that_were_not_slow_does_not_change_the_verdict():
    late = paced(late_p99=3.0)
    assert late.service_time is not None
    for p99, state in ((8.79, "valid"), (8.81, "suspect")):
        verdict = determine_verdict(record(tasks=(structs.replace(late, latency=times(p50=2.1, p99=p99)),)))
        assert verdict.state == state


@pytest.mark.parametrize(
    ("p50", "p99", "doubtful_from"), [(0.05, 0.81, 99), (0.19, 0.9, 99), (0.21, 0.3, 50)]
)
def test_late_sends_make_the_percentiles_doubtful_that_they_reach(p50, p99, doubtful_from):
    (finding,) = determine_verdict(record(tasks=(paced(lateness=times(p50=p50, p99=p99)),))).findings
    assert finding.doubtful_from == doubtful_from


def test_late_sends_may_reach_a_percentile_that_is_not_compared():
    lateness = times(p50=0.05, p99=0.9)
    p90 = structs.replace(lateness.at(90.0), ms=0.5)
    lateness = structs.replace(
        lateness, percentiles=tuple(p90 if each.q == 90 else each for each in lateness.percentiles)
    )
    (finding,) = determine_verdict(record(tasks=(paced(lateness=lateness),))).findings
    assert (finding.doubtful_from, "p99 is doubtful, p50 is not" in finding.text) == (90.0, True)


def test_tasks_that_are_late_at_other_percentiles_do_not_make_more_of_each_other_doubtful():
    p90_late = times(p50=0.05, p99=0.9)
    p90_late = structs.replace(
        p90_late,
        percentiles=tuple(
            structs.replace(each, ms=0.5) if each.q == 90 else each for each in p90_late.percentiles
        ),
    )
    tasks = (paced("term", lateness=times(p50=0.05, p99=0.9)), paced("range", lateness=p90_late))
    findings = determine_verdict(record(tasks=tasks)).findings
    assert [(each.tasks, each.doubtful_from) for each in findings] == [(("term",), 99.0), (("range",), 90.0)]


def test_late_sends_are_blamed_on_the_machine_if_the_driver_waited_for_a_core_longer_than_it_had_one():
    def finding(waited_s: float | None):
        thread = {"name": "drive-0", "cpu_s": 0.77, "run_queue_s": waited_s, "wall_s": 125.0}
        (only,) = determine_verdict(
            record(tasks=(paced(late_p99=3.0),), driver={"threads": [thread]})
        ).findings
        return only

    machine = finding(1.83)
    assert (machine.cause, machine.advice) == (
        "machine",
        "stop other programs, give engine and driver cores of their own (--node-cpus, --driver-cpus), or run "
        "the engine on another host",
    )
    assert machine.text.startswith(
        "the driver sent late, because it waited for a core for 1.83 s in the race, and had one for 770 ms "
        "(p99 3 ms, over 10 % of service time)"
    )
    assert [finding(waited_s).cause for waited_s in (0.76, None)] == ["driver", "driver"]


def test_the_waits_for_a_core_in_one_step_say_nothing_about_the_tasks_of_another():
    """The race waited for 20 s for a core, but not while the second task ran."""
    steps = [
        {"step": "index", "tasks": [0], "waited_s": 20.0, "worked_s": 3.0},
        {"step": "both", "tasks": [1, 2], "waited_s": 0.1, "worked_s": 1.0},
    ]
    threads = [{"name": "drive-0", "cpu_s": 4.0, "run_queue_s": 20.1, "wall_s": 125.0}]
    tasks = tuple(
        paced(name, index=index, late_p99=3.0) for index, name in enumerate(("index", "term", "range"))
    )
    driver = {"threads": threads, "core_times": steps}
    machine, own = determine_verdict(record(tasks=tasks, driver=driver)).findings
    assert (machine.cause, machine.tasks, own.cause, own.tasks) == (
        "machine",
        ("index",),
        "driver",
        ("term", "range"),
    )
    assert "because it waited for a core for 20 s while it ran, and had one for 3 s" in machine.text
    # Of these steps, the kernel did not report it.
    unknown = record(tasks=tasks, driver=driver | {"core_times": []})
    assert [each.cause for each in determine_verdict(unknown).findings] == ["driver"]


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
    processing = structs.replace(late.processing_time, mean_ms=late.processing_time.mean_ms + 0.7)
    for lateness_ms, mean_ms, text in ((0.5, 0.3, own), (1.2, 0.6, waited), (1.3, 0.6, own)):
        delay = PythonDelay(operations=100, mean_ms=mean_ms, service_ms=10.0, share=mean_ms / 10.0)
        lateness = structs.replace(late.lateness, mean_ms=lateness_ms)
        delayed = structs.replace(late, lateness=lateness, python_delay=delay, processing_time=processing)
        (finding,) = determine_verdict(record(tasks=(delayed,))).findings
        assert (finding.cause, finding.text.startswith(text)) == ("code", True), finding.text
    assert "use a built-in operation type" in finding.advice
    # More than half of the lateness is not the runner's own work.
    later = structs.replace(delayed, lateness=structs.replace(late.lateness, mean_ms=1.5))
    (finding,) = determine_verdict(record(tasks=(later,))).findings
    assert (finding.cause, finding.text.startswith("the driver sent late (p50 400 µs")) == ("driver", True)


@pytest.mark.parametrize(("caught", "is_suspect"), [(1, False), (2, True)])
def test_failed_requests_in_operations_that_succeed_make_a_race_suspect(caught, is_suspect):
    counts = structs.replace(paced().accounting, requests=100)
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
        (reason,) = determine_verdict(
            record(tasks=(structs.replace(late, scheduler_delay_s=delay_s),))
        ).reasons
        assert reason.startswith(cause)


def test_late_sends_are_blamed_on_a_parameter_source_if_operations_waited_for_it():
    late = paced(lateness=times(p50=0.4, p99=0.8))
    half_s = late.accounting.operations * 0.25 / 1000
    for waited_s, cause in (
        (half_s * 0.99, "term: the driver sent late (p50 400 µs, "),
        (half_s, "term: operations waited for a parameter source in Python and were sent late (p50 400 µs, "),
    ):
        # The tasks run for so long that the wait is a small part of the time of their clients.
        changed = structs.replace(late, underrun_s=waited_s, duration_s=1e6)
        (reason,) = determine_verdict(record(tasks=(changed,))).reasons
        assert reason.startswith(cause)


def test_late_sends_are_not_blamed_on_the_driver_alone_if_connections_were_opened_again():
    late = paced(late_p99=0.81)
    operations = late.accounting.operations
    for lateness, reconnects, is_named in (
        (late.lateness, operations // 100, True),
        (late.lateness, operations // 100 - 1, False),
        (times(p50=0.21, p99=0.3), operations // 100, False),
        (times(p50=0.21, p99=0.3), operations // 2, True),
    ):
        reopened = structs.replace(late.accounting, reconnects=reconnects)
        changed = structs.replace(late, lateness=lateness, accounting=reopened)
        (reason,) = determine_verdict(record(tasks=(changed,))).reasons
        named = f"{reconnects:,} connections had to be opened again" in reason
        assert (named, "the driver sent late" in reason) == (is_named, not is_named)


def test_pauses_of_the_driver_in_a_task_make_a_race_suspect():
    def reasons(paused_s, **clock):
        second = {"from_s": 1.0, "to_s": 1.0 + paused_s, "paused_s": paused_s}
        driver = {"wall_s": 7000.0, "clock": {"pauses": 1, "paused_s": paused_s, "paused": [second], **clock}}
        # The task begins with the race.
        return determine_verdict(
            record(tasks=(structs.replace(paced(), duration_s=4.0),), driver=driver)
        ).reasons

    assert reasons(0.05) == ()
    assert reasons(0.28) == (
        "term: the driver did not run for about 0.28 s of 4 s (limit 1 %): its process was stopped, or its "
        "virtual machine was paused: repeat the race on an idle machine",
    )
    # A gap is not one of the pauses.
    short, long = reasons(0.28, gaps=[{"at_s": 1.1, "length_s": 0.62}], gaps_s=0.62)
    assert short.startswith("term: the driver did not run for about 0.28 s of 4 s")
    assert long.startswith("the driver did not run for 0.62 s, 1.1 s after its start")


def test_pauses_in_one_task_make_the_figures_of_others_no_more_doubtful():
    seconds = [
        {"from_s": from_s, "to_s": from_s + 1.0, "paused_s": paused_s}
        for from_s, paused_s in ((1.0, 0.4), (11.0, 0.11))
    ]
    driver = {"wall_s": 7000.0, "clock": {"pauses": 2, "paused_s": 0.51, "paused": seconds}}
    tasks = (paced("term", started_s=0.0, duration_s=10.0), paced("range", started_s=10.0, duration_s=10.0))
    findings = determine_verdict(record(tasks=tasks, driver=driver)).findings
    assert [(each.tasks, each.doubtful_from) for each in findings] == [(("term",), 0.0), (("range",), 98.9)]
    assert "did not run for about 0.11 s of 10 s" in findings[1].text


def test_pauses_in_tasks_that_run_side_by_side_are_counted_once():
    second = {"from_s": 10.0, "to_s": 12.0, "paused_s": 2.0}
    driver = {"wall_s": 7000.0, "clock": {"pauses": 1, "paused_s": 2.0, "paused": [second]}}
    tasks = (paced("term", started_s=0.0, duration_s=60.0), paced("range", started_s=0.0, duration_s=60.0))
    (finding,) = determine_verdict(record(tasks=tasks, driver=driver)).findings
    assert finding.tasks == ("term", "range")
    assert finding.text.startswith("the driver did not run for about 2 s of 60 s")


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
    supported = structs.replace(few, service_time=times(400, p50=2.0, p99=8.0))
    assert determine_verdict(record(tasks=(supported,))).state == "suspect"


def test_late_sends_of_a_task_without_responses_do_not_change_the_verdict():
    assert determine_verdict(record(tasks=(paced(late_p99=9.0, service_time=None),))).state == "valid"


def failing(failed: int, unsent: int = 0, sources: int = 1) -> RaceRecord:
    """A race in which plug-ins failed, and the sources of some clients; the error rate is not a reason."""
    errors = (FailureGroup("plugin", "track.py:8: KeyError: 'size'", None, failed, 1.0, 2.0),)
    counts = structs.replace(task().accounting, operations=1000 - unsent, failed=failed, unsent=unsent)
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
    backlog = "own: 600 of 1,000 planned operations were not sent: "
    # A runner that fails leaves nothing unsent.
    state, (unsent, failed) = judged(failing(1, 600, sources=0))
    assert (state, unsent.startswith(backlog), failed.startswith(f"{plugin}:")) == ("suspect", True, True)
    # One of two clients cannot leave more than half of the schedule.
    state, (failed, unsent) = judged(failing(1, 600, sources=1))
    assert (state, failed.startswith(f"{plugin}, and 500 were not sent:")) == ("void", True)
    assert unsent.startswith("own: 100 of 1,000 planned operations were not sent: ")
    # In an open loop, the other client sends the whole schedule.
    race = failing(1, 600, sources=1)
    shared = structs.replace(race, tasks=(structs.replace(race.tasks[0], open_loop=True),))
    assert judged(shared)[1][0].startswith(backlog)
    state, (failed,) = judged(failing(2, 600, sources=2))
    assert (state, "failed in a plug-in of the track, and 600 were not sent:" in failed) == ("void", True)


def test_a_defect_of_a_built_in_operation_is_not_blamed_on_the_track():
    race = failing(1)
    (own,) = race.tasks
    (group,) = own.errors
    defect = structs.replace(
        group, reason="a defect of Pacenote in run-until: TypeError at run_until.py:7: odd"
    )
    only = structs.replace(race, tasks=(structs.replace(own, errors=(defect,)),))
    (finding,) = determine_verdict(only).findings
    assert (finding.cause, finding.tasks) == ("pacenote", ("own",))
    text = "1 of 1,000 planned operations failed because of a defect of Pacenote in an operation"
    assert finding.text == text
    counts = structs.replace(own.accounting, operations=998, unsent=2)
    # Only the source of the plug-in left operations unsent.
    mixed = structs.replace(own, errors=(group, defect), accounting=counts)
    both = determine_verdict(structs.replace(race, tasks=(mixed,)))
    assert [finding.cause for finding in both.findings] == ["track", "pacenote"]
    assert both.findings[0].text.endswith("failed in a plug-in of the track, and 2 were not sent")
    assert both.findings[1].text == text


def test_failed_documents_do_not_outnumber_failed_operations_of_other_tasks():
    def failing(name, failed, group):
        counts = structs.replace(task().accounting, failed=failed, succeeded=100, operations=100 + failed)
        return task(name, error_rate=0.5, accounting=counts, errors=(group,))

    rejected = FailureGroup("bulk-item", "rejected", 429, 5_000, 0.0, 1.0, "documents")
    timeouts = FailureGroup("timeout", "no response", None, 90, 0.0, 1.0, "operations")
    both = record(tasks=(failing("index", 5, rejected), failing("term", 90, timeouts)))
    (text,) = [
        str(each) for each in determine_verdict(both).findings if "of the operations failed" in str(each)
    ]
    assert "mostly timeout" in text


def test_a_slow_parameter_source_makes_a_race_suspect():
    fed = task("fed", clients=4, duration_s=10.0, underruns=7, underrun_s=0.4)
    assert determine_verdict(record(tasks=(fed,))).state == "valid"
    (reason,) = determine_verdict(record(tasks=(structs.replace(fed, underrun_s=0.41),))).reasons
    assert reason.startswith("fed: clients waited 0.41 s for a parameter source in Python, over 1 %")


def test_missing_documents_void_a_race_and_additional_ones_make_it_suspect_unless_expected():
    lost = DocumentCheck("logs", 10, 9)
    state, (reason,) = judged(record(documents=(lost,)))
    assert (state, reason.partition(": look")[0]) == (
        "void",
        "acknowledged documents are missing: 'logs' has 9 of 10",
    )
    state, (reason,) = judged(record(documents=(structs.replace(lost, counted=11),)))
    assert state == "suspect"
    assert reason.startswith("there are more documents than were acknowledged: 'logs' has 11 of 10: delete")
    several = tuple(structs.replace(lost, index=name) for name in "abcde")
    (reason,) = determine_verdict(record(documents=several)).reasons
    assert "'a' has 9 of 10, 'b' has 9 of 10, 'c' has 9 of 10, 2 more indices" in reason
    assert (
        determine_verdict(record(documents=(structs.replace(lost, difference_expected="updates"),))).state
        == "valid"
    )
    unknown = structs.replace(lost, counted=None, count_problem="logs: it is closed")
    assert judged(record(documents=(unknown,))) == (
        "suspect",
        ("documents of index 'logs' could not be counted: logs: it is closed",),
    )


@pytest.mark.parametrize(
    ("counted", "state", "beginning"),
    [
        (
            19_919,
            "void",
            "acknowledged documents are missing: 'i' has 19,919 of 19,920, besides 80 ",
        ),
        (19_920, "valid", ""),
        (20_000, "valid", ""),
        (20_001, "suspect", "there are more documents than were acknowledged: 'i' has 20,001 of 19,920, bes"),
    ],
)
def test_documents_of_bulks_without_a_reply_explain_as_many_additional_ones(counted, state, beginning):
    race = record(documents=(DocumentCheck("i", 19_920, counted, unknown=80),))
    verdict, reasons = judged(race)
    assert verdict == state
    assert "".join(reasons).startswith(beginning)
    assert bool(reasons) == bool(beginning)


def test_indices_that_are_not_counted_for_the_same_cause_share_one_finding():
    refused = tuple(DocumentCheck(name, 10, None, "", f"{name}: it is closed") for name in "abcde")
    stopped = tuple(
        DocumentCheck(name, 10, None, "", f"{name}: the time for counting, 160 s, was over", "pacenote")
        for name in ("x", "y")
    )
    engine, pacenote = determine_verdict(record(documents=(*refused, *stopped))).findings
    assert engine == Finding(
        "documents of 5 indices could not be counted: a: it is closed, b: it is closed, c: it is closed, "
        "2 more indices",
        "engine",
    )
    assert pacenote == Finding(
        "Pacenote did not count the documents of 2 indices: x: the time for counting, 160 s, was over, "
        "y: the time for counting, 160 s, was over",
        "pacenote",
        "count them yourself (GET /INDEX/_count)",
    )


def test_a_race_whose_documents_were_not_checked_is_suspect():
    problem = "a defect of Pacenote: ZeroDivisionError: division by zero"
    check = DocumentCheck("all indices", None, None, "", problem, "pacenote")
    verdict = determine_verdict(record(documents=(check,)))
    assert verdict.state == "suspect"
    assert verdict.findings == (Finding(f"the documents were not checked: {problem}", "pacenote"),)


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
    (reason,) = determine_verdict(structs.replace(race, corpora=())).reasons
    assert reason == "test mode: not a measurement: omit --test-mode to measure"


def test_a_void_race_also_lists_suspect_reasons():
    race = record(tasks=(paced(late_p99=1.0),), interrupted=True)
    assert [reason.split(":")[0] for reason in determine_verdict(race).reasons] == [
        "interrupted",
        "term",
    ]


def test_operations_that_wait_for_python_code_make_a_race_suspect():
    delay = PythonDelay(operations=100, mean_ms=0.6, service_ms=5.0, share=0.12)
    (reason,) = determine_verdict(record(tasks=(task(python_delay=delay),))).reasons
    assert reason.startswith("search: operations waited 600 µs on average for the track's Python code")
    for tolerable in (
        structs.replace(delay, operations=99),
        structs.replace(delay, share=0.1),
        structs.replace(delay, mean_ms=0.4),
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


def test_a_task_that_indexed_nothing_is_the_first_reason():
    failed = structs.replace(task().accounting, operations=10, succeeded=0, failed=10, warmup=0, normal=10)
    search = task("term", accounting=failed, error_rate=1.0)
    index = bulk(accounting=failed, error_rate=1.0, work=WorkTotals(0, 5_000), throughput=None)
    first, second = determine_verdict(record(tasks=(search, index))).findings
    assert (first.tasks, second.tasks) == (("index-append",), ("term",))
    assert first.text.startswith(
        "100 % of the operations failed (limit 1 %), mostly HTTP 429: no document was"
    )
