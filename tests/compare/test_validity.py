"""What limits a comparison, or makes it void."""

from __future__ import annotations

import itertools
import math
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared, index, race, search
from pacenote.compare.groups import compare_groups
from pacenote.compare.task_validity import is_of_one_side
from pacenote.model.comparison import ComparedRace, Comparison, ComparisonOptions
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import (
    Environment,
    RecordedCluster,
    RecordedCorpus,
    RecordedTrack,
    Verdict,
)
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import (
    LevelChange,
    OperationTotals,
    Steadiness,
    WarmupBacklog,
    WarmupDrain,
    WorkTotals,
)
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.system_metrics import SystemMetrics
from pacenote.report.comparison_texts import answer_sentence
from support.records import record

CORPUS = record().corpora[0]


def of(sides) -> Comparison:
    return compare_groups(compared(*sides[0]), compared(*sides[1]))


def texts(comparison: Comparison) -> str:
    return "\n".join(str(each) for each in comparison.findings)


def assert_void(comparison: Comparison, reason: str) -> None:
    assert comparison.answer == "void"
    assert {each.word for each in comparison.metrics} == {"void"}
    assert comparison.findings[0].makes_doubtful
    assert reason in texts(comparison)


def words_of(comparison: Comparison) -> dict[str, str]:
    return {each.metric.label: each.word for each in comparison.metrics}


def contender(**changes):
    """Returns blocks of which the races of the contender have other fields."""
    sides = blocks(3, factor=1.5)
    return sides[0], [replace(each, **changes) for each in sides[1]]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"track": RecordedTrack("geonames")}, "different tracks: http_logs, geonames"),
        ({"challenge": "other"}, "different challenges: append-no-conflicts, other"),
        ({"challenge": None}, "different challenges: append-no-conflicts, (none)"),
        (
            {"corpora": (RecordedCorpus("http_logs", "generated", 1000, 2048, seed=42),)},
            "the data differs: 'http_logs' (generated) with 740,000 documents in 77.2 MiB in the baseline, "
            "'http_logs' (generated) with 1,000 documents in 2.0 KiB in the contender",
        ),
        (
            {"options": RecordedOptions(test_mode=True)},
            "3 of 6 races ran in test mode, which does not measure",
        ),
        (
            {"environment": Environment(cpu_model="A CPU", cpu_logical_cores=16)},
            "the machines differ: A CPU, 2 cores in the baseline, A CPU, 16 cores in the contender",
        ),
        ({"tasks": (search(name="other"),)}, "the races have no task in common"),
        (
            {"verdict": Verdict("void", (Finding("80 % of the operations failed"),))},
            "races b0, b1 and b2 are void: 80 % of the operations failed",
        ),
        (
            {"corpora": (replace(CORPUS, bytes=81_000_001),)},
            "'http_logs' with 81,000,001 bytes of seed 42 in documents.json in the contender",
        ),
        (
            {"corpora": (replace(CORPUS, seed=2),)},
            "of seed 2 in documents.json in the contender",
        ),
    ],
)
def test_races_that_must_not_be_compared_are_void(changes, reason):
    assert_void(of(contender(**changes)), reason)


@pytest.mark.parametrize(
    ("state", "reason"), [("running", "is still running"), ("killed", "ended without finish")]
)
def test_unfinished_races_are_void(state, reason):
    unfinished = ComparedRace(race("b", 1, complete=False), None, state)
    assert_void(compare_groups(compared(race("a")), [unfinished]), f"race b {reason}")


def test_messages_use_short_ids():
    void = replace(race("b-long", 1), verdict=Verdict("void", (Finding("broken"),)))
    outcome = compare_groups(compared(race("a")), compared(void), ComparisonOptions(names={"b-long": "b-"}))
    assert "race b- is void" in texts(outcome)


def test_errors_make_only_their_task_void_if_the_documents_are_the_same():
    sides = blocks(4, factor=1.5, noise=0.002)
    failing = [replace(each, tasks=(index(error_rate=0.8), each.tasks[1])) for each in sides[1]]
    comparison = of((sides[0], failing))
    words = words_of(comparison)
    assert (words["throughput:index-append"], words["p50-latency:term"]) == ("void", "same")
    assert "0 % of the operations failed in the baseline, and 80 % in the contender (limit 1 %)" in texts(
        comparison
    )
    assert (comparison.answer, answer_sentence(comparison)[:13]) == ("partly void", "partly void: ")


@pytest.mark.parametrize(
    ("done", "answer"), [(735_000, "same"), (148_000, "partly void"), (0, "partly void")]
)
def test_searches_that_read_other_documents_are_void(done, answer):
    """The documents of one block are enough: the medians of the sides are equal."""
    sides = blocks(5, noise=0.002)
    changed = replace(sides[1][2], tasks=(index(10_000.0, work=WorkTotals(done, 0)), search()))
    sides[1][2] = changed
    comparison = of(sides)
    assert comparison.answer == answer
    assert (words_of(comparison)["p50-latency:term"] == "void") is (answer == "partly void")
    assert words_of(comparison)["throughput:index-append"] != "void"
    assert ("searches read different data" in texts(comparison)) is (answer == "partly void")
    untagged = [[replace(each, user_tags={}) for each in side] for side in sides]
    assert (words_of(of(untagged))["p50-latency:term"] == "void") is (answer == "partly void")


def test_few_errors_are_shown():
    sides = [
        [replace(each, tasks=(index(error_rate=rate),)) for each in side]
        for side, rate in zip(blocks(3), (0.0, 0.002), strict=True)
    ]
    comparison = of(sides)
    assert "and 0.2 % in the contender" in texts(comparison)
    assert comparison.answer != "void"


def test_a_driver_that_was_the_bottleneck_makes_its_task_void():
    busy = Finding("the driver was busy", "driver", "give it more threads", ("index-append",), EVERYTHING)
    noisy = Finding("8 % of CPU time was stolen", "machine")
    comparison = of(contender(verdict=Verdict("suspect", (busy, noisy))))
    words = {(each.metric.task, each.word) for each in comparison.primary}
    assert ("index-append", "void") in words
    assert ("term", "void") not in words
    assert {word for task, word in words if task == "index-append"} == {"void"}
    assert "8 % of CPU time was stolen (in 3 of 6 races: b0, b1 and b2)" in texts(comparison)


@pytest.mark.parametrize(
    ("doubtful_from", "void"),
    [
        (None, set()),
        (99.0, {99.0}),
        (90.0, {90.0, 99.0}),
        (50.0, {50.0, 90.0, 99.0}),
        (EVERYTHING, {0.0, 50.0, 90.0, 99.0}),
    ],
)
def test_only_doubtful_figures_are_void_whatever_the_cause_is(doubtful_from, void):
    """One race of twelve is enough."""
    sides = blocks(6)
    late = Finding("sent late", "machine", "", ("term",), doubtful_from)
    sides[1][3] = replace(sides[1][3], verdict=Verdict("suspect", (late,)))
    comparison = compare_groups(
        *(compared(*side) for side in sides),
        ComparisonOptions(("throughput", "p50", "p90", "p99", "error-rate")),
    )
    assert {each.metric.q for each in comparison.primary if each.word == "void"} == void
    assert {each.metric.task for each in comparison.primary if each.word == "void"} <= {"term"}
    assert "term: sent late (in 1 of 12 races: b3)" in texts(comparison)


def test_a_doubtful_step_that_is_not_a_task_makes_the_race_doubtful():
    """Older races name a step with several tasks instead of these."""
    busy = Finding("the driver was busy", "driver", "", ("index-append, term",), EVERYTHING)
    assert_void(
        of(contender(verdict=Verdict("suspect", (busy,)))),
        "index-append, term: the driver was busy (in 3 of 6",
    )


def test_figures_of_alike_findings_are_shown_as_a_range():
    sides = blocks(4)
    for number, (share, delay) in enumerate((
        ("81", "2 ms"),
        ("99", "1.4 s"),
        ("90", "300 µs"),
        ("90", "2 ms"),
    )):
        text = f"the driver was busy up to {share} % of 10 s, p99 {delay} late on node-0: 1,200 of 3.3.0"
        finding = Finding(text, "driver", "", ("term",), (98.0, None, 50.0, 99.0)[number])
        sides[1][number] = replace(sides[1][number], verdict=Verdict("suspect", (finding,)))
    outcome = of(sides)
    text = "the driver was busy 81 to 99 % of 10 s, p99 300 µs to 1.4 s late on node-0: 1,200 of 3.3.0"
    assert [each.doubtful_from for each in outcome.findings if each.text == f"{text} (in 4 of 8 races)"] == [
        50.0
    ]


def test_a_race_whose_tail_is_doubtful_is_not_blamed_for_all_figures():
    sides = blocks(4)
    for number, doubtful_from in enumerate((87.4, EVERYTHING)):
        finding = Finding("replies were read late", "machine", "", ("term",), doubtful_from)
        sides[1][number] = replace(sides[1][number], verdict=Verdict("suspect", (finding,)))
    doubts = {each.text: each.doubtful_from for each in of(sides).findings if "late" in each.text}
    assert doubts == {
        "replies were read late (in 1 of 8 races: b0)": 87.4,
        "replies were read late (in 1 of 8 races: b1)": EVERYTHING,
    }


def test_tasks_without_a_primary_metric_void_nothing():
    late = Finding("replies were read late", "machine", "", ("create-index",), EVERYTHING)
    sides = contender(verdict=Verdict("suspect", (late,)))
    for side in sides:
        for number, own in enumerate(side):
            created = replace(own.tasks[1], task="create-index", operation_type="create-index", paced=False)
            created = replace(created, accounting=OperationTotals(1, 1, 0, 0, 0, 0, 1, 1))
            side[number] = replace(own, tasks=(created, *own.tasks))
    comparison = of(sides)
    assert "create-index: replies were read late (in 3 of 6 races: b0, b1 and b2)" in texts(comparison)
    assert [each for each in comparison.findings if each.makes_doubtful] == []
    assert {each.word for each in comparison.metrics if each.metric.task == "create-index"} == {"void"}
    assert comparison.answer not in ("void", "partly void")


def test_what_voids_everything_stands_first():
    late = Finding("replies were read late", "machine", "", ("term",), EVERYTHING)
    comparison = of(contender(verdict=Verdict("suspect", (late,)), challenge="another"))
    assert [each.tasks for each in comparison.findings if each.makes_doubtful] == [(), ("term",)]


def test_void_races_that_differ_in_figures_share_a_reason():
    sides = blocks(5)
    for number, raced in enumerate(sides[1]):
        verdict = Verdict("void", (Finding(f"{60 + number} % of the operations failed", "engine"),))
        sides[1][number] = replace(raced, verdict=verdict)
    assert_void(of(sides), "races b0, b1, b2 and 2 more are void: 60 to 64 % of the operations failed")


def test_another_operation_under_the_same_name_is_void():
    comparison = of(contender(tasks=(index(), search(operation_type="sql"))))
    words = {each.metric.task: each.word for each in comparison.metrics if each.metric.task}
    assert words["term"] == "void"
    assert "term: the operation type differs: search, sql" in texts(comparison)


def test_unsteady_tasks_are_named_with_their_side():
    warming = Steadiness("warming", 20.0, (LevelChange(10.0, 10.0, 1.0, 2.0, 1.0),))
    comparison = of(contender(tasks=(index(steady=warming), search())))
    assert (
        "index-append: still became faster while it was measured "
        "(in 0 of 3 races of the baseline, 3 of 3 of the contender)" in texts(comparison)
    )


@pytest.mark.parametrize(
    ("old", "new", "is_void"), [(0, 5, True), (5, 0, True), (5, 5, False), (0, 4, False), (1, 5, False)]
)
def test_tasks_that_are_steady_on_one_side_only_are_void(old, new, is_void):
    sides = blocks(5)
    for side, count in zip(sides, (old, new), strict=True):
        for number in range(count):
            warming = index(10_000.0 + number, steady=Steadiness("warming"))
            side[number] = replace(side[number], tasks=(warming, search()))
    assert (words_of(of(sides))["throughput:index-append"] == "void") is is_void


@pytest.mark.parametrize("state", ["warming", "slowing", "not-steady"])
@pytest.mark.parametrize(
    ("by", "marked", "is_void"),
    [("latency", True, False), ("latency", False, True), ("service-time", True, True)],
)
def test_a_queue_that_the_warm_up_left_voids_nothing_but_latency(state, by, marked, is_void):
    """The latency of a task with a backlog changes with its queue, whatever the speed of the engine is."""
    sides = blocks(5)
    backlog = WarmupBacklog(135, 4.2, gone=state == "warming", marked=marked)
    for number, own in enumerate(sides[1]):
        queued = search(2.0 + number / 1000, steady=Steadiness(state, by=by), warmup_backlog=backlog)
        sides[1][number] = replace(own, tasks=(own.tasks[0], queued))
    comparison = of(sides)
    assert (words_of(comparison)["p50-service-time:term"] == "void") is is_void
    told = [each for each in comparison.findings if "of the contender)" in each.text and "term" in each.tasks]
    assert bool(told) is is_void
    reason = "latency includes the backlog of the warm-up in a race"
    assert (reason in texts(comparison)) is (marked and not is_void)


def unsteady(sides, states):
    """Returns races of whose contender the index task is in these states."""
    tasks = [index(13_000.0 + number, steady=Steadiness(state)) for number, state in enumerate(states)]
    return sides[0], [
        replace(each, tasks=(task, search())) for each, task in zip(sides[1], tasks, strict=True)
    ]


def test_a_task_that_is_unsteady_in_several_ways_on_one_side_is_void():
    comparison = of(unsteady(blocks(10), ("warming", "not-steady") * 5))
    assert words_of(comparison)["throughput:index-append"] == "void"
    assert (
        "still became faster or was not in a steady state while it was measured "
        "(in 0 of 10 races of the baseline, 10 of 10 of the contender)" in texts(comparison)
    )


@pytest.mark.parametrize(
    ("states", "word"),
    [
        (("steady",) * 4, "better"),
        (("warming",) * 4, "probably better"),
        (("warming", "slowing") * 2, "probably better"),
        (("warming",) * 3 + ("steady",), "better"),
    ],
)
def test_a_few_races_that_are_steady_on_one_side_only_leave_nothing_certain(states, word):
    assert words_of(of(unsteady(blocks(4, noise=0.001), states)))["throughput:index-append"] == word


@pytest.mark.parametrize("count", [1, 3, 5, 10])
def test_a_task_on_the_verge_of_being_steady_is_not_void_by_chance(count):
    """It is steady in every second race of both sides."""
    void = sum(
        math.comb(count, old) * math.comb(count, new)
        for old, new in itertools.product(range(count + 1), repeat=2)
        if is_of_one_side((old, new), (count, count))
    )
    assert void / 4**count < 0.005


def test_seeds_of_blocks_are_not_a_difference():
    sides = [[replace(each, seed=block) for block, each in enumerate(side)] for side in blocks(3)]
    assert [each.key for each in of(sides).differences] == ["race.car_params.heap"]


def test_a_machine_that_changes_between_blocks_is_said_but_does_not_void():
    sides = blocks(4)
    for side in sides:
        side[3] = replace(side[3], environment=Environment(cpu_model="Other CPU", kernel="6.1"))
    comparison = of(sides)
    assert "the machine changed between the races: A CPU, 2 cores and Other CPU" in texts(comparison)
    assert "the kernel changed between the races: unknown and 6.1" in texts(comparison)
    assert comparison.answer != "void"


def test_snapshots_show_what_differs():
    sides = [
        [
            ComparedRace(each, RaceSnapshot(Snapshot({"jvm.flag.UseZGC": value, "reading.x": str(number)})))
            for number, each in enumerate(side)
        ]
        for side, value in zip(blocks(3), ("false", "true"), strict=True)
    ]
    comparison = compare_groups(*sides)
    assert [(each.area, each.key, each.contender) for each in comparison.differences] == [
        ("Race", "race.car_params.heap", ("2g",)),
        ("JVM", "jvm.flag.UseZGC", ("true",)),
    ]
    assert "snapshot" not in texts(comparison)


def test_equal_configurations_are_pointed_out():
    sides = [[replace(each, car_params={}) for each in side] for side in blocks(3)]
    assert "no difference between the configurations was found" in texts(of(sides))


def test_the_load_of_a_task_is_a_difference():
    comparison = of(contender(tasks=(index(clients=16), search()), car_params={"heap": "1g"}))
    assert [(each.key, each.baseline, each.contender) for each in comparison.differences] == [
        ("task.index-append.clients", ("2",), ("16",))
    ]


def test_searches_in_stores_of_different_size_are_pointed_out():
    larger = SystemMetrics(store_size=4 * 1024**3)
    comparison = of(contender(system=larger))
    assert "the store of the contender has another size (+33.3 %)" in texts(comparison)
    assert "void" not in words_of(comparison).values()


def test_a_side_that_always_runs_first_does_not_exclude_drift():
    sides = blocks(4)
    moved = [
        replace(each, timestamp=old.timestamp + timedelta(minutes=5))
        for old, each in zip(sides[0], sides[1], strict=True)
    ]
    assert "the baseline ran first in every block" in texts(of((sides[0], moved)))


def test_versions_of_pacenote_are_pointed_out():
    outcome = of(contender(environment=Environment(cpu_model="A CPU", cpu_logical_cores=2, pacenote="0.2")))
    assert "different versions of Pacenote: 0.1.0 and 0.2" in texts(outcome)


def test_a_block_on_two_machines_is_named():
    sides = blocks(4)
    sides[1][2] = replace(sides[1][2], environment=Environment(cpu_model="Other CPU"))
    assert_void(
        of(sides),
        "the machines differ: A CPU, 2 cores in the baseline, Other CPU in the contender (block heap/2)",
    )


@pytest.mark.parametrize(("own", "voids"), [((4, 1), True), ((1, 1), False), ((3, 3), False)])
@pytest.mark.parametrize("fact", ["machine", "data"])
def test_groups_are_void_if_their_machines_or_data_have_different_shares(own, voids, fact):
    """Without blocks, 4 of 5 races against 1 of 5 differ, although both groups have both values."""
    sides = blocks(5)
    changed = (
        {"environment": Environment(cpu_model="Other CPU")}
        if fact == "machine"
        else {"corpora": (RecordedCorpus("other", "declared", 7, 7),)}
    )
    mixed = [
        [
            replace(each, user_tags={}, **(changed if number < count else {}))
            for number, each in enumerate(side)
        ]
        for side, count in zip(sides, own, strict=True)
    ]
    comparison = of(mixed)
    assert (comparison.answer == "void") is voids
    if voids:
        assert "(4 of 5) and" in comparison.findings[0].text


def test_seeds_of_data_count_without_blocks_only_if_each_side_has_one():
    sides = blocks(4)
    for seeds, voids in ((((1, 1, 1, 1), (2, 2, 2, 2)), True), (((1, 2, 3, 4), (5, 6, 7, 8)), False)):
        seeded = [
            [
                replace(
                    each,
                    user_tags={},
                    # The bytes of generated documents depend on the seed.
                    corpora=(replace(CORPUS, origin="generated", seed=seed, bytes=29_500 + seed),),
                )
                for each, seed in zip(side, own, strict=True)
            ]
            for side, own in zip(sides, seeds, strict=True)
        ]
        assert (of(seeded).answer == "void") is voids


@pytest.mark.parametrize(
    ("hosts", "voids"),
    [
        ((("a",) * 4, ("b",) * 4), True),
        ((("a", "b"), ("b", "a")), False),
        ((("a",), ("b",)), False),
        ((("c1", "c2", "c3"), ("c4", "c5", "c6")), False),
        ((("3f0a2b4c5d6e",) * 3, ("0123456789ab",) * 3), False),
        ((("3f0a2b4c5d6e",), ("0123456789ab",)), False),
        (((None,) * 3, ("b",) * 3), False),
    ],
    ids=["separate", "mixed", "one each", "a race each", "containers", "one container each", "unknown"],
)
def test_sides_on_hosts_of_their_own_are_void(hosts, voids):
    sides = [
        [
            replace(each, environment=Environment(cpu_model="A CPU", host_name=host))
            for each, host in zip(side, own, strict=True)
        ]
        for side, own in zip(blocks(len(hosts[0])), hosts, strict=True)
    ]
    comparison = of(sides)
    assert (comparison.answer == "void") is voids
    assert ("the hosts differ: a in the baseline, b in the contender" in texts(comparison)) is voids


def test_other_hosts_of_the_engine_are_pointed_out():
    comparison = of(contender(cluster=RecordedCluster(nodes=({"host": "10.0.0.2"}, {"host": "10.0.0.1"}))))
    assert "the host of the engine changed between the races: " in texts(comparison)
    assert "10.0.0.1, 10.0.0.2" in texts(comparison)


@pytest.mark.parametrize(("gib", "voids"), [(23.7, False), (12, True)])
def test_memory_that_the_kernel_keeps_is_not_another_machine(gib, voids):
    sides = [
        [
            replace(each, environment=Environment(cpu_model="A CPU", memory_bytes=round(size * 2**30)))
            for each in side
        ]
        for side, size in zip(blocks(3), (23.6, gib), strict=True)
    ]
    assert (of(sides).answer == "void") is voids


def test_only_a_few_values_are_shown():
    sides = blocks(4)
    for number, raced in enumerate(sides[1]):
        sides[1][number] = replace(
            raced, environment=Environment(cpu_model="A CPU", cpu_logical_cores=2, host_name=f"host-{number}")
        )
    assert "the host changed between the races: unknown and host-0 and host-1 and 2 more" in texts(of(sides))


def scheduled(workers: str, demoted_s: float = 0.0) -> dict[str, Any]:
    threads = [{"name": "drive-0", "wall_s": 60.0}]
    return {"threads": threads, "scheduling": {"asked": "auto", "workers": workers, "demoted_s": demoted_s}}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("realtime", "short_slice", "real-time priority in the baseline, a short slice in the contender"),
        ("realtime", "normal", "real-time priority in the baseline, normal scheduling in the contender"),
        ("normal", "normal", ""),
    ],
)
def test_races_whose_driver_was_scheduled_differently_are_not_compared_without_a_word(old, new, text):
    sides = [
        [replace(side_race, driver=scheduled(workers)) for side_race in side]
        for side, workers in zip(blocks(3), (old, new), strict=True)
    ]
    comparison = of(sides)
    assert comparison.answer != "void"
    assert ("so that measured times include different waits for a core: " in texts(comparison)) is bool(text)
    assert text in texts(comparison)


@pytest.mark.parametrize(
    ("drained", "text"),
    [
        ((3, 0), "(in 3 of 3 races of the baseline, 0 of 3 of the contender)"),
        ((1, 1), "(in 1 of 3 races of the baseline, 1 of 3 of the contender)"),
        ((3, 3), ""),
        ((0, 0), ""),
    ],
)
def test_windows_of_which_only_some_waited_are_not_compared_without_a_word(drained, text):
    sides = blocks(3)
    backlog = WarmupBacklog(drain=WarmupDrain(window_from_s=10.0))
    for side, count in zip(sides, drained, strict=True):
        for number in range(count):
            bulk, query = side[number].tasks
            side[number] = replace(side[number], tasks=(bulk, replace(query, warmup_backlog=backlog)))
    comparison = of(sides)
    assert comparison.answer != "void"
    findings = [each for each in comparison.findings if "--warmup-drain" in each.text]
    assert [each.tasks for each in findings] == ([("term",)] if text else [])
    assert text in texts(comparison)


def test_a_race_whose_driver_lost_its_priority_is_pointed_out():
    sides = blocks(3)
    for side in sides:
        side[:] = [replace(side_race, driver=scheduled("realtime")) for side_race in side]
    sides[0][1] = replace(sides[0][1], driver=scheduled("realtime", demoted_s=20.0))
    assert "real-time priority for part of the race in the baseline" in texts(of(sides))


def test_a_task_during_which_the_driver_lost_its_priority_is_named():
    """One second is little of a race of a minute, but may be half of a task."""
    sides = blocks(3)
    for side in sides:
        side[:] = [replace(side_race, driver=scheduled("realtime")) for side_race in side]
    tasks = tuple(replace(task, index=number) for number, task in enumerate(sides[0][1].tasks))
    lost = scheduled("realtime", demoted_s=1.0)
    lost["scheduling"] = {**lost["scheduling"], "tasks": [{"index": tasks[0].index, "share": 0.5}]}
    sides[0][1] = replace(sides[0][1], driver=lost, tasks=tasks)
    assert f"real-time priority for half or less of {tasks[0].task} in the baseline" in texts(of(sides))
    assert {each.cause for each in of(sides).findings if "scheduled differently" in each.text} == {"driver"}
