"""The frequency of the processors within a task, and how it changed."""

from __future__ import annotations

import pytest

from pacenote.model.telemetry_cuts import TaskTimes
from pacenote.stats.cpu_frequency import frequency_figures
from pacenote.stats.device_history import Point

S = 10**9
TASK = TaskTimes("index", 100 * S, 200 * S)


def every_5_s(first: float, last: float) -> list[Point]:
    """Readings from before to after the task, which change in its middle."""
    return [(at * S, first if at < 150 else last) for at in range(50, 251, 5)]


def test_a_fall_is_that_from_the_first_to_the_last_quarter() -> None:
    figures = frequency_figures({"0": every_5_s(4e9, 3e9), "1": every_5_s(4e9, 3e9)}, frozenset(), TASK)
    assert figures["cpu.frequency_first_hz"] == 4e9
    assert figures["cpu.frequency_fall_share"] == pytest.approx(0.25)
    assert 3e9 < figures["cpu.frequency_hz"] < 4e9
    rising = frequency_figures({"0": every_5_s(3e9, 4e9)}, frozenset(), TASK)
    assert rising["cpu.frequency_fall_share"] < 0


def test_only_the_processors_of_the_engine_count() -> None:
    points = {"0": every_5_s(4e9, 2e9), "1": every_5_s(3e9, 3e9)}
    assert frequency_figures(points, frozenset({1}), TASK)["cpu.frequency_fall_share"] == 0
    # Of many processors, only some are sampled.
    assert frequency_figures(points, frozenset({7}), TASK) == {}


def test_a_task_with_few_readings_has_no_change() -> None:
    short = TaskTimes("index", 145 * S, 155 * S)
    assert frequency_figures({"0": every_5_s(4e9, 3e9)}, frozenset(), short) == {
        "cpu.frequency_hz": pytest.approx(10e9 / 3)
    }
    # Several processors at one moment are one reading.
    many = {str(cpu): every_5_s(4e9, 3e9) for cpu in range(16)}
    assert set(frequency_figures(many, frozenset(), short)) == {"cpu.frequency_hz"}
    gaps: list[Point] = [(time_ns, None) for time_ns, _ in every_5_s(4e9, 3e9)]
    assert frequency_figures({"0": gaps}, frozenset(), TASK) == {}
    assert frequency_figures({}, frozenset(), TASK) == {}


def test_a_processor_that_goes_offline_is_not_a_fall() -> None:
    fast = [(time_ns, value) for time_ns, value in every_5_s(4e9, 4e9) if time_ns < 150 * S]
    figures = frequency_figures({"0": every_5_s(2e9, 2e9), "1": fast}, frozenset(), TASK)
    assert figures["cpu.frequency_first_hz"] == 2e9
    assert figures["cpu.frequency_fall_share"] == 0


def test_a_task_with_two_readings_has_no_frequency() -> None:
    shorter = TaskTimes("index", 145 * S, 152 * S)
    assert frequency_figures({"0": every_5_s(4e9, 3e9), "1": every_5_s(4e9, 4e9)}, frozenset(), shorter) == {}


def test_processors_that_are_read_a_little_apart_are_one_reading() -> None:
    """Two readings of each, one on either side of the middle of a second."""
    shorter = TaskTimes("index", 145 * S, 152 * S)
    both = {
        cpu: [(at * S + S // 2 + offset_ns, 4e9) for at in (145, 150)]
        for cpu, offset_ns in (("0", -1_000_000), ("1", 1_000_000))
    }
    assert frequency_figures(both, frozenset(), shorter) == {}
