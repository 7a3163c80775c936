"""How long plans take according to their schedules."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.track import Operation, Parallel
from pacenote.plan.duration import ExpectedDuration, expected_duration, task_seconds
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, NAP, SEARCH, plan, planned, task

RATE = {"target_throughput": Rate(50.0)}
DOCUMENTS = {"target_throughput": Rate(100.0, "docs")}


@pytest.mark.parametrize(
    ("operation", "fields", "seconds"),
    [
        (SEARCH, {"time_period": 60.0, "warmup_time_period": 5.0}, 65.0),
        (SEARCH, {"warmup_iterations": 100, "iterations": 400, **RATE}, 10.0),
        (SEARCH, {"iterations": 100, "clients": 5, **RATE}, 10.0),
        (SEARCH, {"iterations": 100, "schedule": "poisson", **RATE}, 2.0),
        (SEARCH, {"iterations": 100}, None),
        (SEARCH, {}, None),
        (NAP, {"iterations": 3}, 3.0),
        (BULK, {}, None),
        (BULK, DOCUMENTS, 10.0),
        (Operation("half", "bulk", {"bulk-size": 100, "ingest-percentage": 50}), DOCUMENTS, 5.0),
        # Each of the 8 clients has 125 documents, and sends two bulks: 100 and 25.
        (BULK, {"clients": 8, **DOCUMENTS}, 10.0),
        (BULK, {"clients": 8, "iterations": 1, **DOCUMENTS}, 8.0),
        (BULK, {"iterations": 50, **DOCUMENTS}, 10.0),
        (LOOPED, {"iterations": 50, **DOCUMENTS}, 50.0),
        (LOOPED, {"time_period": 7.0, **DOCUMENTS}, 7.0),
        (LOOPED, {"time_period": 600.0, **DOCUMENTS}, 600.0),
        # Its data ends before its time period.
        (BULK, {"time_period": 600.0, **DOCUMENTS}, 10.0),
        (BULK, {"time_period": 4.0, **DOCUMENTS}, 4.0),
        (BULK, {"time_period": 600.0}, 600.0),
    ],
)
def test_a_task_lasts_as_long_as_its_schedule(
    operation: Operation, fields: dict[str, Any], seconds: float | None
) -> None:
    duration = task_seconds(planned(task("t", operation, **fields)))
    assert duration == (None if seconds is None else pytest.approx(seconds))


def test_a_step_lasts_as_long_as_its_last_client_or_the_task_that_completes_it() -> None:
    short, long = task("short", time_period=10.0), task("long", time_period=60.0)
    open_, search = task("open"), task("search", time_period=5.0)
    assert expected_duration(plan(short, long)) == ExpectedDuration(70.0)
    assert expected_duration(plan(Parallel((short, long)))) == ExpectedDuration(60.0)
    # One client runs both tasks, one after the other.
    assert expected_duration(plan(Parallel((short, long), clients=1))) == ExpectedDuration(70.0)
    assert expected_duration(plan(Parallel((short, long), completed_by="short"))) == ExpectedDuration(10.0)
    assert expected_duration(plan(Parallel((short, long), completed_by="any"))) == ExpectedDuration(10.0)
    assert expected_duration(plan(Parallel((short, open_), completed_by="open"))) == ExpectedDuration(0.0, 1)
    # One client does the other tasks before the one that completes the step.
    for completed_by, seconds in (("short", 70.0), ("any", 60.0)):
        alone = Parallel((long, short), clients=1, completed_by=completed_by)
        assert expected_duration(plan(alone)) == ExpectedDuration(seconds)
    behind = Parallel((open_, short), clients=1, completed_by="short")
    assert expected_duration(plan(behind)) == ExpectedDuration(0.0, 1)
    assert expected_duration(plan(Parallel((short, open_)), search)) == ExpectedDuration(15.0, 1)
    whole = plan(short, open_, search)
    assert expected_duration(whole, whole.steps[1:]) == ExpectedDuration(5.0, 1)


def test_a_duration_states_what_it_does_not_include() -> None:
    assert str(ExpectedDuration(70.2)) == "about 1 min 10 s"
    assert (
        str(ExpectedDuration(70.0, 2)) == "at least 1 min 10 s, plus as long as the engine needs for 2 tasks"
    )
    assert str(ExpectedDuration(0.2, 1)) == "as long as the engine needs for 1 task"
