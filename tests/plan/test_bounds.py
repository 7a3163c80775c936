"""Paces and bounds of tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pacenote.errors import TrackError
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Operation, Parallel
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    Deterministic,
    Iterations,
    Poisson,
    TaskPacing,
    TimePeriod,
    Uniform,
    Unpaced,
)
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, NAP, SEARCH, SETTINGS, plan, planned, refused, task, track

FOREVER = {"warmup_time_period": 5.0}
NEVER = "never ends: it has a warmup-time-period, no time-period, and a source without end"


@pytest.mark.parametrize(
    ("operation", "fields", "pace"),
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
        (BULK, {"target_throughput": Rate(1000, "docs"), "clients": 4}, Deterministic(0.1)),
        (NAP, {"target_throughput": Rate(2, "ops")}, Deterministic(0.5)),
    ],
)
def test_paces(operation: Operation, fields: dict[str, Any], pace: TaskPacing) -> None:
    assert planned(task("t", operation, **fields)).pace == pace


def test_open_loop_is_for_tasks_with_a_rate() -> None:
    settings = replace(SETTINGS, pacing=PacingOptions(open_loop=True, spin_us=50))
    subject = track(task("a", target_throughput=Rate(5)), task("b"))
    built = build_plan(subject, None, settings, PlanContext())
    assert [one.open_loop for one in built.tasks] == [True, False]
    assert built.driver.spin_us == 50
    assert not any(one.open_loop for one in plan(task("a", target_throughput=Rate(5))).tasks)


def test_what_python_schedules_cannot_run_open_loop() -> None:
    settings = replace(SETTINGS, pacing=PacingOptions(open_loop=True))
    context = PlanContext(plugins=PluginNames(schedulers=frozenset({"daily"})))
    with pytest.raises(TrackError) as caught:
        build_plan(track(task("t", schedule="daily")), None, settings, context)
    assert caught.value.problems == (
        "t.schedule cannot run open loop: Python says when each of its clients sends; race without "
        "--open-loop, or without the task (--exclude-tasks)",
    )


def test_the_unit_must_be_that_of_the_work() -> None:
    assert refused(task("t", SEARCH, target_throughput=Rate(5, "docs"))) == (
        't.target-throughput is in docs/s, but operation "find" counts ops; write ops/s',
    )
    assert refused(task("t", BULK, target_throughput=Rate(5, "pages"))) == (
        't.target-throughput is in pages/s, but operation "append" counts docs; '
        "write docs/s, or ops/s to count requests",
    )


def test_a_schedule_must_be_known() -> None:
    assert refused(task("t", schedule="poison")) == (
        't.schedule is "poison", must be deterministic, poisson, uniform or a scheduler of a plug-in'
        ' (did you mean "poisson"?)',
    )


@pytest.mark.parametrize(
    ("operation", "fields", "bound"),
    [
        (SEARCH, {}, Iterations(0, 1)),
        (SEARCH, {"iterations": 5}, Iterations(0, 5)),
        (SEARCH, {"warmup_iterations": 3}, Iterations(3, 1)),
        (SEARCH, {"warmup_iterations": 3, "iterations": 5}, Iterations(3, 5)),
        (SEARCH, {"time_period": 10.0}, TimePeriod(0.0, 10.0)),
        (SEARCH, {"warmup_time_period": 2.0, "time_period": 10.0}, TimePeriod(2.0, 10.0)),
        (SEARCH, {"iterations": 5, "time_period": 10.0}, TimePeriod(0.0, 10.0)),
        (BULK, {}, TimePeriod(0.0, None)),
        (BULK, {"warmup_time_period": 240.0}, TimePeriod(240.0, None)),
        (BULK, {"time_period": 60.0}, TimePeriod(0.0, 60.0)),
        (BULK, {"iterations": 7}, Iterations(0, 7)),
        (BULK, {"warmup_iterations": 7}, Iterations(7, UNTIL_EXHAUSTED)),
        (LOOPED, {}, Iterations(0, 1)),
        (LOOPED, {"time_period": 60.0}, TimePeriod(0.0, 60.0)),
        (NAP, {}, Iterations(0, 1)),
    ],
)
def test_bounds(operation: Operation, fields: dict[str, Any], bound: Iterations | TimePeriod) -> None:
    assert planned(task("t", operation, **fields)).bound == bound


def test_a_task_that_never_ends_is_a_problem() -> None:
    (problem,) = refused(task("t", SEARCH, **FOREVER))
    assert problem.startswith(f"t {NEVER}")
    assert len(refused(task("t", LOOPED, **FOREVER))) == 1


@pytest.mark.parametrize("completed_by", ["append", "any"])
def test_unless_another_task_completes_it(completed_by: str) -> None:
    from plan.planning import plan

    both = (task("append", BULK), task("find", SEARCH, **FOREVER))
    made = plan(Parallel(both, completed_by=completed_by))
    assert made.tasks[1].bound == TimePeriod(5.0, None)


@pytest.mark.parametrize(
    ("completed_by", "endless"),
    [(None, ["find"]), ("find", ["find"])],
)
def test_completing_by_what_never_ends_does_not_help(completed_by: str | None, endless: list[str]) -> None:
    both = (task("append", BULK), task("find", SEARCH, **FOREVER))
    found = refused(Parallel(both, completed_by=completed_by))
    assert [problem.split(" ")[0] for problem in found] == endless


def test_any_needs_one_that_ends() -> None:
    both = (task("x", LOOPED, **FOREVER), task("y", SEARCH, **FOREVER))
    assert len(refused(Parallel(both, completed_by="any"))) == 2


def test_a_rate_may_be_too_low_for_a_bulk() -> None:
    (told,) = refused(task("t", BULK, target_throughput=Rate(1e-9, "docs")))
    assert told.startswith("t.target-throughput is too low for this operation")
