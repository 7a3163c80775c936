"""The allocation of tasks to clients."""

from __future__ import annotations

import pytest

from pacenote.model.track import Parallel, Task
from pacenote.plan.allocate import allocate
from pacenote.plan.document import CompletedByAny, CompletedByTask, Step
from plan.planning import task

Rows = dict[int, list[tuple[int, int]]]


def rows(step: Step) -> Rows:
    return {
        row.client: [(share.task, share.client) for share in row.allocations]
        for row in step.client_allocations
    }


A, B, C, WIDE = task("a", clients=2), task("b"), task("c"), task("wide", clients=4)


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (B, {0: [(0, 0)]}),
        (A, {0: [(0, 0)], 1: [(0, 1)]}),
        (Parallel((A, B)), {0: [(0, 0)], 1: [(0, 1)], 2: [(1, 0)]}),
        (Parallel((A, B, C), clients=2), {0: [(0, 0), (1, 0)], 1: [(0, 1), (2, 0)]}),
        (Parallel((A, B, C), clients=3), {0: [(0, 0), (2, 0)], 1: [(0, 1)], 2: [(1, 0)]}),
        (Parallel((WIDE,), clients=2), {0: [(0, 0), (0, 2)], 1: [(0, 1), (0, 3)]}),
        (Parallel((A, B), clients=1), {0: [(0, 0), (0, 1), (1, 0)]}),
        (Parallel((A,), clients=8), {0: [(0, 0)], 1: [(0, 1)]}),
    ],
)
def test_tasks_are_allocated_to_clients(element: Task | Parallel, expected: Rows) -> None:
    (step,) = allocate([element])
    assert rows(step) == expected


def test_steps_follow_the_schedule_and_tasks_are_numbered_consecutively() -> None:
    steps = allocate([B, Parallel((A, C), completed_by="c"), task("d")])
    assert [step.name for step in steps] == ["b", "a, c", "d"]
    assert rows(steps[1]) == {0: [(1, 0)], 1: [(1, 1)], 2: [(2, 0)]}
    assert steps[1].completed_by == CompletedByTask(2)
    assert rows(steps[2]) == {0: [(3, 0)]}


def test_completed_by_any_is_kept() -> None:
    (step,) = allocate([Parallel((A, B), completed_by="any")])
    assert step.completed_by == CompletedByAny()


def test_a_parallel_element_is_named_after_its_tasks() -> None:
    many = tuple(task(name) for name in "abcde")
    assert [step.name for step in allocate([Parallel(many), Parallel(many, name="mine")])] == [
        "a, b, c and 2 more",
        "mine",
    ]


def test_the_name_of_a_step_is_that_of_no_other_step_or_task() -> None:
    """The driver reports about steps by their names."""
    queries = [Parallel((task(a), task(b)), name="queries") for a, b in ("ab", "cd")]
    like_a_task = Parallel((task("e"), task("f")), name="e")
    alone = Parallel((task("g"),), name="g")
    names = [step.name for step in allocate([*queries, like_a_task, alone, task("h")])]
    assert names == ["queries", "queries (2)", "e (2)", "g", "h"]


def test_every_client_of_every_task_is_allocated_exactly_once() -> None:
    tasks = tuple(task(f"t{clients}", clients=clients) for clients in range(1, 8))
    for clients in (None, *range(1, 30)):
        (step,) = allocate([Parallel(tasks, clients=clients)])
        shares = [share for row in rows(step).values() for share in row]
        expected = [(number, client) for number, one in enumerate(tasks) for client in range(one.clients)]
        assert sorted(shares) == expected
        assert max(rows(step)) < (clients or 28)
