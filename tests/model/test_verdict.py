"""The conditions that make a race valid, suspect or void."""

from dataclasses import replace

from pacenote.model.race_record import DocumentCheck, RaceRecord, Verdict
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import DriverTime, FailureGroup, OperationTotals, PythonDelay, SampleCounts
from pacenote.model.verdict import determine_verdict
from support.records import bulk, paced, record, task, times


def test_a_race_without_problems_is_valid():
    assert determine_verdict(record()) == Verdict("valid")


def test_errors_above_the_limit_void_a_race():
    race = record(tasks=(bulk(error_rate=0.02),))
    assert determine_verdict(race) == Verdict(
        "void", ("task 'index-append': error rate 2 % is above the limit of 1 %",)
    )
    assert determine_verdict(replace(race, max_error_rate=0.02)).state == "valid"


def counts(warmup: int, measured: int, failed: int) -> OperationTotals:
    """Counts of which `failed` operations failed, without retries."""
    ended = warmup + measured
    return OperationTotals(ended, ended - failed, failed, 0, 0, warmup, measured, ended)


def test_failures_during_warm_up_are_judged_beside_the_measured_ones():
    failing = task(accounting=counts(warmup=50, measured=50, failed=3))
    (reason,) = determine_verdict(record(tasks=(failing,))).reasons
    assert reason == (
        "task 'search': error rate of all operations, warm-up included, 3 % is above the limit of 1 %"
    )
    assert determine_verdict(record(tasks=(failing,), max_error_rate=0.03)).state == "valid"
    both = replace(failing, error_rate=0.06)
    assert determine_verdict(record(tasks=(both,))).reasons == (
        "task 'search': error rate 6 % is above the limit of 1 %",
    )


def test_a_reported_task_without_a_measured_operation_voids_a_race():
    warming = task(accounting=counts(warmup=500, measured=0, failed=0), error_rate=None, ended_by="source")
    race = record(tasks=(warming,))
    assert determine_verdict(race) == Verdict(
        "void",
        (
            "task 'search': nothing was measured, because it ended in its warm-up, after 500 operations: "
            "shorten the warm-up, or give the task more to do",
        ),
    )
    idle = replace(warming, accounting=counts(warmup=0, measured=0, failed=0))
    assert determine_verdict(record(tasks=(idle,))).reasons == (
        "task 'search': nothing was measured: no operation ended",
    )
    assert determine_verdict(record(tasks=(replace(warming, ended_by="completed-by"),))).state == "valid"
    assert determine_verdict(replace(race, unreported=("search",))).state == "valid"
    assert determine_verdict(replace(race, interrupted=True)).reasons == ("interrupted",)


def test_interrupted_aborted_and_unfinished_races_are_void():
    assert determine_verdict(record(interrupted=True, complete=False)) == Verdict("void", ("interrupted",))
    assert determine_verdict(record(aborted="the engine died", complete=False)).reasons == (
        "aborted: the engine died",
    )
    assert determine_verdict(record(tasks=(task(ended_by="aborted"),))).reasons == (
        "aborted in task 'search'",
    )
    assert determine_verdict(record(complete=False)).reasons == ("the race has not finished",)


def test_long_work_of_the_driver_makes_a_race_suspect():
    at_limit = DriverTime(operations=100, mean_ms=0.2, service_ms=2.0, share=0.1)
    assert determine_verdict(record(tasks=(task(driver_time=at_limit),))) == Verdict("valid")
    above = replace(at_limit, mean_ms=0.31, share=0.155)
    assert determine_verdict(record(tasks=(task(driver_time=above),))) == Verdict(
        "suspect",
        (
            "task 'search': the driver's own work took 0.31 ms per operation, more than 10 % of the mean "
            "service time 2 ms, so the driver may have been the bottleneck: give it more threads and cores",
        ),
    )
    few = replace(above, operations=99)
    assert determine_verdict(record(tasks=(task(driver_time=few),))) == Verdict("valid")


def test_late_sends_make_a_race_suspect():
    (reason,) = determine_verdict(record(tasks=(paced(late_p99=0.81),))).reasons
    assert reason.startswith(
        "task 'term': p99 lateness 0.81 ms is more than 10 % of the p99 service time 8 ms"
    )
    (reason,) = determine_verdict(record(tasks=(paced(lateness=times(p50=0.21, p99=0.3)),))).reasons
    assert reason.startswith(
        "task 'term': p50 lateness 0.21 ms is more than 10 % of the p50 service time 2 ms"
    )
    assert determine_verdict(record(tasks=(paced(late_p99=0.79),))).state == "valid"


def test_late_sends_are_blamed_on_python_code_if_operations_waited_for_it():
    late = paced(lateness=times(p50=0.4, p99=0.8))
    for mean_ms, cause in (
        (0.2, "driver sent requests too late: leave a core to it"),
        (0.3, "requests were sent too late, because operations waited for the track's Python code"),
    ):
        # The mean lateness is 0.5 ms.
        delay = PythonDelay(operations=100, mean_ms=mean_ms, service_ms=2.5, share=mean_ms / 2.5)
        (reason,) = determine_verdict(record(tasks=(replace(late, python_delay=delay),))).reasons
        assert cause in reason


def test_late_sends_are_blamed_on_the_scheduler_if_operations_waited_for_it():
    late = paced(lateness=times(p50=0.4, p99=0.8))
    # The mean lateness is 0.5 ms.
    half_s = late.accounting.operations * 0.25 / 1000
    for delay_s, cause in (
        (half_s * 0.99, "driver sent requests too late: leave a core to it"),
        (half_s, "requests were sent too late, because operations waited for the scheduler"),
    ):
        (reason,) = determine_verdict(record(tasks=(replace(late, scheduler_delay_s=delay_s),))).reasons
        assert cause in reason


def test_unsent_operations_are_blamed_on_the_scheduler_if_waiting_for_it_explains_them():
    late = paced()
    assert late.service_time is not None
    unsent = replace(late, accounting=replace(late.accounting, unsent=late.accounting.operations))
    needed_s = unsent.accounting.unsent * late.service_time.mean_ms / 1000
    for delay_s, cause in (
        (needed_s * 0.99, "because the engine is slower than the schedule"),
        (needed_s * 1.01, f"because they waited {needed_s * 1.01:.3g} s for the scheduler"),
    ):
        (reason,) = determine_verdict(record(tasks=(replace(unsent, scheduler_delay_s=delay_s),))).reasons
        assert cause in reason


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
        assert (named, "the driver sent requests too late" in reason) == (is_named, not is_named)


def test_pauses_of_the_driver_in_a_task_make_a_race_suspect():
    def reasons(paused_s, **clock):
        second = {"from_s": 1.0, "to_s": 1.0 + paused_s, "paused_s": paused_s}
        driver = {"wall_s": 7000.0, "clock": {"pauses": 1, "paused_s": paused_s, "paused": [second], **clock}}
        # The task begins with the race.
        return determine_verdict(record(tasks=(replace(paced(), duration_s=4.0),), driver=driver)).reasons

    assert reasons(0.05) == ()
    assert reasons(0.28) == (
        "task 'term': the driver did not run for 0.28 s of its 4 s (limit 1 %): its process was stopped, or "
        "its virtual machine was paused; repeat the race",
    )
    (only,) = reasons(0.6, gaps=[{"at_s": 1.1, "length_s": 0.62}], gaps_s=0.62)
    assert only.startswith("the driver was paused for 0.62 s, 1.1 s after its start")


def test_samples_lost_to_a_slow_disk_make_a_race_suspect():
    lossy = task(samples=SampleCounts(kept=900, lost=100, from_s=3.0))
    assert determine_verdict(record(tasks=(lossy,))) == Verdict(
        "suspect",
        (
            "task 'search': 100 of 1,000 samples were lost, because the disk was too slow for them or full "
            "(keep fewer with --samples), or because another program changed their file",
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
    assert reason.startswith("task 'slow': 100 of 1,000 planned operations were not sent before its end")
    last = task("last", accounting=replace(task().accounting, operations=999, unsent=1))
    assert determine_verdict(record(tasks=(last,))).state == "valid"


def failing(failed: int, unsent: int = 0) -> RaceRecord:
    """A race in which a plug-in failed, and the error rate is not a reason."""
    errors = (FailureGroup("plugin", "track.py:8: KeyError: 'size'", None, failed, 1.0, 2.0),)
    counts = replace(task().accounting, operations=1000 - unsent, failed=failed, unsent=unsent)
    return record(tasks=(task("own", errors=errors, accounting=counts),), max_error_rate=1.0)


def test_failures_of_plug_ins_make_a_race_suspect_or_void():
    text = "task 'own': 1 of 1,000 planned operations failed in a plug-in of the track"
    assert determine_verdict(failing(1)) == Verdict("suspect", (text,))
    assert determine_verdict(failing(1, 9)) == Verdict("suspect", (f"{text}, and 9 were not sent",))
    # The schedule was not kept because of the plug-in, not because of the engine.
    assert determine_verdict(failing(1, 10)) == Verdict("void", (f"{text}, and 10 were not sent",))
    assert determine_verdict(failing(10)).state == "suspect"
    assert determine_verdict(failing(11)).state == "void"


def test_a_defect_of_a_built_in_operation_is_not_blamed_on_the_track():
    race = failing(1)
    (own,) = race.tasks
    (group,) = own.errors
    defect = replace(group, reason="a defect of Pacenote in run-until: TypeError at run_until.py:7: odd")
    text = "task 'own': 1 of 1,000 planned operations failed because of a defect of Pacenote in an operation"
    only = replace(race, tasks=(replace(own, errors=(defect,)),))
    assert determine_verdict(only) == Verdict("suspect", (f"{text}, which its error describes",))
    both = replace(race, tasks=(replace(own, errors=(group, defect)),))
    (reason,) = determine_verdict(both).reasons
    assert reason.endswith("which its error describes (1), or in a plug-in of the track (1)")


def test_a_slow_parameter_source_makes_a_race_suspect():
    fed = task("fed", clients=4, duration_s=10.0, underruns=7, underrun_s=0.4)
    assert determine_verdict(record(tasks=(fed,))).state == "valid"
    (reason,) = determine_verdict(record(tasks=(replace(fed, underrun_s=0.41),))).reasons
    assert reason.startswith("task 'fed': its clients waited 0.41 s for a parameter source written in Python")


def test_missing_documents_void_a_race_and_additional_ones_make_it_suspect_unless_expected():
    lost = DocumentCheck("logs", 10, 9)
    assert determine_verdict(record(documents=(lost,))) == Verdict(
        "void", ("index 'logs': the engine acknowledged 10 documents but counts 9",)
    )
    assert determine_verdict(record(documents=(replace(lost, counted=11),))) == Verdict(
        "suspect", ("index 'logs': the engine acknowledged 10 documents but counts 11",)
    )
    assert (
        determine_verdict(record(documents=(replace(lost, difference_expected="updates"),))).state == "valid"
    )
    unknown = replace(lost, counted=None, count_problem="logs: it is closed")
    assert determine_verdict(record(documents=(unknown,))) == Verdict(
        "suspect", ("index 'logs': documents could not be counted: logs: it is closed",)
    )


def test_test_mode_makes_a_race_suspect():
    race = record(options=RecordedOptions(test_mode=True))
    assert determine_verdict(race) == Verdict("suspect", ("test mode: not a measurement",))


def test_a_void_race_also_lists_suspect_reasons():
    race = record(tasks=(paced(late_p99=1.0),), interrupted=True)
    assert [reason.split(":")[0] for reason in determine_verdict(race).reasons] == [
        "interrupted",
        "task 'term'",
    ]


def test_unsent_operations_of_a_task_with_a_slow_source_are_not_blamed_on_the_engine():
    counts = replace(task().accounting, operations=900, unsent=100)
    fed = task("fed", clients=4, duration_s=10.0, underrun_s=5.0, accounting=counts)
    unsent, _ = determine_verdict(record(tasks=(fed,))).reasons
    assert unsent.endswith(
        "because the parameter source or the engine is slower than the schedule: make the source faster"
    )
    busy = task(accounting=counts, python_delay=PythonDelay(100, 1.0, 2.0, 0.5))
    unsent, _ = determine_verdict(record(tasks=(busy,))).reasons
    assert unsent.endswith("because the track's Python code or the engine is slower than the schedule")


def test_operations_that_wait_for_python_code_make_a_race_suspect():
    delay = PythonDelay(operations=100, mean_ms=0.6, service_ms=5.0, share=0.12)
    (reason,) = determine_verdict(record(tasks=(task(python_delay=delay),))).reasons
    assert reason.startswith("task 'search': its operations waited 0.6 ms on average for the track's Python")
    for tolerable in (
        replace(delay, operations=99),
        replace(delay, share=0.1),
        replace(delay, mean_ms=0.4),
    ):
        assert determine_verdict(record(tasks=(task(python_delay=tolerable),))) == Verdict("valid")


def test_requests_outside_operations_make_a_race_suspect():
    outside = [{"step": "b", "requests": 1200, "failed": 7}, {"step": "c", "requests": 1, "failed": 0}]
    assert determine_verdict(record(driver={"outside_requests": outside})) == Verdict(
        "suspect",
        (
            "step 'b': the track's Python code sent 1,200 requests outside its operations (7 failed), so "
            "that no sample contains them: await every request in the operation that sends it",
            "step 'c': the track's Python code sent 1 request outside its operations, so that no sample "
            "contains it: await every request in the operation that sends it",
        ),
    )
