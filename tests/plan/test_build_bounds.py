"""The bounds that determine when tasks end."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.track import Operation, Parallel
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    Iterations,
    TimePeriod,
)
from plan.planning import BULK, LOOPED, NAP, SEARCH, plan, planned, refused, task

FOREVER = {"warmup_time_period": 5.0}
NEVER = "never ends: it has a warmup-time-period, no time-period, and an endless source"


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
def test_bounds_follow_from_the_operation_and_its_task(
    operation: Operation, fields: dict[str, Any], bound: Iterations | TimePeriod
) -> None:
    assert planned(task("t", operation, **fields)).bound == bound


def test_a_task_that_never_ends_is_reported() -> None:
    (problem,) = refused(task("t", SEARCH, **FOREVER))
    assert problem.startswith(f"t {NEVER}")
    assert len(refused(task("t", LOOPED, **FOREVER))) == 1


@pytest.mark.parametrize("completed_by", ["append", "any"])
def test_an_endless_task_may_be_ended_by_another_task(completed_by: str) -> None:

    both = (task("append", BULK), task("find", SEARCH, **FOREVER))
    made = plan(Parallel(both, completed_by=completed_by))
    assert made.tasks[1].bound == TimePeriod(5.0, None)


@pytest.mark.parametrize(
    ("completed_by", "endless"),
    [(None, ["find"]), ("find", ["find"])],
)
def test_an_endless_task_cannot_complete_a_step(completed_by: str | None, endless: list[str]) -> None:
    both = (task("append", BULK), task("find", SEARCH, **FOREVER))
    problems = refused(Parallel(both, completed_by=completed_by))
    assert [problem.split(" ")[0] for problem in problems] == endless


def test_completed_by_any_needs_a_task_that_ends() -> None:
    both = (task("x", LOOPED, **FOREVER), task("y", SEARCH, **FOREVER))
    assert len(refused(Parallel(both, completed_by="any"))) == 2
