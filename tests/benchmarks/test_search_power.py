"""The simulation of searches: probes that are planned find an answer, shorter ones do not."""

import random

import numpy as np
import pytest
from search_power import (
    PLANNINGS,
    Case,
    FailingEngine,
    UnsteadyEngine,
    search,
    search_failing,
    search_unsteady,
)

pytestmark = pytest.mark.process


def test_planned_probes_find_the_limit():
    shares, case = {}, Case(99.0, 300.0)
    for planning in PLANNINGS:
        generator = random.Random(3)
        answers = [search(case, planning, generator) for _ in range(60)]
        right = [one.low is not None and one.contains(case.limit) for one in answers]
        shares[planning.name] = sum(right) / len(right)
    assert shares["planned"] > 0.95
    assert shares["just enough for a bound"] < 0.25


def test_an_engine_that_exceeds_the_error_rate_at_every_rate_has_no_limit():
    generator = random.Random(3)
    for error_rate in (0.012, 0.02):
        engine = FailingEngine(error_rate, None)
        assert all(search_failing(engine, generator).low is None for _ in range(30))


def test_an_engine_that_seldom_fails_has_an_interval_around_its_limit():
    generator, engine = random.Random(3), FailingEngine(0.01 / 3, 200.0)
    answers = [search_failing(engine, generator) for _ in range(30)]
    right = [one.low is not None and one.proven and one.contains(200.0) for one in answers]
    assert sum(right) >= 28


@pytest.mark.parametrize(
    ("engine", "searches"),
    [
        (UnsteadyEngine(1000.0, 20), 10),
        (UnsteadyEngine(1000.0, spread=0.05), 40),
        (UnsteadyEngine(1000.0), 40),
    ],
)
def test_bursts_and_a_limit_that_varies_do_not_make_intervals_wrong(engine, searches):
    generator = np.random.default_rng(3)
    answers = [search_unsteady(engine, generator) for _ in range(searches)]
    intervals = [one for one in answers if one.proven and one.low is not None]
    assert len(intervals) >= 0.8 * searches
    assert sum(one.contains(1000.0) for one in intervals) >= 0.9 * len(intervals)
