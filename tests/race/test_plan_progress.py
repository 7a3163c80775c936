"""Progress with the target rates and the durations of the plan."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.race_progress import RaceProgress, TaskProgress, TimeLeft
from pacenote.model.track import Operation
from pacenote.race.plan_progress import PlanProgress
from pacenote.units import Rate
from plan.planning import BULK, LOOPED, SEARCH, plan, task


class Listener:
    """Keeps the last progress."""

    def __init__(self) -> None:
        self.seen: list[RaceProgress] = []

    def progress(self, progress: RaceProgress) -> None:
        self.seen.append(progress)

    def task_finished(self, result: Any) -> None: ...
    def warning(self, text: str) -> None: ...


def running(name: str, eta_s: float | None) -> TaskProgress:
    return TaskProgress(name, "ops", False, None, 1.0, None, None, 1, 0, eta_s)


def completed(planned: Any, step: int, *tasks: TaskProgress) -> RaceProgress:
    listener = Listener()
    PlanProgress(listener, planned).progress(RaceProgress(step, len(planned.steps), 1.0, tasks))
    return listener.seen[0]


@pytest.mark.parametrize(
    ("operation", "fields", "target", "one_off"),
    [
        (SEARCH, {"target_throughput": Rate(50.0), "iterations": 9}, 50.0, False),
        (BULK, {"target_throughput": Rate(5000.0, "docs")}, 5000.0, False),
        (BULK, {"target_throughput": Rate(5.0)}, 500.0, False),
        # Of its 250 documents, each client sends 100, 100 and 50, or only the first 100.
        (BULK, {"target_throughput": Rate(5000.0, "docs"), "clients": 4}, 5000.0, False),
        (BULK, {"target_throughput": Rate(5000.0, "docs"), "clients": 4, "iterations": 2}, 5000.0, False),
        (LOOPED, {"target_throughput": Rate(5000.0, "docs"), "clients": 4}, 5000.0, True),
        (LOOPED, {"target_throughput": Rate(5000.0, "docs"), "clients": 4, "iterations": 2}, 5000.0, False),
        (SEARCH, {"iterations": 9}, None, False),
        (SEARCH, {}, None, True),
        (SEARCH, {"warmup_iterations": 1}, None, False),
        (Operation("own", "paginated-search", {"pages": 2, "body": {"sort": ["a"]}}),
         {"target_throughput": Rate(5.0)}, None, True),
    ],
)  # fmt: skip
def test_a_running_task_has_its_target_and_whether_it_is_one_off(
    operation: Operation, fields: dict[str, Any], target: float | None, one_off: bool
) -> None:
    (task_progress,) = completed(plan(task("t", operation, **fields)), 1, running("t", None)).tasks
    assert task_progress.target == (None if target is None else pytest.approx(target))
    assert task_progress.one_off is one_off


def test_the_time_left_adds_later_steps_to_the_running_ones() -> None:
    planned = plan(task("a", time_period=10.0), task("b"), task("c", time_period=30.0))
    assert completed(planned, 1, running("a", 4.0)).left == TimeLeft(34.0, complete=False)
    assert completed(planned, 2, running("b", None)).left == TimeLeft(30.0, complete=False)
    assert completed(planned, 3, running("c", 12.0)).left == TimeLeft(12.0, complete=True)
    assert completed(plan(task("b")), 1, running("b", None)).left is None


def etas(planned: Any, *seen: tuple[float, float | None, float | None]) -> list[float | None]:
    """Returns the shown seconds until the end of the task "t"; each item has the seconds of the race, the
    share of the task that is done, and the seconds that the driver estimates.
    """
    listener = Listener()
    progress = PlanProgress(listener, planned)
    for elapsed_s, share, eta_s in seen:
        ended = round(1000 * (share or 0.0))
        task_progress = TaskProgress("t", "ops", False, share, 1.0, None, None, ended, 0, eta_s)
        progress.progress(RaceProgress(1, 1, elapsed_s, (task_progress,)))
    return [one.tasks[0].eta_s for one in listener.seen]


def test_the_pace_of_a_task_tells_its_end_once_it_has_settled() -> None:
    seen = ((3.0, 0.5, 1.0), (12.0, 0.5, 460.0), (13.0, 0.04, 460.0), (14.0, 0.06, 150.0))
    assert etas(plan(task("t", iterations=9)), *seen) == [None, None, None, 150.0]
    assert etas(plan(task("t", time_period=60.0)), (3.0, 0.01, 59.0)) == [59.0]
    assert completed(plan(task("t", iterations=9)), 1, running("t", 460.0)).left is None


def test_the_pace_of_a_task_that_is_behind_its_schedule_tells_its_end() -> None:
    paced = plan(task("t", iterations=500, target_throughput=Rate(50.0)))
    # It takes 10 s as planned. At 5 s and with 23 operations per second, it takes 22 s.
    assert etas(paced, (0.0, None, None), (5.0, 0.23, 16.7), (5.0, 0.40, 7.5)) == [10.0, 16.7, 5.0]
    assert etas(paced, (0.0, None, None), (9.0, 0.0, None)) == [10.0, None]
    short = plan(task("t", iterations=40, target_throughput=Rate(50.0)))
    assert etas(short, (0.0, 0.0, None), (2.0, 0.0, None), (3.0, 0.0, None)) == [0.8, 0.0, None]


def silences(planned: Any, *seen: tuple[float, int]) -> list[tuple[float | None, float | None]]:
    """Returns for how long no operation of task "t" is said to have ended, and the seconds until its end;
    each item has the seconds of the race, and the number of operations that have ended.
    """
    listener = Listener()
    progress = PlanProgress(listener, planned)
    for elapsed_s, operations in seen:
        task_progress = TaskProgress("t", "ops", False, 0.5, 0.0, None, None, operations, 0, 20.0)
        progress.progress(RaceProgress(1, 1, elapsed_s, (task_progress,)))
    return [(one.tasks[0].silent_s, one.tasks[0].eta_s) for one in listener.seen]


def test_a_task_of_which_no_operation_ends_says_so_without_a_time_left() -> None:
    paced = plan(task("t", iterations=500, target_throughput=Rate(50.0)))
    assert silences(paced, (1.0, 0), (5.0, 0), (6.5, 0), (30.0, 0), (31.0, 1)) == [
        (None, 10.0), (None, 6.0), (5.5, None), (29.0, None), (None, 20.0),
    ]  # fmt: skip
    timed = plan(task("t", time_period=60.0))
    assert silences(timed, (1.0, 0), (9.0, 0)) == [(None, 20.0), (8.0, 20.0)], "it ends with its time"
    slow = plan(task("t", iterations=9, target_throughput=Rate(0.1)))
    pause = plan(task("t", Operation("t", "sleep", {"duration": 30}), iterations=9))
    for planned in (slow, pause, plan(task("t"))):
        assert [silent_s for silent_s, _ in silences(planned, (1.0, 0), (24.0, 0))] == [None, None]


def test_the_end_of_a_pause_and_of_a_schedule_is_known_from_the_start() -> None:
    pause = plan(task("t", Operation("t", "sleep", {"duration": 30})))
    assert etas(pause, (5.0, None, None), (9.0, 0.0, None)) == [30.0, 26.0]
    paced = plan(task("t", iterations=100, target_throughput=Rate(2.0)))
    assert etas(paced, (5.0, 0.01, 460.0)) == [50.0]
