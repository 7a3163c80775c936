"""The simulations of warm-ups, shorter: the promises of docs/measuring.md."""

import numpy as np
import pytest
from warmup_simulations import Task, judge, simulate


@pytest.mark.parametrize("clients", [1, 8])
def test_a_busy_engine_is_seldom_marked_and_one_that_paused_is(clients):
    task = Task(clients, "even", 0.3, load=0.5, measured=200)
    usual, stalled = (
        judge(task, races) for races in simulate(task, (0.0, 100.0), 60, np.random.default_rng(20))
    )
    assert usual[1].mean() <= 0.02
    assert stalled[0].all()
    assert stalled[1].mean() >= 0.8
