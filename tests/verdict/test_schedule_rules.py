"""When a task did not keep to its schedule, and what held its clients."""

from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Finding
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import (
    DriverTime,
    DurationSummary,
    PythonDelay,
    SubOperationResult,
    TaskResult,
    Throughput,
)
from pacenote.model.target_rate import TargetRate
from pacenote.model.task_observations import TaskObservation, with_observations
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.task_rules import runner_work_ms
from support.records import judged, paced, record, task, times


def saturated(name: str = "term", ended: int = 1_400, **changes: Any) -> TaskResult:
    """A task with a target rate whose operations were sent, but later than asked."""
    counts = replace(
        task().accounting, operations=ended, succeeded=ended, warmup=0, normal=ended, waited=ended
    )
    own = {"accounting": counts, "window_operations": ended, "window_s": 12.0, "ended_by": "iterations"}
    return paced(name, **own | changes)


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


def test_unsent_operations_are_blamed_on_the_scheduler_if_waiting_for_it_explains_them():
    late = paced()
    unsent = replace(late, accounting=replace(late.accounting, unsent=late.accounting.operations))
    # Half of the operations were not sent: two clients lacked half of 70 s.
    # What the engine does not keep up with is a result; what Python delayed makes all figures doubtful.
    for delay_s, cause, doubtful_from in (
        (34.9, "its 2 clients were always busy: replies after 2.5 ms allow 800 ops/s", None),
        (35.0, "the track's Python code was too slow", 0.0),
    ):
        (finding,) = determine_verdict(record(tasks=(replace(unsent, scheduler_delay_s=delay_s),))).findings
        assert cause in finding.text
        assert finding.doubtful_from == doubtful_from


def test_unsent_operations_are_blamed_on_the_driver_only_if_its_lateness_explains_them():
    late = paced(late_p99=3.0)
    assert late.lateness is not None
    late_s = late.lateness.mean_ms * late.accounting.operations / 1000
    share = 2 * late_s / (late.clients * late.duration_s)
    explained = int(share / (1 - share) * late.accounting.operations)
    for unsent, cause in ((explained, "driver"), (explained + 1, "engine")):
        counts = replace(late.accounting, unsent=unsent)
        first, second = determine_verdict(record(tasks=(replace(late, accounting=counts),))).findings
        assert ("were not sent" in first.text, first.cause) == (True, cause)
        assert (second.text.startswith("the driver sent late"), second.cause) == (True, "driver")


def test_unsent_operations_make_a_race_suspect():
    slow = task("slow", accounting=replace(task().accounting, operations=900, unsent=100))
    (reason,) = determine_verdict(record(tasks=(slow,))).reasons
    assert reason.startswith("slow: 100 of 1,000 planned operations were not sent: the clients waited")
    last = task("last", accounting=replace(task().accounting, operations=999, unsent=1))
    assert determine_verdict(record(tasks=(last,))).state == "valid"


@pytest.mark.parametrize(
    ("unsent", "lacked", "cause"),
    [
        # It had 9 % of the time while others had 80 %, and did a third of its operations.
        (660, 0.9, "machine"),
        (660, None, "engine"),
        # With a third more time, it would have done half of what it missed.
        (400, 0.26, "machine"),
        (400, 0.24, "engine"),
        # What others always take on a machine that is not quiet.
        (60, 0.09, "engine"),
        (60, 0.1, "machine"),
    ],
)
def test_an_engine_that_waited_for_a_core_of_the_machine_is_not_the_cause(
    unsent: int, lacked: float | None, cause: str
):
    slow = task("slow", accounting=replace(task().accounting, operations=1000 - unsent, unsent=unsent))
    race = with_observations(record(tasks=(slow,)), {"slow": TaskObservation(lacked_share=lacked)})
    (finding,) = determine_verdict(race).findings
    assert (finding.cause, finding.makes_doubtful) == (cause, cause == "machine")
    assert (": the clients waited for replies" in finding.text) == (cause == "engine")


@pytest.mark.parametrize(("possible", "cause"), [(0.542, "unknown"), (0.09, "engine"), (None, "engine")])
def test_waits_that_were_not_observed_do_not_make_the_engine_the_cause(
    possible: float | None, cause: str
) -> None:
    """Requests queued, as they do if the engine is saturated, or lacks a core."""
    slow = task("slow", accounting=replace(task().accounting, operations=600, unsent=400))
    observed = TaskObservation(queued={"search": 3.0}, lacked_possible_share=possible)
    (finding,) = determine_verdict(with_observations(record(tasks=(slow,)), {"slow": observed})).findings
    assert (finding.cause, finding.makes_doubtful) == (cause, cause == "unknown"), finding
    assert ("whether it waited for them is not known" in finding.text) == (cause == "unknown")


def test_unsent_operations_of_a_task_with_a_slow_source_are_not_blamed_on_the_engine():
    counts = replace(task().accounting, operations=900, unsent=100)
    fed = task("fed", clients=4, duration_s=10.0, underrun_s=5.0, accounting=counts)
    unsent, _ = determine_verdict(record(tasks=(fed,))).reasons
    assert unsent == (
        "fed: 100 of 1,000 planned operations were not sent: the track's Python code was too slow: make "
        "schedulers, parameter sources and runners faster"
    )
    delay = PythonDelay(100, 1.0, 2.0, 0.5)
    busy = task(clients=1, duration_s=10.0, accounting=counts, python_delay=delay)
    unsent, _ = determine_verdict(record(tasks=(busy,))).reasons
    assert "the track's Python code was too slow" in unsent


def test_a_missed_target_rate_is_the_first_reason():
    targets = {"term": TargetRate(5_000.0, operations=5_000.0)}
    race = record(tasks=(saturated(late_p99=0.7),), targets=targets, options=RecordedOptions(test_mode=True))
    state, reasons = judged(race)
    assert (state, reasons[0]) == (
        "suspect",
        "term: 117 of 5,000 ops/s: the clients waited for replies, the longest for 24 ms: use more clients, "
        "unless the engine is saturated, or a lower rate; `pacenote saturate` with --task and the track of "
        "this race finds the highest rate that it sustains",
    )
    both = replace(
        race, tasks=(saturated(), saturated("range", 6_000)), targets=targets | {"range": targets["term"]}
    )
    finding, *_ = determine_verdict(both).findings
    assert (finding.tasks, finding.cause) == (("term", "range"), "engine")
    assert finding.text.startswith("2 % to 10 % of their target rates: the clients waited for replies")


THIRTY_MS = DurationSummary(count=220, min_ms=29.0, mean_ms=30.0, max_ms=34.0, percentiles=())


def behind(clients: int = 1, **changes: Any) -> TaskResult:
    """A task at 50/s of which each client was always busy with replies after 30 ms."""
    own = {"clients": clients, "service_time": THIRTY_MS, "window_s": 6.6, "duration_s": 6.6}
    return saturated(ended=220 * clients, **own | changes)


def missed(slow: TaskResult, observed: TaskObservation | None = None, target: float = 50.0) -> Finding:
    race = record(tasks=(slow,), targets={"term": TargetRate(target, operations=target)})
    if observed is not None:
        race = with_observations(race, {"term": observed})
    return determine_verdict(race).findings[0]


def test_a_rate_that_the_clients_cannot_reach_is_not_blamed_on_the_engine():
    """The rate of a client is limited by what a reply takes, however idle the engine is."""
    for observed in (None, TaskObservation(used_share=0.3, queued={"search": 0.2})):
        finding = missed(behind(), observed)
        assert finding.text == (
            "33.3 of 50 ops/s: its 1 client was always busy: replies after 30 ms allow 33.3 ops/s"
        )
        assert (finding.cause, finding.doubtful_from) == ("track", None)
        assert finding.advice.startswith("use more clients, because these replies are as fast as with one")


@pytest.mark.parametrize(("clients", "target"), [(1, 50.0), (4, 200.0)])
def test_clients_are_busy_with_operations_of_the_warmup_too(clients: int, target: float) -> None:
    """After 60 s of warm-up at 40 of 50 ops/s, the window begins with 600 operations that were late."""
    replies = DurationSummary(count=1_800, min_ms=24.5, mean_ms=25.0, max_ms=26.2, percentiles=())
    slow = behind(clients, service_time=replies, window_s=60.0, window_from_s=60.0, duration_s=120.0)
    slow = replace(
        slow,
        window_operations=2_400 * clients,
        accounting=replace(slow.accounting, normal=1_800 * clients, warmup=3_000 * clients),
        throughput=Throughput(*[40.0 * clients] * 4),
    )
    assert "always busy" in missed(slow, target=target).text


def test_replies_that_allow_the_rate_are_not_called_too_slow_for_it():
    """Eight clients with replies after 77.6 ms do 103 of 100 ops/s, unless the engine stops for some time."""
    replies = replace(THIRTY_MS, count=5_600, min_ms=60.0, mean_ms=77.6, max_ms=4_010.0)
    stopped = saturated(
        ended=5_600, clients=8, service_time=replies, window_s=60.0, duration_s=60.0, window_from_s=0.0
    )
    finding = missed(stopped, target=100.0)
    assert finding.text == "93.3 of 100 ops/s: the clients waited for replies, the longest for 4.01 s"
    unsent_too = replace(stopped, accounting=replace(stopped.accounting, unsent=400))
    (unsent, *_) = determine_verdict(record(tasks=(unsent_too,))).findings
    assert unsent.text.endswith("the clients waited for replies, the longest for 4.01 s")


def test_operations_with_several_requests_in_flight_say_nothing_about_an_idle_engine():
    part = SubOperationResult("s", "search", THIRTY_MS, None, 220, 0, 0, 220, 0.0, ())
    delay = PythonDelay(operations=100, mean_ms=0.1, service_ms=30.0, share=0.01)
    counts = replace(behind().accounting, requests=440)
    for slow, cause in (
        (behind(parts=(part,)), "engine"),
        (behind(python_delay=delay, accounting=counts), "engine"),
        (behind(python_delay=delay, accounting=replace(counts, requests=220)), "track"),
        # Pages are fetched one after another.
        (behind(accounting=counts), "track"),
    ):
        finding = missed(slow)
        assert (finding.cause, "one request in flight" in finding.advice) == (cause, cause == "track")


def test_slow_replies_to_several_clients_may_be_those_of_a_saturated_engine():
    """An engine that serves one request at a time delays all alike: the fastest one waited, too."""
    for fastest_ms in (3.0, 29.0):
        finding = missed(behind(4, service_time=replace(THIRTY_MS, min_ms=fastest_ms)), target=200.0)
        assert finding.text.startswith(
            "133 of 200 ops/s: its 4 clients were always busy: replies after 30 ms"
        )
        assert (finding.cause, finding.doubtful_from) == ("engine", None)
        assert finding.advice.startswith("use more clients, unless the engine is saturated")


@pytest.mark.parametrize(
    ("other_from_s", "requests", "cause"),
    [(0.0, 1, "engine"), (6.0, 1, "engine"), (6.6, 1, "track"), (0.0, 0, "track")],
)
def test_a_client_beside_another_task_does_not_show_how_fast_an_idle_engine_is(
    other_from_s: float, requests: int, cause: str
):
    counts = replace(task().accounting, requests=requests)
    other = task("other", started_s=other_from_s, accounting=counts)
    race = record(tasks=(behind(), other), targets={"term": TargetRate(50.0, operations=50.0)})
    assert determine_verdict(race).findings[0].cause == cause


def test_clients_are_called_always_busy_by_what_was_measured():
    """A warm-up with many quick replies does not count."""
    slow = behind()
    counts = replace(slow.accounting, operations=10_000, succeeded=10_000, warmup=9_890, normal=110)
    idle = replace(slow, accounting=counts, window_operations=110, duration_s=600.0)
    assert "the clients waited for replies, the longest for 34 ms" in missed(idle).text


@pytest.mark.parametrize(
    ("observed", "sign"),
    [
        (
            TaskObservation(used_share=0.95),
            "on one host, it used at least 90 % of the CPU time that it could have had",
        ),
        (TaskObservation(queued={"search": 3.0}), "requests queued for its threads"),
    ],
)
def test_an_engine_is_called_saturated_if_something_shows_it(observed: TaskObservation, sign: str):
    finding = missed(behind(), observed)
    assert finding.text == f"33.3 of 50 ops/s: the engine is saturated: {sign}"
    assert finding.cause == "engine"
    assert finding.advice.startswith("use a lower rate; `pacenote saturate`")


def test_signs_of_saturation_are_told_of_the_tasks_that_show_them():
    tasks = tuple(replace(behind(), task=name) for name in ("busy", "queued", "busy-too"))
    race = record(tasks=tasks, targets={each.task: TargetRate(50.0, operations=50.0) for each in tasks})
    busy, queued = TaskObservation(used_share=0.97), TaskObservation(used_share=0.12, queued={"search": 7.0})
    race = with_observations(race, {"busy": busy, "queued": queued, "busy-too": busy})
    texts = {finding.tasks: finding.text for finding in determine_verdict(race).findings}
    assert "queued" not in texts["busy", "busy-too"]
    assert texts["queued",] == "33.3 of 50 ops/s: the engine is saturated: requests queued for its threads"


@pytest.mark.parametrize(
    ("operation_type", "unit", "pools"),
    [("search", "ops", "search"), ("bulk", "docs", "write"), ("raw-request", "ops", "search write")],
)
def test_only_the_queue_of_its_own_pool_shows_that_a_task_saturates_the_engine(
    operation_type: str, unit: str, pools: str
):
    """A bulk task of the same parallel element fills the other one."""
    for pool in ("search", "write"):
        slow = behind(operation_type=operation_type, unit=unit)
        is_saturated = "is saturated" in missed(slow, TaskObservation(queued={pool: 6.0})).text
        assert is_saturated == (pool in pools)


def test_rejections_show_that_an_engine_is_saturated():
    for status, is_saturated in ((429, True), (400, False)):
        rejected = FailureGroup("http-status", "too many", status, 20, 0.0, 6.0, "operations")
        finding = missed(behind(4, errors=(rejected,)), target=200.0)
        assert ("the engine is saturated: it rejected operations" in finding.text) == is_saturated


def test_a_client_that_was_still_in_another_task_is_not_blamed_on_the_engine():
    """One of two clients joined after 7 of 10 s, and skipped 70 of 200 operations."""
    counts = replace(task().accounting, operations=130, succeeded=130, normal=130, waited=0)
    quick = replace(THIRTY_MS, min_ms=4.0, mean_ms=4.6)
    own = {"clients": 2, "window_s": 10.0, "duration_s": 10.0, "window_from_s": 0.0, "ended_by": "time"}
    late = saturated(ended=130, accounting=counts, service_time=quick, **own)
    targets = {"term": TargetRate(20.0, operations=20.0)}
    for waited, joins, cause in (
        (0, [{"index": late.index, "clients": 1, "missed_s": 7.0, "latest_s": 7.0}], "track"),
        (4, [{"index": late.index, "clients": 1, "missed_s": 7.0, "latest_s": 7.0}], "track"),
        (4, [{"index": late.index, "clients": 1, "missed_s": 1.0, "latest_s": 1.0}], "engine"),
        (4, [{"index": late.index + 1, "clients": 1, "missed_s": 7.0, "latest_s": 7.0}], "engine"),
    ):
        behind_others = replace(late, accounting=replace(counts, waited=waited))
        race = record(tasks=(behind_others,), targets=targets, driver={"late_joins": joins})
        finding = determine_verdict(race).findings[0]
        assert (finding.cause, finding.doubtful_from) == (cause, None)
        assert ("busy in another part of the parallel element" in finding.text) == (cause == "track")
    in_time = record(tasks=(replace(late, accounting=counts),), targets=targets)
    assert determine_verdict(in_time).state == "valid"


@pytest.mark.parametrize("target", [{"term": TargetRate(20.0, operations=20.0)}, {}])
def test_connections_that_were_missing_are_not_blamed_on_the_engine(target: dict[str, TargetRate]):
    """One of two connections was missing for 7 of 10 s, and 70 of 200 operations were left over."""
    counts = replace(
        task().accounting, operations=130, succeeded=130, normal=130, waited=120, unsent=70, warmup=0
    )
    own = {"clients": 2, "window_s": 10.0, "duration_s": 10.0, "window_from_s": 0.0, "ended_by": "time"}
    late = saturated(ended=130, accounting=counts, open_loop=True, **own)
    for missed_s, cause in ((7.0, "track"), (3.0, "engine")):
        joins = {
            "index": late.index,
            "clients": 1,
            "missed_s": missed_s,
            "missed_measured_s": missed_s,
            "latest_s": missed_s,
        }
        race = record(tasks=(late,), targets=target, driver={"late_joins": [joins]})
        finding = determine_verdict(race).findings[0]
        assert finding.cause == cause, finding
        assert ("their connections were missing" in finding.text) == (cause == "track")
        assert "skipped" not in finding.text
    # What clients with their own schedules skip is not unsent.
    closed = replace(late, open_loop=False)
    joins = {"index": late.index, "clients": 1, "missed_s": 7.0, "missed_measured_s": 7.0, "latest_s": 7.0}
    finding = determine_verdict(record(tasks=(closed,), driver={"late_joins": [joins]})).findings[0]
    assert (finding.cause, "were not sent" in finding.text) == ("engine", True)


def test_a_small_part_of_a_target_rate_is_not_called_zero():
    targets = {name: TargetRate(5_000.0, operations=5_000.0) for name in ("term", "range")}
    race = record(tasks=(saturated(ended=12), saturated("range", 24)), targets=targets)
    finding, *_ = determine_verdict(race).findings
    assert finding.text.startswith("less than 1 % of their target rates")


def test_a_missed_target_rate_is_blamed_on_what_slowed_the_task():
    targets = {"term": TargetRate(5_000.0, operations=5_000.0)}
    causes = {
        "driver": saturated(duration_s=12.0, lateness=times(p50=7.0, p99=14.0)),
        "code": saturated(underrun_s=100.0),
    }
    for cause, slowed in causes.items():
        assert determine_verdict(record(tasks=(slowed,), targets=targets)).findings[0].cause == cause
    waiting = record(
        tasks=(causes["driver"],),
        targets=targets,
        driver={"threads": [{"name": "drive-0", "run_queue_s": 3.0, "cpu_s": 2.0}]},
    )
    missed = determine_verdict(waiting).findings[0]
    assert (missed.cause, missed.text) == (
        "machine",
        "117 of 5,000 ops/s: the driver could not send more, because it waited for a core",
    )
    counts = replace(saturated().accounting, operations=30_001, unsent=29_999)
    for failed_sources, why in (
        (0, "the clients waited for replies, the longest for 24 ms"),
        (1, "parameter sources or schedulers of"),
    ):
        half = saturated(accounting=counts, failed_sources=failed_sources)
        finding, *_ = determine_verdict(record(tasks=(half,), targets=targets)).findings
        assert finding.text.startswith(f"117 of 5,000 ops/s: {why}")


def test_a_missed_target_rate_is_blamed_on_the_machine_if_the_driver_did_not_run():
    # A third of the operations is missing.
    held = saturated(ended=1_200, started_s=10.0, duration_s=12.0, window_s=12.0, service_time=None)
    targets = {"term": TargetRate(150.0, operations=150.0)}
    for length_s, end_s, cause in ((2.1, 15.0, "machine"), (2.1, 11.9, "engine"), (2.1, 23.0, "engine")):
        gap = {"at_s": 3.0, "length_s": length_s, "to_s": end_s}
        driver = {"clock": {"gaps": [gap], "gaps_s": length_s}}
        missed, *_, gaps = determine_verdict(record(tasks=(held,), targets=targets, driver=driver)).findings
        assert ("100 of 150 ops/s" in missed.text, missed.cause) == (True, cause)
        assert gaps.text.startswith("the driver did not run for 2")
        assert gaps.tasks == ("term",)
    before = {"clock": {"gaps": [{"at_s": 3.0, "length_s": 3.0, "to_s": 9.9}], "gaps_s": 3.0}}
    (missed,) = determine_verdict(record(tasks=(held,), targets=targets, driver=before)).findings
    assert ("100 of 150 ops/s" in missed.text, missed.cause) == (True, "engine")


def test_operations_that_an_engine_which_hung_has_held_up_are_not_blamed_on_the_driver():
    counts = replace(task().accounting, operations=400, succeeded=392, failed=8, unsent=50, waited=8)
    hung = saturated(
        clients=8,
        duration_s=11.0,
        ended_by="time",
        accounting=counts,
        service_time=times(count=392, p50=0.3, p99=0.4),
        lateness=times(count=400, p50=0.05, p99=0.1),
        failed_service_time=times(count=8, p50=1_600.0),
    )
    _, unsent, *_ = determine_verdict(record(tasks=(hung,))).findings
    assert ("50 of 450 planned operations" in unsent.text, unsent.cause) == (True, "engine")


def test_a_missed_target_rate_of_a_task_that_was_aborted_is_not_told():
    targets = {"term": TargetRate(5_000.0, operations=5_000.0)}
    counts = replace(saturated().accounting, unsent=9_000)
    race = record(
        tasks=(saturated(accounting=counts, ended_by="aborted"),), targets=targets, aborted="on-error"
    )
    assert judged(race) == ("void", ("aborted: on-error",))


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


def test_work_on_what_a_runner_returned_is_the_drivers_own_and_may_slow_a_task():
    work = DriverTime(operations=1_000, mean_ms=4.5, service_ms=2.0, share=2.25)
    waits = PythonDelay(operations=1_000, mean_ms=9.0, service_ms=2.0, share=4.5)
    slowed = saturated(duration_s=12.0, driver_time=work, python_delay=waits)
    race = record(tasks=(slowed,), targets={"term": TargetRate(5_000.0, operations=5_000.0)})
    missed, own, _ = determine_verdict(race).findings
    assert (missed.cause, own.cause) == ("driver", "driver")
    assert missed.text == (
        "117 of 5,000 ops/s: the driver's own work on what the runner returned took too long"
    )
    assert own.text == (
        "the driver's own work on what the runner returned took 4.5 ms per operation, over 10 % of service "
        "time: it may have been the bottleneck"
    )
    assert own.advice == missed.advice
    # The other client causes at most 4.5 ms of these waits.
    longer = replace(slowed, python_delay=replace(waits, mean_ms=9.1))
    assert determine_verdict(replace(race, tasks=(longer,))).findings[0].cause == "code"


def test_own_work_of_the_driver_does_not_make_the_work_of_a_runner_negative():
    # Operations that opened a connection count towards processing time, but not towards the driver's work.
    own = DriverTime(operations=100, mean_ms=5.0, service_ms=2.5, share=2.0)
    waits = PythonDelay(operations=1_000, mean_ms=0.1, service_ms=2.5, share=0.04)
    run = task(driver_time=own, python_delay=waits)
    assert run.processing_time is not None
    for processing_ms, work_ms in ((7.0, 0.0), (8.0, 0.5)):
        processing = replace(run.processing_time, mean_ms=processing_ms)
        assert runner_work_ms(replace(run, processing_time=processing)) == work_ms
