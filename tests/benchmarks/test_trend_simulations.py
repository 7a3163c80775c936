"""The simulations of trends, shorter: the promises of docs/trend.md."""

import math

import numpy as np
import pytest
from trend_simulations import KINDS, Series, changed, drifting, values

pytestmark = pytest.mark.process

SERIES = 600


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.name)
@pytest.mark.parametrize("races", [10, 20])
def test_series_without_a_change_seldom_have_a_change_point(kind: Series, races: int) -> None:
    random = np.random.default_rng(1)
    alarms = sum(changed(values(kind.logs(races, random)), 0.01) for _ in range(SERIES))
    assert alarms / SERIES <= 0.01 + 3.5 * math.sqrt(0.01 * 0.99 / SERIES)


@pytest.mark.parametrize(("step", "after", "least"), [(0.2, 3, 0.97), (0.1, 5, 0.9), (0.05, 15, 0.8)])
def test_a_step_is_found_after_so_many_races(step: float, after: int, least: float) -> None:
    random, detections = np.random.default_rng(2), 0
    for _ in range(SERIES // 6):
        logs = Series().logs(20 + after, random)
        logs[20:] += math.log1p(step)
        detections += changed(values(logs))
    assert detections / (SERIES // 6) >= least


def test_a_drift_is_no_staircase() -> None:
    random = np.random.default_rng(3)
    series = [values(Series(drift=0.005).logs(40, random)) for _ in range(SERIES // 6)]
    assert sum(map(drifting, series)) / len(series) >= 0.95
