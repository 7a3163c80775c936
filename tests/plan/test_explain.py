"""Plans are described for a dry run."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.track import Operation, Parallel
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.explain import ClientDescription, explain
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, NAP, SETTINGS, plan, task, track


def test_steps_tasks_and_clients_are_described() -> None:
    parallel = Parallel((task("a", clients=2), task("b", NAP)), clients=2, completed_by="b")
    first, second = explain(plan(parallel, task("c")))
    assert (first.name, first.completed_by) == ("a, b", "b")
    assert [line.name for line in first.tasks] == ["a", "b"]
    assert first.clients == (ClientDescription(0, ("a[0]", "b")), ClientDescription(1, ("a[1]",)))
    assert (second.name, second.completed_by, second.clients) == ("c", "", (ClientDescription(0, ("c",)),))


@pytest.mark.parametrize(
    ("fields", "pacing", "bound"),
    [
        ({}, "as fast as possible", "1 iteration"),
        (
            {"target_throughput": Rate(50.0), "warmup_iterations": 100, "iterations": 1000},
            "50/s",
            "100 + 1,000 iterations",
        ),
        ({"target_throughput": Rate(9.0), "schedule": "uniform"}, "9/s at random (uniform)", "1 iteration"),
        ({"target_interval": 30.0, "time_period": 90.0}, "one every 30 s", "1 min 30 s"),
        (
            {
                "target_throughput": Rate(2.0),
                "schedule": "poisson",
                "warmup_time_period": 5.0,
                "time_period": 9.0,
            },
            "2/s at random (poisson)",
            "5 s warm-up, 9 s",
        ),
    ],
)
def test_pacings_and_bounds_are_described(fields: dict[str, Any], pacing: str, bound: str) -> None:
    (step,) = explain(plan(task("t", **fields)))
    assert (step.tasks[0].pacing, step.tasks[0].bound) == (pacing, bound)


def test_an_open_loop_is_mentioned() -> None:
    settings = replace(SETTINGS, pacing=PacingOptions(open_loop=True))
    built = build_plan(track(task("t", target_throughput=Rate(5.0))), None, settings, PlanContext())
    (step,) = explain(built)
    assert step.tasks[0].pacing == "5/s, open loop"


def test_a_rate_in_documents_is_the_one_that_was_asked() -> None:
    # Of its 250 documents, each client sends 100, 100 and 50.
    (step,) = explain(plan(task("t", BULK, clients=4, target_throughput=Rate(1_000.0, "docs"))))
    assert step.tasks[0].pacing == "1,000 docs/s (mean: 12/s)"


def test_bounds_without_a_number_are_described() -> None:
    both = (task("a", BULK), task("b", LOOPED, warmup_time_period=1.0))
    (step,) = explain(plan(Parallel(both, completed_by="any")))
    assert step.completed_by == "any task"
    assert [line.bound for line in step.tasks] == [
        "until all documents are sent",
        "1 s warm-up, until another task completes the step",
    ]


@pytest.mark.parametrize(
    ("operation", "requests"),
    [
        (NAP, ("waits 1 s",)),
        (BULK, ("POST /_bulk 100 of 1,000 documents in 1 file",)),
        (
            Operation("o", "bulk", {"bulk-size": 5, "ingest-percentage": 50}),
            ("POST /_bulk 5 of 500 documents in 1 file",),
        ),
        (Operation("o", "search", {"body": {}}), ("POST /books/_search 2 B body",)),
        (
            Operation("o", "force-merge", {"mode": "polling"}),
            (
                "POST /books/_forcemerge?wait_for_completion=false",
                "GET /_tasks/{task}, every 10 s until done",
            ),
        ),
    ],
)
def test_requests_are_described(operation: Operation, requests: tuple[str, ...]) -> None:
    (step,) = explain(plan(task("t", operation)))
    assert step.tasks[0].requests == requests
