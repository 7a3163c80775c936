"""Target rates are converted to intervals."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.errors import TrackError
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Corpus, Documents, Operation, Task
from pacenote.model.work import BulkWork, PythonSource
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.client_documents import client_documents, count_bulks
from pacenote.plan.document import (
    Deterministic,
    PlannedTask,
    Poisson,
    PythonScheduler,
    TaskPacing,
    Uniform,
    Unpaced,
)
from pacenote.units import Rate
from plan.planning import BULK, NAP, SEARCH, SETTINGS, plan, planned, refused, task, track

FOREVER = {"warmup_time_period": 5.0}
NEVER = "never ends: it has a warmup-time-period, no time-period, and an endless source"

PLUGINS = PluginNames(
    runners=frozenset({"put-elser"}),
    param_sources=frozenset({"words", "lines"}),
    schedulers=frozenset({"daily"}),
)
SUPPLIED_SEARCH = Operation("w", "search", {"param-source": "words"})
LINES = Operation("l", "bulk", {"param-source": "lines", "bulk-size": 500})
PUT = Operation("p", "put-elser", {"model": "x"})
SIZED_PUT = Operation("p", "put-elser", {"model": "x", "bulk-size": 500})


def with_plugins(given: Task) -> PlannedTask:
    """Plans a task of a track with the plug-ins above."""
    return build_plan(track(given), None, SETTINGS, PlanContext(plugins=PLUGINS)).tasks[0]


@pytest.mark.parametrize(
    ("operation", "fields", "pacing"),
    [
        (SEARCH, {}, Unpaced()),
        (SEARCH, {"target_throughput": Rate(50)}, Deterministic(0.02)),
        (SEARCH, {"target_interval": 30.0}, Deterministic(30.0)),
        (SEARCH, {"target_interval": 0.0}, Unpaced()),
        (SEARCH, {"target_throughput": Rate(4), "schedule": "poisson"}, Poisson(0.25)),
        (SEARCH, {"target_throughput": Rate(4), "schedule": "uniform"}, Uniform(0.25)),
        (SEARCH, {"schedule": "poisson"}, Unpaced()),
        (BULK, {"target_throughput": Rate(1000, "docs")}, Deterministic(0.1)),
        (BULK, {"target_throughput": Rate(10)}, Deterministic(0.1)),
        # Of its 250 documents, each client sends 100, 100 and 50, or only the first 100.
        (BULK, {"target_throughput": Rate(1000, "docs"), "clients": 4}, Deterministic(1 / 12)),
        (BULK, {"target_throughput": Rate(1000, "docs"), "clients": 4, "iterations": 1}, Deterministic(0.1)),
        (NAP, {"target_throughput": Rate(2, "ops")}, Deterministic(0.5)),
    ],
)
def test_the_pacing_follows_from_rates_intervals_and_schedules(
    operation: Operation, fields: dict[str, Any], pacing: TaskPacing
) -> None:
    assert planned(task("t", operation, **fields)).pacing == pacing


@pytest.mark.parametrize(
    ("operation", "fields", "documents"),
    [
        (BULK, {"target_throughput": Rate(1000, "docs")}, 100.0),
        (BULK, {"target_throughput": Rate(1000, "docs"), "clients": 4}, pytest.approx(250 / 3)),
        (LINES, {"target_throughput": Rate(1000, "docs")}, 500.0),
        (BULK, {"target_throughput": Rate(1000, "docs"), "schedule": "poisson"}, 100.0),
        (BULK, {"target_throughput": Rate(10)}, None),
        (BULK, {"target_interval": 1.0}, None),
        (BULK, {}, None),
        (SEARCH, {"target_throughput": Rate(10)}, None),
        (PUT, {"target_throughput": Rate(10, "docs")}, None),
        # The documents of a runner are known too late.
        (SIZED_PUT, {"target_throughput": Rate(1000, "docs")}, None),
        (LINES, {"target_throughput": Rate(1000, "docs"), "schedule": "daily"}, None),
    ],
)
def test_a_rate_in_documents_has_the_documents_of_an_operation(
    operation: Operation, fields: dict[str, Any], documents: Any
) -> None:
    planned_task = with_plugins(task("t", operation, **fields))
    assert planned_task.documents_per_operation == documents
    open_loop = replace(SETTINGS, pacing=PacingOptions(open_loop=True))
    if not isinstance(planned_task.pacing, PythonScheduler):
        context = PlanContext(plugins=PLUGINS)
        (shared,) = build_plan(track(task("t", operation, **fields)), None, open_loop, context).tasks
        assert shared.documents_per_operation is None


def test_only_tasks_with_a_rate_run_in_an_open_loop() -> None:
    settings = replace(SETTINGS, pacing=PacingOptions(open_loop=True, spin_us=50, warmup_drain=True))
    subject = track(task("a", target_throughput=Rate(5)), task("b"))
    built = build_plan(subject, None, settings, PlanContext())
    assert [one.open_loop for one in built.tasks] == [True, False]
    assert (built.driver.spin_us, built.driver.warmup_drain) == (50, True)
    assert not any(one.open_loop for one in plan(task("a", target_throughput=Rate(5))).tasks)


def test_tasks_with_python_schedulers_cannot_run_in_an_open_loop() -> None:
    settings = replace(SETTINGS, pacing=PacingOptions(open_loop=True))
    context = PlanContext(plugins=PluginNames(schedulers=frozenset({"daily"})))
    with pytest.raises(TrackError) as caught:
        build_plan(track(task("t", schedule="daily")), None, settings, context)
    assert caught.value.problems == (
        "t.schedule cannot run in an open loop: Python schedules each of its clients; omit --open-loop, "
        "or exclude the task (--exclude-tasks)",
    )


def test_a_rate_must_be_in_the_unit_of_the_operations_work() -> None:
    assert refused(task("t", SEARCH, target_throughput=Rate(5, "docs"))) == (
        't.target-throughput is in docs/s, but operation "find" counts ops; write ops/s',
    )
    assert refused(task("t", BULK, target_throughput=Rate(5, "pages"))) == (
        't.target-throughput is in pages/s, but operation "append" counts docs; '
        "write docs/s, or ops/s to count requests",
    )


def test_an_unknown_schedule_is_rejected() -> None:
    assert refused(task("t", schedule="poison")) == (
        't.schedule is "poison", but must be deterministic, poisson, uniform or a scheduler of a plug-in'
        ' (did you mean "poisson"?)',
    )


def test_a_rate_that_is_too_low_for_a_bulk_is_rejected() -> None:
    (problem,) = refused(task("t", BULK, target_throughput=Rate(1e-9, "docs")))
    assert problem.startswith("t.target-throughput is too low for this operation")


def test_rates_in_the_units_of_plug_ins_are_converted() -> None:
    paced = with_plugins(task("a", LINES, target_throughput=Rate(1000.0, "docs")))
    assert (paced.pacing, paced.unit) == (Deterministic(0.5), "docs")
    pages = with_plugins(task("b", PUT, target_throughput=Rate(10.0, "pages")))
    # Only the runner knows how many pages an operation has.
    assert (pages.pacing, pages.unit) == (PythonScheduler(), "pages")
    assert with_plugins(task("c", PUT, target_throughput=Rate(10.0))).pacing == Deterministic(0.1)


@pytest.mark.parametrize("operation", [PUT, SIZED_PUT, LINES, SUPPLIED_SEARCH])
def test_a_rate_in_operations_counts_those_of_plug_ins(operation: Operation) -> None:
    assert with_plugins(task("a", operation, target_throughput=Rate(5.0))).pacing == Deterministic(0.2)


def test_a_source_runs_about_a_second_ahead() -> None:
    assert with_plugins(task("a", SUPPLIED_SEARCH, target_throughput=Rate(1000.0))).work == PythonSource(64)
    assert with_plugins(
        task("b", SUPPLIED_SEARCH, target_throughput=Rate(40.0), clients=4)
    ).work == PythonSource(11)
    assert with_plugins(task("c", SUPPLIED_SEARCH, target_interval=60.0)).work == PythonSource(2)


def test_tasks_use_the_schedulers_of_plugins() -> None:
    assert with_plugins(task("a", schedule="daily")).pacing == PythonScheduler()
    assert with_plugins(task("a", schedule="daily", target_throughput=Rate(5.0))).pacing == PythonScheduler()


@pytest.mark.parametrize("clients", [1, 3, 4, 64])
@pytest.mark.parametrize("bulk_size", [1, 90, 100, 5_000])
def test_a_rate_in_documents_sends_all_documents_in_the_time_that_it_asks_for(
    clients: int, bulk_size: int
) -> None:
    """The clients have short bulks at the end of their ranges of each file."""
    counts = (1_000, 70, 470)
    files = tuple(
        Documents(f"{at}.json", document_count=count, target_index="books") for at, count in enumerate(counts)
    )
    append = Operation("append", "bulk", {"bulk-size": bulk_size})
    loading = task("t", append, clients=clients, target_throughput=Rate(1_000.0, "docs"))
    many = dataclasses.replace(track(loading), corpora=(Corpus("library", files),), operations=(append,))
    (planned_task,) = build_plan(many, None, SETTINGS, PlanContext()).tasks
    assert isinstance(planned_task.work, BulkWork)
    assert isinstance(planned_task.pacing, Deterministic)
    bulks = sum(
        count_bulks(documents, bulk_size)
        for client in range(clients)
        for documents in client_documents(planned_task.work, client, clients)
    )
    assert bulks * planned_task.pacing.interval_s == pytest.approx(sum(counts) / 1_000.0)


def test_a_rate_in_documents_counts_on_full_bulks_if_their_number_is_not_known() -> None:
    unknown = (Documents("books.json", target_index="books"),)
    loading = task("t", BULK, clients=7, target_throughput=Rate(1_000.0, "docs"))
    subject = dataclasses.replace(track(loading), corpora=(Corpus("library", unknown),))
    (planned_task,) = build_plan(subject, None, SETTINGS, PlanContext()).tasks
    assert planned_task.pacing == Deterministic(0.1)
