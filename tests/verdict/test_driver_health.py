"""The effect of the driver's measurements of itself on the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.driver_scheduling import ALLOW_REALTIME, FREE_CORE
from pacenote.model.race_record import Verdict
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.driver_health import (
    MACHINE_USE,
    clock_steps,
    host_uses,
    is_shorter_than_ticks,
    suspect_findings,
    unmeasured,
    void_findings,
)
from pacenote.verdict.driver_pauses import paused_s
from support.records import judged, record, task

CLOCK = {
    "sources": ["tsc"],
    "resolution_ns": 1,
    "read_ns": 24.5,
    "backward": 0,
    "steps": [],
    "pauses": 3,
    "paused_s": 1.8,
    "suspended_s": 0.0,
}
WAIT = {"step": "index", "file": "d.json", "waits": 7, "waited_s": 1.2, "longest_ms": 400.0, "share": 0.01}
CORE_WAIT = {"step": "index", "waits": 40, "waited_s": 0.6, "share": 0.01}
DRIVER: dict[str, Any] = {
    "threads": [
        {
            "name": "drive-0",
            "cpu_s": 5.0,
            "run_queue_s": 0.2,
            "wall_s": 60.0,
            "busiest": {"step": "index", "share": 0.8},
            "delayed": {"step": "s", "task": "term", "wait_ms": 0.2, "service_ms": 2.0, "share": 0.1},
            "faulting": {"step": "s", "major_faults": 110, "operations": 1100, "share": 0.1},
            "data_waits": [WAIT],
            "core_waits": [CORE_WAIT],
        },
        {
            "name": "collect",
            "cpu_s": 0.1,
            "run_queue_s": 6.0,
            "wall_s": 60.0,
            "busiest": None,
            "delayed": None,
        },
        {"name": "control", "cpu_s": 0.1, "run_queue_s": None, "wall_s": 60.0},
        {"name": "control", "cpu_s": 0.1, "run_queue_s": 2.0, "wall_s": 2.0},
    ],
    "clock": CLOCK,
    "machine": {"busy_share": 0.99, "stolen_share": 0.05, "most_stolen": {"share": 0.2, "from_s": 1.0}},
    "wall_s": 180.0,
    "throttling": {"throttled_s": 3.0, "periods": 90, "share": 0.05},
    "contradictions": [],
}


def driver(**changes: Any) -> dict[str, Any]:
    return DRIVER | changes


def thread(**changes: Any) -> dict[str, Any]:
    return driver(threads=[DRIVER["threads"][0] | changes])


def clock(**changes: Any) -> dict[str, Any]:
    return driver(clock=CLOCK | changes)


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), -float("inf"), 10**400, -(10**400)],
    ids=["nan", "inf", "-inf", "large", "-large"],
)
def test_numbers_that_cannot_have_been_measured_are_not_used(number: float) -> None:
    hosts = [{"host": "a:1", "requests": number}, {"host": "b:1", "connection_failures": number}]
    driver = {"hosts": hosts, "clock": CLOCK | {"paused_s": number}}
    assert [(use.requests, use.connection_failures) for use in host_uses(driver)] == [(0, 0), (0, 0)]
    assert not [finding for finding in suspect_findings(driver) if "did not run" in finding.text]


def test_values_at_their_limits_are_accepted() -> None:
    assert determine_verdict(record(driver=DRIVER)) == Verdict("valid")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            thread(busiest={"step": "index", "share": 0.81}),
            "index: the driver was busy 81 % of 10 s (limit 80 %): it may have been the bottleneck: "
            "give it more threads and cores",
        ),
        (
            thread(delayed={"step": "s", "task": "term", "wait_ms": 0.22, "service_ms": 2.0}),
            "term: the driver waited for a core and read replies late, by 11 % of service time (limit 10 %): "
            + FREE_CORE,
        ),
        (
            thread(core_waits=[CORE_WAIT | {"share": 0.0104}]),
            "index: the driver waited for a core for 5 ms or more of 20 ms at a time, 1.04 % of its time in "
            f"all (limit 1 %), so the slowest replies were read late: {FREE_CORE}",
        ),
        (
            driver(threads=[{"name": "collect", "run_queue_s": 6.5, "wall_s": 60.0}]),
            f"the driver waited for a core for 11 % of the race (limit 10 %): {FREE_CORE}",
        ),
        (
            thread(core_waits=[CORE_WAIT | {"share": 0.02}])
            | {"scheduling": {"asked": "auto", "workers": "short_slice", "refused": "it needs CAP_SYS_NICE"}},
            "index: the driver waited for a core for 5 ms or more of 20 ms at a time, 2 % of its time in all "
            f"(limit 1 %), so the slowest replies were read late: {ALLOW_REALTIME}, {FREE_CORE}",
        ),
        (
            thread(data_waits=[WAIT | {"share": 0.034}]),
            "index: the driver waited for the disk for 3.4 % of its time while it read d.json (limit 1 %): "
            "put the data on a faster disk",
        ),
        (
            thread(faulting={"step": "s", "major_faults": 111, "operations": 1000, "share": 0.111}),
            "s: the driver read its memory or its program from the disk during 11.1 % of operations (limit "
            "10 %): free memory of this machine",
        ),
        (
            driver(throttling={"throttled_s": 3.36, "periods": 90, "share": 0.056}),
            "a CPU quota stopped the driver for 3.36 s, added over its cores: 6 % of the race (limit 5 %): "
            "raise the quota of its "
            "container or control group",
        ),
        (
            driver(machine={"busy_share": 0.5, "stolen_share": 0.12}),
            "12 % of CPU time was stolen by other virtual machines (limit 5 %): repeat on a quiet host, or "
            "on one with cores of its own",
        ),
        (
            driver(
                machine={"stolen_share": 0.01, "most_stolen": None},
                cpus={"numbers": [0, 1, 3], "stolen_share": 0.12},
            ),
            "12 % of the CPU time of the driver's cores (0-1,3) was stolen by other virtual machines (limit "
            "5 %): repeat on a quiet host, or on one with cores of its own",
        ),
        (
            driver(machine={"stolen_share": 0.003, "most_stolen": {"share": 0.21, "from_s": 1800.2}}),
            "21 % of CPU time was stolen by other virtual machines during ten seconds, 1800 s after the "
            "start of the driver (limit 20 %): repeat on a quiet host, or on one with cores of its own",
        ),
        (
            clock(gaps=[{"at_s": 12.44, "length_s": 3.104}], gaps_s=3.104),
            "the driver did not run for 3.1 s, 12.4 s after its start, and measured times include this: its "
            "process was stopped, its virtual machine was paused, or it had no core: repeat the race on an "
            "idle machine",
        ),
        (
            clock(gaps=[{"at_s": 1.0, "length_s": 0.6}, {"at_s": 2.0, "length_s": 0.9}], gaps_s=1.5),
            "the driver did not run 2 times, 1.5 s in total, the first time for 0.6 s, 1.0 s after its "
            "start, and measured times include this: its process was stopped, its virtual machine was "
            "paused, or it had no core: repeat the race on an idle machine",
        ),
        (
            clock(pauses=9, paused_s=1.81) | {"wall_s": 180.0},
            "the driver did not run in 9 pauses, 1.81 s in total (limit 1 % of the race): its process was "
            "stopped, or its virtual machine was paused: repeat the race on an idle machine",
        ),
        (
            clock(sources=["hpet"]),
            "the system clock hpet is slow or coarse (a reading takes 24 ns, its smallest step is 1 ns): "
            "select a faster clock source, such as tsc",
        ),
        (
            clock(read_ns=1100.0),
            "the system clock tsc is slow or coarse (a reading takes 1100 ns, its smallest step is 1 ns): "
            "select a faster clock source, such as tsc",
        ),
        (
            clock(sources=[], resolution_ns=4_000_000),
            "the system clock of unknown kind is slow or coarse (a reading takes 24 ns, its smallest step is "
            "4000000 ns): select a faster clock source, such as tsc",
        ),
        (
            clock(sources=["tsc", "kvm-clock"]),
            "the system switched its clock from tsc to kvm-clock during the race: see the kernel's log for "
            "the reason, and repeat the race",
        ),
        (
            driver(possibly_changed_files=["/d/docs.json may have been modified (it cannot be read)"]),
            "data file /d/docs.json may have been modified (it cannot be read) while the race used it: "
            "make sure that no other program changes, renames or links the file, or changes its mode or "
            "owner",
        ),
    ],
)
def test_a_value_beyond_its_limit_makes_a_race_suspect(facts: dict[str, Any], reason: str) -> None:
    assert judged(record(driver=facts)) == ("suspect", (reason,))


@pytest.mark.parametrize(
    ("facts", "doubtful_from"),
    [
        (thread(busiest={"step": "index", "share": 0.81}), 0.0),
        (thread(delayed={"step": "s", "task": "term", "wait_ms": 0.22, "service_ms": 2.0}), 0.0),
        (thread(core_waits=[CORE_WAIT | {"share": 0.0104}, CORE_WAIT | {"share": 0.02}]), 98.0),
        (thread(data_waits=[WAIT | {"share": 0.034}]), 0.0),
        (driver(throttling={"throttled_s": 3.36, "periods": 90, "share": 0.056}), 0.0),
        (driver(clock=CLOCK | {"paused_s": 1.98}), 98.9),
        (clock(sources=["tsc", "kvm-clock"]), 0.0),
        (clock(sources=["hpet"]), None),
        (driver(machine={"busy_share": 0.5, "stolen_share": 0.12}), 0.0),
        (driver(machine={"busy_share": 0.5, "stolen_share": 0.08}), None),
        (driver(machine={"stolen_share": 0.003, "most_stolen": {"share": 0.4, "from_s": 18.0}}), None),
    ],
)
def test_a_finding_says_which_figures_are_doubtful(
    facts: dict[str, Any], doubtful_from: float | None
) -> None:
    (finding,) = determine_verdict(record(driver=facts)).findings
    assert finding.doubtful_from == doubtful_from


def test_a_gap_makes_the_slowest_times_of_its_tasks_doubtful() -> None:
    facts = clock(gaps=[{"at_s": 20.0, "to_s": 20.0, "length_s": 0.14}], gaps_s=0.14)
    (finding,) = determine_verdict(
        record(driver=facts, tasks=(task("a"), task("b", started_s=80.0)))
    ).findings
    assert (finding.tasks, finding.doubtful_from) == (("a",), 99.767)


def test_a_gap_in_a_short_task_makes_the_figures_of_others_no_more_doubtful() -> None:
    gaps = [
        {"at_s": at_s, "to_s": at_s, "length_s": length_s} for at_s, length_s in ((3.0, 0.3), (90.0, 0.14))
    ]
    tasks = (
        task("a", started_s=0.0, duration_s=5.0, window_s=5.0),
        task("b", started_s=10.0, duration_s=3600.0, window_s=3600.0),
    )
    findings = determine_verdict(record(driver=clock(gaps=gaps, gaps_s=0.44), tasks=tasks)).findings
    assert [(each.tasks, each.doubtful_from) for each in findings] == [(("a",), 0.0), (("b",), 99.996)]
    assert {each.text.partition(",")[0] for each in findings} == {"the driver did not run 2 times"}
    assert not determine_verdict(record(driver=clock(gaps=gaps, gaps_s=0.44), tasks=())).findings


def test_a_finding_names_the_tasks_of_a_step_with_several() -> None:
    facts = thread(busiest={"step": "mixed load", "share": 0.81})
    judged_record = record(driver=facts, steps={"mixed load": ("index", "term")})
    assert determine_verdict(judged_record).findings[0].tasks == ("index", "term")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            driver(contradictions=["task 't': 10 sent are not 9 succeeded + 0 failed + 0 unanswered"]),
            "the driver's counts do not add up: task 't': 10 sent are not 9 succeeded + 0 failed + 0 "
            "unanswered: report this bug, with the folder of the race",
        ),
        (
            clock(suspended_s=63.25),
            "the machine was suspended for 63.2 s, which measured times do not include: disable its "
            "suspension, and repeat the race",
        ),
        (
            clock(backward=2),
            "the monotonic clock went back 2 times in a thousand readings: select another clock source",
        ),
    ],
)
def test_unusable_results_void_the_race(facts: dict[str, Any], reason: str) -> None:
    assert judged(record(driver=facts)) == ("void", (reason,))


def test_wall_clock_steps_are_reported_but_do_not_change_the_verdict() -> None:
    facts = clock(steps=[{"at_s": 12.5, "by_s": -3600.0}])
    assert [(step.at_s, step.by_s) for step in clock_steps(facts)] == [(12.5, -3600.0)]
    assert determine_verdict(record(driver=facts)).state == "valid"


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"threads": None, "clock": None, "machine": None, "contradictions": None},
        {
            "threads": [{}, 3, {"busiest": None, "delayed": None}],
            "clock": {"steps": [1], "gaps": [1], "sources": 7},
        },
        {"threads": {}, "clock": [], "machine": 1.0, "contradictions": "none", "throttling": 3},
        {"threads": [{"data_waits": [1, {}], "faulting": 7}, {"data_waits": {}}], "throttling": {}},
        {"threads": [{"core_waits": [1, {}]}, {"core_waits": {}}]},
    ],
)
def test_missing_or_invalid_values_do_not_change_the_verdict(facts: dict[str, Any]) -> None:
    assert (*void_findings(facts), *suspect_findings(facts), *clock_steps(facts)) == ()


def host(name: str, cluster: str = "default", **counts: int) -> dict[str, object]:
    zero = {"requests": 7, "connection_failures": 0, "set_aside": 0}
    return {"cluster": cluster, "host": name, **(zero | counts)}


def test_a_host_that_was_set_aside_makes_the_race_suspect() -> None:
    facts = driver(hosts=[host("a:9200"), host("b:9200", connection_failures=3, set_aside=1)])
    assert judged(record(driver=facts)) == (
        "suspect",
        (
            "host b:9200 failed and was set aside 1 time (3 connections could not be opened): the other "
            "hosts received its requests: check this host",
        ),
    )


def test_only_clusters_with_several_hosts_are_described_by_host() -> None:
    facts = driver(hosts=[host("a:9200", connection_failures=3), host("b:1", "other"), host("c:1", "other")])
    assert [use.host for use in host_uses(facts)] == ["b:1", "c:1"]
    assert determine_verdict(record(driver=facts)) == Verdict("valid")


def test_what_the_kernel_does_not_report_is_listed():
    known = {"name": "drive-0", "run_queue_s": 0.0, "major_faults": 0}
    unknown = {"name": "drive-0", "run_queue_s": None, "major_faults": None}
    assert unmeasured({"threads": [known], "machine": {"busy_share": 0.5}}) == ()
    assert unmeasured({"threads": [{"name": "drive-0"}]}) == ()
    assert len(unmeasured({"threads": [unknown, unknown], "machine": None, "throttling": None})) == 4
    assert unmeasured({"threads": [known], "throttling": None}) == (
        "the time for which a CPU quota stopped it",
    )
    # What is missing for one worker or step is not judged either.
    partly = {**known, "name": "drive-1", "run_queue_s": None}
    assert unmeasured({"threads": [known, partly], "machine": {}}) == (
        "the time that its threads waited for a core",
    )


def test_a_race_shorter_than_a_tick_of_the_kernel_is_not_unmeasured_for_lack_of_counters():
    known = {"name": "drive-0", "run_queue_s": 0.0, "major_faults": 0}
    short = {"threads": [known], "machine": None, "wall_s": 0.01}
    assert (unmeasured(short), is_shorter_than_ticks(short)) == ((), True)
    unknown = {**known, "run_queue_s": None}
    for other in ({"wall_s": 1.0}, {"threads": [unknown]}, {"threads": []}, {"machine": {"busy_share": 0.5}}):
        facts = {**short, **other}
        assert not is_shorter_than_ticks(facts)
        assert (MACHINE_USE in unmeasured(facts)) == (facts["machine"] is None)


def test_the_waits_for_the_disk_are_judged_for_each_thread() -> None:
    """One of eight workers waits for 8 % of the step: 1 % of the time of all workers."""
    calm = [{"name": f"drive-{number}", "data_waits": []} for number in range(6)]
    other = WAIT | {"step": "more", "file": "more.json", "share": 0.02}
    slow = {"name": "drive-6", "data_waits": [WAIT | {"share": 0.08}, other]}
    slower = {"name": "drive-7", "data_waits": [WAIT | {"share": 0.09}]}
    worse, tail = suspect_findings({"threads": [*calm, slow, slower]})
    assert (worse.tasks, tail.tasks) == (("index",), ("more",))
    assert worse.text.startswith(
        "the driver waited for the disk for up to 9 % of its time while it read d.json ("
    )
    assert tail.text.startswith(
        "the driver waited for the disk for 2 % of its time while it read more.json ("
    )


def test_waits_in_a_short_step_make_the_figures_of_others_no_more_doubtful() -> None:
    waits = [
        CORE_WAIT | {"step": "delete-index", "share": 0.05},
        CORE_WAIT | {"step": "term", "share": 0.02},
        CORE_WAIT | {"step": "sort", "share": 0.015},
    ]
    all_figures, tail = suspect_findings({"threads": [{"name": "drive-0", "core_waits": waits}]})
    assert (all_figures.tasks, all_figures.doubtful_from) == (("delete-index",), 0.0)
    assert "5 % of its time in all (limit 1 %), so replies were read late" in all_figures.text
    assert (tail.tasks, tail.doubtful_from) == (("term", "sort"), 98.0)
    assert "up to 2 % of its time in all (limit 1 %), so the slowest replies were read late" in tail.text


def test_long_waits_for_a_core_are_not_reported_where_the_mean_reply_waits_too_long() -> None:
    late = {"step": "index", "task": "t", "wait_ms": 1.0, "service_ms": 5.0}
    waits = [CORE_WAIT | {"share": 0.3}, CORE_WAIT | {"step": "search", "share": 0.02}]
    threads = [{"name": "drive-0", "delayed": late}, {"name": "drive-1", "core_waits": waits}]
    mean, tail = suspect_findings({"threads": threads})
    assert (mean.tasks, tail.tasks) == (("t",), ("search",))
    assert tail.text.startswith(
        "the driver waited for a core for 5 ms or more of 20 ms at a time, 2 % of its"
    )


@pytest.mark.parametrize("is_judged", [True, False])
def test_long_waits_for_a_core_concern_the_tasks_of_a_step_whose_mean_reply_hardly_waits(
    is_judged: bool,
) -> None:
    """Of two tasks side by side, replies of the slow one are ten times as long, or too few for a mean."""
    fast = {"step": "both", "task": "fast", "wait_ms": 1.0, "service_ms": 5.0}
    waits = [CORE_WAIT | {"step": "both", "share": 0.02}]

    def doubts(*slow: dict[str, Any]) -> list[tuple[tuple[str, ...], float | None]]:
        threads = [{"name": "drive-0", "delayed_tasks": [fast, *slow], "core_waits": waits}]
        race = record(
            driver={"threads": threads, "core_times": [{"tasks": [0, 1]}]},
            tasks=(task("fast", index=0), task("slow", index=1)),
            steps={"both": ("fast", "slow")},
        )
        return [(finding.tasks, finding.doubtful_from) for finding in race.verdict.findings]

    judged = [fast | {"task": "slow", "service_ms": 50.0}] if is_judged else []
    assert doubts(*judged) == [(("fast",), 0.0), (("fast", "slow"), 98.0)]
    # If the mean reply of both waits too long, the tail says nothing new.
    assert doubts(fast | {"task": "slow"}) == [(("fast", "slow"), 0.0)]


def test_every_step_and_task_above_its_limit_is_doubtful_and_not_only_the_worst() -> None:
    """A thread that waits in one step may wait in another one, too, and for each task of a step."""
    waits = (("both", "long", 0.12), ("both", "short", 0.5), ("late", "late", 0.3), ("quiet", "quiet", 0.09))
    delayed = [
        {"step": step, "task": task, "wait_ms": share, "service_ms": 1.0, "share": share}
        for step, task, share in waits
    ]
    busiest = [{"step": step, "share": share, "length_s": 10.0} for step, share in (("a", 0.95), ("b", 0.9))]
    faulting = [{"step": step, "major_faults": 150, "operations": 1000} for step in ("a", "c")]
    worst = {"delayed": delayed[1], "busiest": busiest[0], "faulting": faulting[0]}
    lists = {"delayed_tasks": delayed, "busiest_steps": busiest, "faulting_steps": faulting}
    findings = suspect_findings({"threads": [{"name": "drive-0", **worst, **lists}]})
    assert [finding.tasks for finding in findings] == [("a", "b"), ("long", "short", "late"), ("a", "c")]
    # Earlier versions recorded only the worst.
    earlier = suspect_findings({"threads": [{"name": "drive-0", **worst}]})
    assert [finding.tasks for finding in earlier] == [("a",), ("short",), ("a",)]


@pytest.mark.parametrize(
    ("share", "cores", "text"),
    [
        (2.2, 4, "for 132 s, added over its cores: at least 55.0 % and at most 100 % of the race"),
        (0.08, 4, "for 4.8 s, added over its cores: at least 2.0 % and at most 8 % of the race"),
        (0.08, 1, "for 4.8 s, added over its cores: 8 % of the race"),
        (2.2, None, "for 132 s, added over its cores: up to 100 % of the race"),
    ],
)
def test_a_quota_stops_a_group_for_a_part_of_the_race_whatever_the_number_of_cores(
    share: float, cores: int | None, text: str
) -> None:
    throttling = {"throttled_s": 60.0 * share, "share": share, "cores": cores, "group": "/pod/box"}
    (finding,) = suspect_findings({"wall_s": 60.0, "throttling": throttling})
    assert finding.text.startswith(f"a CPU quota stopped control group /pod/box of the driver {text}")


def test_waits_for_a_core_of_threads_that_measure_nothing_are_not_a_second_reason() -> None:
    starved = {"name": "collect", "run_queue_s": 3.0, "wall_s": 20.0}
    late = {"name": "drive-0", "delayed": {"task": "t", "wait_ms": 1.0, "service_ms": 5.0}}
    (alone,) = suspect_findings({"threads": [starved]})
    assert alone.text.startswith("the driver waited for a core for 15 % of the race")
    for thread in (late, {"name": "drive-0", "core_waits": [CORE_WAIT | {"share": 0.3}]}):
        (finding,) = suspect_findings({"threads": [starved, thread]})
        assert finding.tasks


def test_few_page_faults_are_not_judged() -> None:
    for faults, operations in [(99, 100), (30, 90), (150, 99), (100, 1000)]:
        faulting = {"step": "s", "major_faults": faults, "operations": operations}
        assert not list(suspect_findings({"threads": [{"faulting": faulting}]}))


def test_threads_with_the_same_problem_are_one_reason() -> None:
    threads = [
        {
            "name": f"drive-{number}",
            "busiest": {"step": "index", "share": 0.85 + number / 100},
            "delayed": {"task": "index", "wait_ms": 1.0 + number, "service_ms": 5.0},
        }
        for number in range(3)
    ]
    other = {"name": "drive-3", "busiest": {"step": "search", "share": 0.9, "length_s": 1.2432}}
    busy, delayed = suspect_findings({"threads": [*threads, other]})
    assert (busy.tasks, delayed.tasks) == (("index", "search"), ("index",))
    assert busy.text.startswith("the driver was busy up to 90 % of 1.24 s")
    assert "late, by up to 60 % of service time" in delayed.text


def test_pauses_belong_to_the_part_of_the_race_in_which_they_were() -> None:
    paused = [
        {"from_s": 1.0, "to_s": 1.5, "paused_s": 0.2},
        {"from_s": 1.9, "to_s": 2.3, "paused_s": 0.4},
        "not a mapping",
        {"from_s": 7.0, "to_s": 7.0, "paused_s": 0.1},
    ]
    race = {"clock": {"paused": paused}}
    within = {(0, 10): 0.6, (0, 2): 0.3, (2, 5): 0.3, (3, 10): 0.0, (1.25, 1.5): 0.1}
    assert {span: paused_s(race, *span) for span in within} == pytest.approx(within)
    assert paused_s({"clock": {"paused": None}}, 0, 10) == paused_s({}, 0, 10) == 0


def test_short_stops_stand_for_those_between_two_readings_unless_they_are_few() -> None:
    def race(short: int) -> dict[str, object]:
        noticed = {"paused_s": 0.1 + short * 0.002, "short": short, "short_s": short * 0.002}
        stops = {"stopped": short, "stopped_s": short * 0.002, "stolen_s": 0.0}
        return {"clock": {"paused": [{"from_s": 1.0, "to_s": 2.0} | noticed | stops]}}

    assert paused_s(race(4), 0, 10) == pytest.approx(0.1 + 4 * 0.002)
    assert paused_s(race(5), 0, 10) == pytest.approx(0.1 + 5 * 0.02)
    assert paused_s(race(20), 0, 1.5) == pytest.approx(0.05 + 10 * 0.02)
    assert paused_s(race(8), 0, 1.5) == pytest.approx(0.05 + 4 * 0.002)


@pytest.mark.parametrize(
    ("evidence", "expected_s"),
    [
        # Late without a stop or stolen time, as of an idle CPU that is woken late.
        ({"stopped": 0, "stopped_s": 0.0, "stolen_s": 0.0}, 0.1),
        ({"stopped": 0, "stopped_s": 0.0, "stolen_s": None}, 0.1),
        # The hypervisor took less, and more, than what the pauses stand for.
        ({"stopped": 0, "stopped_s": 0.0, "stolen_s": 0.07}, 0.17),
        ({"stopped": 0, "stopped_s": 0.0, "stolen_s": 0.9}, 0.1 + 20 * 0.02),
        ({"stopped": 8, "stopped_s": 0.016, "stolen_s": 0.0}, 0.1 + 8 * 0.02),
        ({"stopped": 8, "stopped_s": 0.016, "stolen_s": 0.9}, 0.1 + 20 * 0.02),
        # Earlier versions recorded only the lengths.
        ({}, 0.1 + 20 * 0.002),
    ],
)
def test_late_readings_are_time_without_the_driver_only_if_it_was_stopped_or_time_was_stolen(
    evidence: dict[str, object], expected_s: float
) -> None:
    noticed = {"paused_s": 0.1 + 20 * 0.002, "short": 20, "short_s": 20 * 0.002}
    second = {"from_s": 1.0, "to_s": 2.0} | noticed | evidence
    driver = {"clock": {"paused": [second]}, "cpus": {"numbers": None, "count": 1}}
    assert paused_s(driver, 0, 10) == pytest.approx(expected_s)


def test_what_was_stolen_of_all_cpus_is_shared_among_them() -> None:
    stolen = {"stopped": 0, "stopped_s": 0.0, "stolen_s": 0.8}
    second = {"from_s": 1.0, "to_s": 2.0, "paused_s": 0.04, "short": 20, "short_s": 0.04} | stolen
    for cpus, expected_s in (
        ({"numbers": None, "count": 1}, 0.4),
        ({"numbers": None, "count": 64}, 0.8 / 64),
        ({"numbers": [*range(64)], "count": 64}, 0.8 / 64),
        # Earlier versions recorded only the numbers, and none if the driver could use all CPUs.
        ({"numbers": [*range(64)]}, 0.8 / 64),
        ({"numbers": None}, 0.0),
        ({}, 0.0),
    ):
        driver = {"clock": {"paused": [second]}, "cpus": cpus}
        assert paused_s(driver, 0, 10) == pytest.approx(expected_s), cpus


def test_what_is_stolen_from_one_of_many_cpus_does_not_pause_the_driver() -> None:
    """Of 16 CPUs, 0.6 % are stolen; five readings of a second are late by 2 ms."""
    late = {"paused_s": 0.01, "short": 5, "short_s": 0.01, "stopped": 0, "stopped_s": 0.0}
    seconds = [{"from_s": s, "to_s": s + 1, "stolen_s": 0.1, **late} for s in range(60)]
    driver = {"wall_s": 60.0, "clock": {"paused": seconds}, "cpus": {"numbers": None, "count": 16}}
    assert paused_s(driver, 0, 60) == pytest.approx(60 * 0.1 / 16)
    assert not [each for each in suspect_findings(driver) if "did not run" in each.text]


def test_pauses_with_their_times_are_not_reported_for_the_race_too() -> None:
    second = {"from_s": 1.0, "to_s": 2.0, "paused_s": 0.9}
    for total_s, count in ((0.9, 0), (1.3, 0), (1.5, 1)):
        race = {"wall_s": 10.0, "clock": {"pauses": 20, "paused_s": total_s, "paused": [second]}}
        assert len(list(suspect_findings(race))) == count, total_s


def test_short_pauses_of_a_short_race_are_not_judged() -> None:
    assert not list(suspect_findings({"wall_s": 2.0, "clock": {"pauses": 4, "paused_s": 0.5}}))
    assert list(suspect_findings({"wall_s": 2.0, "clock": {"pauses": 5, "paused_s": 0.51}}))


@pytest.mark.parametrize(("name", "doubts"), [("collect", False), ("control", False), ("health", True)])
def test_waits_of_other_threads_say_nothing_about_threads_with_real_time_priority(
    name: str, doubts: bool
) -> None:
    starved = {"threads": [{"name": name, "run_queue_s": 6.5, "wall_s": 60.0}]}
    assert len(list(suspect_findings(starved))) == 1
    realtime = starved | {"scheduling": {"asked": "auto", "workers": "realtime", "health": "realtime"}}
    assert len(list(suspect_findings(realtime))) == int(doubts)


def test_time_stolen_from_other_cores_does_not_matter_to_the_driver() -> None:
    machine = {"stolen_share": 0.3, "most_stolen": {"share": 0.5, "from_s": 1.0}}
    own = {"numbers": [1], "stolen_share": 0.01, "most_stolen": {"share": 0.02, "from_s": 1.0}}
    assert not [*suspect_findings({"machine": machine, "cpus": own})]
    # If that of its own cores is not known, that of all is what is known.
    assert len([*suspect_findings({"machine": machine, "cpus": None})]) == 1


def test_a_worker_that_lost_its_priority_for_a_while_is_no_sign_of_a_starved_driver() -> None:
    """The threads without real-time priority wait, and are not timed."""
    collect = {"name": "collect", "run_queue_s": 6.5, "wall_s": 60.0}
    lost = [{"index": 2, "workers": 1, "unreadable": 0, "demoted_s": 0.3, "share": 0.06}]
    scheduling = {"asked": "auto", "workers": "realtime", "health": "realtime", "tasks": lost}
    assert list(suspect_findings({"threads": [collect], "scheduling": scheduling})) == []
    assert list(suspect_findings({"threads": [collect], "scheduling": {"workers": "short_slice"}})) != []
