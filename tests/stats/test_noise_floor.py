"""The noise floor of races."""

import math
import random
import statistics

import pytest
from scipy import stats

from pacenote.stats.noise_floor import noise_floor


def races(count: int, drift: float = 0.0, seed: int = 1) -> list[float]:
    generator = random.Random(seed)
    return [100 * math.exp(drift * race + generator.gauss(0, 0.01)) for race in range(count)]


def test_the_spread_of_races_is_their_standard_deviation() -> None:
    values = races(20)
    floor = noise_floor(values)
    assert floor is not None
    assert floor.races == 20
    assert floor.race.deviation == pytest.approx(statistics.stdev(map(math.log, values)))
    # 0.7605 and 1.4606 are the tabulated factors for 19 degrees of freedom.
    assert floor.race.low == pytest.approx(0.7605 * floor.race.deviation, rel=1e-3)
    assert floor.race.high == pytest.approx(1.4606 * floor.race.deviation, rel=1e-3)


def test_a_drift_is_not_noise_of_a_block() -> None:
    still, moving = noise_floor(races(20)), noise_floor(races(20, drift=0.02))
    assert still is not None
    assert moving is not None
    assert moving.block.deviation == pytest.approx(still.block.deviation)
    assert moving.race.deviation > 5 * still.race.deviation


@pytest.mark.parametrize("lost", [(), (2, 5, 8)])
def test_the_interval_of_the_noise_of_a_block_contains_it(lost: tuple[int, ...]) -> None:
    def with_lost(values: list[float]) -> list[float | None]:
        return [None if at in lost else value for at, value in enumerate(values)]

    floors = [noise_floor(with_lost(races(12, seed=seed))) for seed in range(200)]
    true = 0.01 * math.sqrt(2)
    covered = [floor is not None and floor.block.low <= true <= floor.block.high for floor in floors]
    assert 180 <= sum(covered) <= 199


def test_no_difference_is_taken_across_a_race_that_does_not_count() -> None:
    values = [100.0, 102.0, None, 50.0, 51.0, 52.0]
    floor = noise_floor(values)
    assert floor is not None
    assert floor.races == 5
    steps = [math.log(one) for one in (1.02, 51 / 50, 52 / 51)]
    assert floor.block.deviation == pytest.approx(statistics.stdev(steps))
    # Three differences, of which two have a race in common.
    degrees = 2 * 3**2 / (2 * 3 + 1)
    low = math.sqrt(degrees / stats.chi2.isf(0.025, degrees))
    assert floor.block.low == pytest.approx(low * floor.block.deviation)


def test_too_few_races_have_no_noise_floor() -> None:
    assert noise_floor(races(2)) is None
    assert noise_floor([1.0, 2.0, None, 3.0]) is None
    assert noise_floor([*races(5), 0.0]) is None
    assert noise_floor([*races(5), math.nan]) is None


def test_races_without_noise() -> None:
    floor = noise_floor([5.0] * 6)
    assert floor is not None
    assert floor.race.high == 0
