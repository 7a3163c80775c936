"""The simulations of comparisons of many tasks, shorter: the promises of docs/comparing.md."""

import dataclasses
import math

import pytest
from family_simulations import TASKS, Tasks, is_same, stated_size, weighted

from pacenote.stats.binomial import proves_above

pytestmark = pytest.mark.process

COMPARISONS = 600


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("noisy", [{}, {3: 0.1}])
def test_tasks_that_did_not_change_are_seldom_said_to_have(paired: bool, noisy: dict[int, float]) -> None:
    alarms = [any(weighted(each)) for each in Tasks(paired=paired, noisy=noisy).run(COMPARISONS, seed=1)]
    assert not proves_above(sum(alarms), COMPARISONS, 0.05)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_one_of_twenty_tasks_that_became_slower_is_found_by_five_races(paired: bool, shared: float) -> None:
    tasks = Tasks(paired=paired, shared=shared, changed={10: 0.1})
    detections = [weighted(each)[10] for each in tasks.run(COMPARISONS, seed=2)]
    assert proves_above(sum(detections), COMPARISONS, 0.7)


@pytest.mark.parametrize("tasks", [1, 5])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("races", [5, 10])
def test_the_change_that_would_have_been_seen_is_seen(races: int, paired: bool, tasks: int) -> None:
    """In 80 % of the comparisons: 2,000 of them, and the median of 400, tell 5 points from chance."""
    simulated = Tasks(races, paired=paired, tasks=tasks)
    sizes = sorted(map(stated_size, simulated.run(400, seed=3)))
    changed = dataclasses.replace(simulated, changed={0: sizes[len(sizes) // 2]})
    detections = [weighted(each)[0] for each in changed.run(2_000, seed=4)]
    assert sum(detections) / len(detections) == pytest.approx(0.8, abs=0.05)


def test_twenty_tasks_that_did_not_change_are_the_same_with_enough_blocks() -> None:
    many = [
        all(map(is_same, each)) for each in Tasks(20, paired=True, tasks=TASKS).run(COMPARISONS // 4, seed=5)
    ]
    assert sum(many) / len(many) > 0.9
    few = [all(map(is_same, each)) for each in Tasks(4, paired=True).run(COMPARISONS // 4, seed=5)]
    assert sum(few) / len(few) < 0.5
    # At the change that matters, a task is said to be the same in at most 2.5 % of the comparisons.
    change = math.expm1(math.log1p(0.05))
    wrong = [is_same(each[0]) for each in Tasks(10, changed={0: change}, tasks=1).run(COMPARISONS, seed=6)]
    assert not proves_above(sum(wrong), COMPARISONS, 0.025)
