"""The online detector: soon, never with later races, and with an end."""

from __future__ import annotations

import math
import random

import pytest

from pacenote.stats.effect import RESOLUTION
from pacenote.stats.online_detection import AlarmOptions, OnlineAlarm, find_alarms, soonest_step

OPTIONS = AlarmOptions(0.65, math.log1p(0.03), RESOLUTION, increase_is_worse=True)


def series(levels: list[float], seed: int = 1, correlation: float = 0.0) -> list[float]:
    """Returns logarithms with a noise of 2 %, each of which resembles the one before it."""
    draw, rest, logs = random.Random(seed), 0.0, []
    for level in levels:
        rest = correlation * rest + math.sqrt(1 - correlation**2) * draw.gauss(0, 0.02)
        logs.append(math.log(level) + rest)
    return logs


def alarms(values: list[float]) -> tuple[OnlineAlarm, ...]:
    return find_alarms(values, OPTIONS)


@pytest.mark.parametrize("seed", range(5))
def test_a_large_step_is_found_with_its_second_value(seed):
    (alarm,) = alarms(series([1.0] * 20 + [1.15] * 2, seed))
    assert (alarm.at, alarm.raised, alarm.ended) == (20, 21, None)
    assert alarm.step.value == pytest.approx(math.log(1.15), abs=0.05)


@pytest.mark.parametrize("sign", [1, -1])
def test_only_a_worsening_is_an_alarm(sign):
    values = series([1.0] * 20 + [1.1] * 10)
    options = AlarmOptions(0.65, 0.03, RESOLUTION, increase_is_worse=sign > 0)
    raised = find_alarms(values, options)
    assert len(raised) == (sign > 0)
    mirrored = find_alarms([-value for value in values], options)
    assert len(mirrored) == (sign < 0)
    assert all(sign * alarm.step.value > 0 for alarm in (*raised, *mirrored))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("at", [20, 39])
def test_one_value_is_never_an_alarm(seed, at):
    values = [0.005 * math.sin(7 * (race + seed) ** 2) for race in range(40)]
    values[at] += 1.0
    assert alarms(values) == ()


@pytest.mark.process
@pytest.mark.parametrize("seed", range(3))
def test_what_was_found_does_not_depend_on_later_values(seed):
    """A gate that is computed again has had the same alarms, each with the same place."""
    levels = [1.0] * 20 + [1.06] * 12 + [1.0] * 15 + [1.04] * 10 + [0.95] * 15 + [1.02] * 8
    values = series(levels, seed)
    assert alarms(values)
    whole = [(alarm.at, alarm.raised, alarm.ended) for alarm in alarms(values)]
    for count in range(1, len(values) + 1):
        expected = [
            (at, raised, ended if ended is not None and ended < count else None)
            for at, raised, ended in whole
            if raised < count
        ]
        own = [(alarm.at, alarm.raised, alarm.ended) for alarm in alarms(values[:count])]
        assert own == expected, count


@pytest.mark.parametrize("seed", range(5))
def test_an_alarm_ends_when_the_old_level_is_back_and_not_before(seed):
    (alarm, *_) = alarms(series([1.0] * 20 + [1.06] * 20 + [1.0] * 15, seed))
    assert alarm.ended is not None
    assert 42 <= alarm.ended < 55
    (alarm, *_) = alarms(series([1.0] * 20 + [1.06] * 60, seed))
    assert alarm.ended is None


def test_the_level_after_an_alarm_can_become_worse_again():
    raised = alarms(series([1.0] * 20 + [1.08] * 20 + [1.16] * 5))
    assert [alarm.at for alarm in raised] == [20, 40]
    assert raised[1].step.value == pytest.approx(math.log(1.16 / 1.08), abs=0.02)


def test_the_level_after_an_improvement_can_be_left():
    raised = alarms(series([1.0] * 20 + [0.9] * 20 + [0.96] * 5))
    assert [alarm.at for alarm in raised] == [40]


@pytest.mark.process
@pytest.mark.parametrize(("correlation", "most"), [(0.0, 0.09), (0.6, 0.4)])
def test_series_without_a_change_seldom_have_an_alarm(correlation, most):
    false_alarms = [bool(alarms(series([1.0] * 60, seed, correlation))) for seed in range(150)]
    assert sum(false_alarms) / len(false_alarms) <= most


def test_a_step_of_five_percent_is_mostly_found_with_its_third_value():
    detections = [bool(alarms(series([1.0] * 30 + [1.05] * 3, seed))) for seed in range(150)]
    assert sum(detections) / len(detections) >= 0.63


@pytest.mark.parametrize("values", [[], [1.0], [0.0] * 9, [0.0] * 60, [0.0] * 20 + [700.0] * 5])
def test_short_and_constant_series_are_no_error(values):
    assert all(alarm.at == 20 for alarm in alarms(values))


def test_fewer_false_alarms_need_a_larger_step():
    seldom = AlarmOptions(0.1, 0.03, RESOLUTION, increase_is_worse=True)
    steps = [soonest_step(30, 0.02, 0.0, options) for options in (OPTIONS, seldom)]
    assert steps[0] is not None
    assert steps[1] is None or steps[0] < steps[1]
    assert soonest_step(9, 0.02, 0.0, OPTIONS) is None
