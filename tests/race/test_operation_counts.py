"""Which tasks have more or fewer operations than in the track: each connection has whole iterations."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.track import Task
from pacenote.plan.build import PlanContext, build_plan
from pacenote.race.operation_counts import operation_count_notes
from pacenote.track.prepare import apply_pacing_options
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, SETTINGS, task, track

RATE = {"target_throughput": Rate(10.0)}
COUNTS = "which changes the number of operations"


def notes(connections: int, *tasks: Task) -> tuple[str, ...]:
    """Returns the notes of a race with so many connections."""
    pacing = PacingOptions(open_loop=True, max_connections=connections)
    paced = apply_pacing_options(track(*tasks), pacing)
    plan = build_plan(paced, None, replace(SETTINGS, pacing=pacing), PlanContext())
    return operation_count_notes(tasks, plan)


@pytest.mark.parametrize(
    ("fields", "connections", "counts"),
    [
        ({"iterations": 5}, 4, None),
        ({"iterations": 5}, 3, (40, 42)),
        ({"iterations": 1}, 64, (8, 64)),
        ({}, 64, (8, 64)),
        ({}, 3, (8, 3)),
        ({"operation": LOOPED}, 64, (8, 64)),
        ({"warmup_iterations": 4}, 16, (40, 48)),
        ({"warmup_iterations": 1, "iterations": 3}, 64, (32, 128)),
        # Time or data ends these tasks, whatever the number of their clients is.
        ({"time_period": 30.0}, 64, None),
        ({"warmup_time_period": 30.0, "time_period": 30.0}, 64, None),
        ({"operation": BULK}, 64, None),
        ({"operation": BULK, "warmup_iterations": 1}, 64, None),
    ],
)
def test_the_numbers_are_those_of_the_plan(
    fields: dict[str, Any], connections: int, counts: tuple[int, int] | None
) -> None:
    texts = [text for text in notes(connections, task("t", clients=8, **RATE, **fields)) if COUNTS in text]
    if counts is None:
        assert texts == []
        return
    (text,) = texts
    assert text.endswith(f': "t" ({counts[0]} in the track, at most {counts[1]} in this race)')


def test_the_largest_changes_are_named_first() -> None:
    iterations = {"unchanged": 64, "doubled": 32, "little": 63, "much": 1, "more": 3}
    (text,) = notes(64, *(task(name, iterations=count, **RATE) for name, count in iterations.items()))
    named = [text.find(f'"{name}" (') for name in ("much", "more", "doubled")]
    assert named == sorted(named)
    assert min(named) > 0
    assert text.endswith("and 1 more")
    # Tasks without a rate keep their clients.
    assert notes(64, task("closed", iterations=3)) == ()


@pytest.mark.parametrize(("connections", "size"), [(64, "15.6"), (20, "50"), (5, "100"), (8, "")])
def test_connections_that_shorten_bulks_are_a_note(connections: int, size: str) -> None:
    """Of 1,000 documents, each of 8 clients has 125, and sends bulks of 100 and 25."""
    texts = notes(connections, task("t", operation=BULK, clients=8, **RATE))
    expected = (
        "each of the clients of --max-connections has its own range of every file: "
        f'"t" sends bulks of {size} documents in the mean with {connections} clients instead of 62.5 with 8'
    )
    assert texts == ((expected,) if size else ())
