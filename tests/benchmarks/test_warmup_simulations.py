"""The simulations of warm-ups, shorter: the promises of docs/measuring.md."""

import numpy as np
from warmup_simulations import Task, marked


def test_a_busy_engine_is_not_marked_and_one_that_paused_is():
    random = np.random.default_rng(20)
    many, mark = marked(Task(0.8, 200), 300, random)
    assert many > 0.5
    assert mark < 0.05
    assert marked(Task(0.5, 200, stall=100.0), 300, random) == (1.0, 1.0)
