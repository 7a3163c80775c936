"""Command-line options replace the schedules of a track."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from pacenote.model.pacing_options import Arrivals, PacingOptions
from pacenote.model.track import BUILT_IN_SCHEDULES, Parallel, Task
from pacenote.plan.document import Deterministic, Poisson, Uniform
from pacenote.track.prepare import apply_pacing_options
from pacenote.units import Rate
from plan.planning import plan, task, track

RATE = {"target_throughput": Rate(10.0)}
WIDE = PacingOptions(open_loop=True, max_connections=16)


def paced(given: Task, pacing: PacingOptions) -> Task:
    (only,) = apply_pacing_options(track(given), pacing).challenges[0].tasks()
    return only


def test_the_driver_supports_every_built_in_schedule() -> None:
    assert set(BUILT_IN_SCHEDULES) == {pace.kind for pace in (Deterministic, Poisson, Uniform)}
    assert get_args(Arrivals) == BUILT_IN_SCHEDULES


def test_arrivals_replace_built_in_schedules_of_tasks_with_a_rate() -> None:
    pacing = PacingOptions(arrivals="uniform")
    assert paced(task("t", schedule="poisson", **RATE), pacing).schedule == "uniform"
    assert paced(task("t", target_interval=2.0), pacing).schedule == "uniform"
    assert paced(task("t", schedule="daily", **RATE), pacing).schedule == "daily"
    assert paced(task("t"), pacing).schedule == "deterministic"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"clients": 2}, {"clients": 16}),
        ({"clients": 64, "iterations": 10}, {"clients": 16, "iterations": 40}),
        (
            {"warmup_iterations": 100, "iterations": 500},
            {"clients": 16, "warmup_iterations": 7, "iterations": 32},
        ),
        ({"time_period": 30.0}, {"clients": 16, "time_period": 30.0}),
        ({"warmup_iterations": 0, "iterations": 1}, {"clients": 16, "warmup_iterations": 0, "iterations": 1}),
    ],
)
def test_max_connections_sets_the_clients_and_distributes_the_iterations(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert paced(task("t", **RATE, **before), WIDE) == task("t", **RATE, **after)


def test_clients_change_only_for_open_loop_tasks_with_a_rate() -> None:
    assert paced(task("t", clients=3), WIDE).clients == 3
    assert paced(task("t", clients=3, **RATE), PacingOptions(open_loop=True)).clients == 3
    assert paced(task("t", clients=3, **RATE), PacingOptions(max_connections=9)).clients == 3


def test_a_parallel_element_grows_with_its_tasks() -> None:
    tasks = (task("a", clients=2, **RATE), task("b", clients=3))
    for clients, expected in ((None, 19), (5, 19), (4, 18)):
        changed = apply_pacing_options(track(Parallel(tasks, clients=clients)), WIDE)
        (element,) = changed.challenges[0].schedule
        assert isinstance(element, Parallel)
        assert (element.clients, element.client_count) == (clients and expected, expected)


def test_the_plan_has_a_client_for_every_connection() -> None:
    wide = apply_pacing_options(track(task("t", **RATE)), WIDE).challenges[0].schedule
    (step,) = plan(*wide).steps
    assert [share.client for row in step.client_allocations for share in row.allocations] == list(range(16))
