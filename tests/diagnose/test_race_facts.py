"""The figures that the record of a race has."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec import Struct
from msgspec.structs import replace

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import MOST_BESIDE, Evidence, TaskFacts, Window
from pacenote.diagnose.race_facts import add_engine_times, race_builder
from pacenote.model.engine_time import EngineTime
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Cause, Finding
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.race_record import RecordedClient, Verdict
from pacenote.model.result import DriverTime, WarmupBacklog
from pacenote.model.target_rate import TargetRate
from support.records import bulk, paced, record, task, times


def value(evidence: Evidence, name: str, of_task: str = "") -> object:
    """Returns a figure, or the reason why it is missing."""
    figure = evidence.value(Window(of_task), name)
    return figure.reasons[0][1] if isinstance(figure, Unknown) else figure


def test_results_of_tasks_are_figures_of_their_windows() -> None:
    load = bulk(
        window_succeeded=1_200,
        clients=8,
        window_s=60.0,
        bytes_out=700_000_000,
        content_out=1_400_000_000,
        duration_s=70.0,
        driver_time=DriverTime(1_000, 0.4, 40.0, 0.01),
        processing_time=times(200, p50=44.0, p99=99.0),
    )
    builder = race_builder(record(tasks=(load, paced(), task("force-merge", operation_type="force-merge"))))
    evidence = builder.build()
    assert [(each.name, each.kind) for each in evidence.tasks[:2]] == [
        ("index-append", "indexing"),
        ("term", "searching"),
    ]
    assert evidence.tasks[0].warmup_share == pytest.approx(1 / 7)
    expected = {
        "task.error_rate": 0.005,
        "task.rejections": 12.0,
        "task.clients": 8.0,
        "task.window_s": 60.0,
        "task.operations_per_s": 20.0,
        "task.documents": 740_000.0,
        "task.service_mean_ms": 50.0,
        "task.busy_clients": 1.0,
        "task.service_p50_ms": 40.0,
        "task.bytes_out_per_s": 10_000_000.0,
        "task.content_ratio": 2.0,
        "driver.time_share": 0.01,
        "task.paced": False,
        "task.took_share": "no sample that was read has a time of the engine (took)",
        "task.target_share": "the task has no target rate",
        "driver.lateness_p99_ms": "the task has no target rate",
        # 200 operations are too few for a p99.
        "task.service_p99_ms": "it was not recorded",
    }
    assert {name: value(evidence, name, "index-append") for name in expected} == expected
    processing = value(evidence, "driver.processing_share", "index-append")
    assert isinstance(processing, float)
    assert round(processing, 6) == 0.1
    assert value(evidence, "task.service_p99_ms", "term") == 8.0
    assert value(evidence, "driver.lateness_p99_ms", "term") == 0.15


def test_clients_that_wait_for_a_time_out_are_busy() -> None:
    """Four clients of which nearly all operations wait for a time-out of 60 s."""
    slow = replace(times(8, p50=48_000.0, p99=60_000.0), mean_ms=60_000.0)
    load = bulk(window_succeeded=60, clients=4, window_s=120.0, failed_service_time=slow)
    evidence = race_builder(record(tasks=(load,))).build()
    assert value(evidence, "task.busy_clients", "index-append") == 4.0
    few = replace(load, failed_service_time=replace(slow, count=2))
    evidence = race_builder(record(tasks=(few,))).build()
    assert value(evidence, "task.busy_clients", "index-append") == pytest.approx(1.025)
    # Two that were due in the warm-up also failed in the window.
    backlog = replace(few, window_operations=64)
    evidence = race_builder(record(tasks=(backlog,))).build()
    assert value(evidence, "task.busy_clients", "index-append") == pytest.approx(2.025)


def test_failures_that_an_overload_explains_are_a_share_of_all() -> None:
    groups = [
        FailureGroup(name, "", status, count, 0.0, 1.0, "operations")
        for name, status, count in (("http-status", 429, 3), ("timeout", None, 4), ("http-status", 400, 1))
    ]
    evidence = race_builder(record(tasks=(bulk(errors=tuple(groups)), task()))).build()
    assert value(evidence, "task.overload_share", "index-append") == 0.875
    assert value(evidence, "task.overload_share", "search") == "it was not recorded"


def test_a_target_rate_that_is_achieved_is_a_share_of_one() -> None:
    search = paced(window_operations=6_000, window_succeeded=5_940, window_s=60.0)
    targets = {"term": TargetRate(100.0, "ops", 100.0)}
    evidence = race_builder(record(tasks=(search,), targets=targets)).build()
    assert value(evidence, "task.target_share", "term") == 0.99


def test_what_the_warm_up_left_is_not_a_share_of_the_target_rate() -> None:
    backlog = WarmupBacklog(surplus=1_200, throughput_marked=True)
    done = {"window_operations": 7_200, "window_succeeded": 7_200, "window_s": 60.0}
    targets = {"term": TargetRate(100.0, "ops", 100.0)}
    race = record(tasks=(paced(warmup_backlog=backlog, **done),), targets=targets)
    assert value(race_builder(race).build(), "task.target_share", "term") == pytest.approx(1.0)


def test_tasks_of_one_step_name_each_other() -> None:
    race = record(tasks=(bulk(), paced()), steps={"both": ("index-append", "term")})
    assert [each.beside for each in race_builder(race).build().tasks] == [("term",), ("index-append",)]


def test_a_task_that_runs_once_or_was_not_measured_is_not_diagnosed() -> None:
    once = task("force-merge", operation_type="force-merge", clients=1, throughput=None)
    once = type(once)(**{**_fields(once), "accounting": type(once.accounting)(1, 1, 0, 0, 0, 0, 1, 1)})
    evidence = race_builder(record(tasks=(once, bulk(window_s=0.0)))).build()
    assert evidence.tasks == ()


def _fields(value: Struct) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def test_the_drivers_checks_of_itself_are_figures_of_the_steps_that_they_are_about() -> None:
    threads = [
        {
            "name": "drive-0",
            "cpu_s": 6.0,
            "wall_s": 60.0,
            "busiest": {"step": "both", "share": 0.9},
            "core_waits": [{"step": "term", "share": 0.02}],
        },
        {"name": "collect", "cpu_s": 59.0, "wall_s": 60.0, "busiest": {"step": "term", "share": 1.0}},
    ]
    driver = {
        "threads": threads,
        "clock": {"gaps_s": 0.5, "steps": [{"at_s": 1.0, "by_s": -0.25}]},
        "machine": {"busy_share": 0.7, "stolen_share": None},
    }
    race = record(driver=driver, tasks=(bulk(), paced()), steps={"both": ("index-append", "other")})
    evidence = race_builder(race).build()
    assert value(evidence, "driver.cpu_share", "index-append") == 0.9
    assert value(evidence, "driver.cpu_share", "term") == 0.1
    assert value(evidence, "driver.core_wait_share", "term") == 0.02
    assert value(evidence, "driver.core_wait_share", "index-append") == 0.0
    assert value(evidence, "driver.clock_gaps_s") == 0.75
    many = {"gaps_s": 0.5, "steps": [{"at_s": 1.0, "by_s": -0.25}], "steps_s": 7.5}
    of_many = race_builder(record(driver={"clock": many})).build()
    assert value(of_many, "driver.clock_gaps_s") == 8.0
    assert value(evidence, "machine.busy_share") == 0.7
    assert value(evidence, "machine.steal_share") == "it was not recorded"
    bare = race_builder(record(driver={})).build()
    for name in ("driver.cpu_share", "driver.core_wait_share", "driver.clock_gaps_s"):
        assert value(bare, name, "term") == "it was not recorded"


def test_the_engines_own_time_is_a_part_of_the_service_time() -> None:
    builder = race_builder(record(tasks=(bulk(),)))
    add_engine_times(builder, {bulk().task: EngineTime(10, 10, 395, 500_000_000)}, ())
    assert builder.build().number(Window(bulk().task), "task.took_share") == 0.8


def test_reasons_of_the_verdict_are_figures_of_the_tasks_that_they_name() -> None:
    findings = (
        Finding("the driver sent late", "driver", tasks=("term",)),
        Finding("time was stolen", "machine"),
        Finding("a task missed its target", "engine", tasks=("term",)),
    )
    race = record(tasks=(bulk(), paced()), verdict=Verdict("suspect", findings))
    evidence = race_builder(race).build()
    assert evidence.verdict == race.verdict
    assert value(evidence, "verdict.driver_reasons", "term") == 1
    assert value(evidence, "verdict.driver_reason", "term") == "the driver sent late"
    assert value(evidence, "verdict.driver_reasons", "index-append") == 0
    assert value(evidence, "verdict.machine_reason", "index-append") == "time was stolen"


def test_totals_of_the_engine_are_in_seconds_and_missing_ones_stay_missing() -> None:
    race = record(client=RecordedClient(compress=True))
    evidence = race_builder(replace(race, system=replace(race.system, merge_time=30_000.0))).build()
    assert value(evidence, "total.merge_s") == 30.0
    assert value(evidence, "total.indexing_throttled_s") == "it was not recorded"
    assert (value(evidence, "task.compressed"), value(evidence, "task.tls")) == (True, False)


def test_an_imported_race_has_the_figures_of_its_file_and_a_reason_for_all_others() -> None:
    values = (
        ImportedValue("Median Throughput", "index", 100_017.0, "docs/s"),
        ImportedValue("error rate", "index", 80.1289, "%"),
        ImportedValue("50th percentile service time", "range", 254.9, "ms"),
        ImportedValue("Median Throughput", "range", 0.7, "ops/s"),
    )
    imported = ImportedResults("rally", "comparison", "page.txt", "0" * 64, values=values)
    evidence = race_builder(record(imported=imported, tasks=())).build()
    assert evidence.tasks == (TaskFacts("index", "indexing"), TaskFacts("range", "searching"))
    assert value(evidence, "task.error_rate", "index") == 0.801289
    assert value(evidence, "task.service_p50_ms", "range") == 254.9
    assert value(evidence, "gc.stop_share", "index") == "the race was imported"
    assert value(evidence, "driver.cpu_share", "index") == (
        "the race was imported, and its file does not have it"
    )


def test_of_many_tasks_of_a_step_some_are_named() -> None:
    tasks = tuple(task(task=f"t{number}") for number in range(MOST_BESIDE + 10))
    race = record(tasks=tasks, steps={"both": tuple(each.task for each in tasks)})
    facts = race_builder(race).build().tasks
    assert facts[0].beside == tuple(f"t{number}" for number in range(1, MOST_BESIDE + 1))
    assert {len(each.beside) for each in facts} == {MOST_BESIDE}
    pair = record(tasks=tasks[:2], steps={"both": ("t0", "t1", "unknown")})
    assert [each.beside for each in race_builder(pair).build().tasks] == [("t1",), ("t0",)]


def test_a_thread_counts_with_its_busiest_time_in_that_step_and_with_its_mean_in_others() -> None:
    def thread(name: str, cpu_s: float, busiest: dict[str, object]) -> dict[str, object]:
        return {"name": name, "cpu_s": cpu_s, "wall_s": 10.0, "busiest": busiest}

    threads = [
        thread("drive-0", 5.0, {"step": "one", "share": 0.9}),
        thread("drive-1", 3.0, {"step": "two", "share": 0.4}),
        thread("drive-2", 1.0, {"step": ["one"], "share": 0.95}),
        thread("other", 9.0, {"step": "one", "share": 1.0}),
    ]
    tasks = tuple(task(task=name) for name in ("one", "two", "three"))
    evidence = race_builder(record(tasks=tasks, driver={"threads": threads})).build()
    assert [value(evidence, "driver.cpu_share", name) for name in ("one", "two", "three")] == [0.9, 0.5, 0.5]


def test_the_use_of_a_thread_is_known_of_each_step() -> None:
    steps = [{"step": "one", "share": 0.95}, {"step": "two", "share": 0.2}]
    threads = [
        {"name": "drive-0", "cpu_s": 3.0, "wall_s": 10.0, "busiest": steps[0], "busiest_steps": steps},
        {"name": "drive-1", "cpu_s": 1.0, "wall_s": 10.0, "busiest_steps": [{"step": "two", "share": 0.3}]},
        {"name": "collect", "busiest_steps": [{"step": "two", "share": 1.0}]},
    ]
    tasks = tuple(task(task=name) for name in ("one", "two", "short"))
    evidence = race_builder(record(tasks=tasks, driver={"threads": threads})).build()
    shares = [value(evidence, "driver.cpu_share", name) for name in ("one", "two", "short")]
    assert shares == [0.95, 0.3, "it was not recorded"]


@pytest.mark.parametrize("cause", get_args(Cause))
def test_only_what_the_driver_itself_or_code_that_it_waits_for_causes_is_about_the_driver(
    cause: Cause,
) -> None:
    """A warm-up that is too short, or a track with too few clients, says nothing about it."""
    race = record(tasks=(paced(),), verdict=Verdict("suspect", (Finding("a reason", cause),)))
    reasons = value(race_builder(race).build(), "verdict.driver_reasons", "term")
    assert reasons == (cause in ("driver", "code", "pacenote"))


def test_short_waits_for_a_core_are_waits_and_uncounted_ones_are_not_known() -> None:
    late = {"step": "term", "task": "term", "share": 0.67, "share_of_step": 0.2}
    counted = {"name": "drive-0", "run_queue_s": 12.0, "core_waits": []}
    for recorded in ({"delayed": late}, {"delayed": late, "delayed_tasks": [late]}):
        race = record(tasks=(paced(),), driver={"threads": [counted | recorded]})
        assert value(race_builder(race).build(), "driver.core_wait_share", "term") == 0.2
    uncounted = record(tasks=(paced(),), driver={"threads": [counted | {"run_queue_s": None}]})
    assert value(race_builder(uncounted).build(), "driver.core_wait_share", "term") == "it was not recorded"


def test_the_reasons_of_a_task_are_its_own_and_those_of_all() -> None:
    findings = (
        Finding("of one", "driver", tasks=("one", "one")),
        Finding("of all", "driver"),
        Finding("of two", "driver", tasks=("two", "one")),
        Finding("of the engine", "engine"),
    )
    tasks = tuple(task(task=name) for name in ("one", "two", "three"))
    evidence = race_builder(record(tasks=tasks, verdict=Verdict("suspect", findings))).build()
    reasons = [
        (value(evidence, "verdict.driver_reasons", name), value(evidence, "verdict.driver_reason", name))
        for name in ("one", "two", "three")
    ]
    assert reasons == [(3.0, "of one"), (2.0, "of all"), (1.0, "of all")]
