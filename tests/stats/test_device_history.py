"""The load of a device from second to second."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pacenote.model.telemetry_cuts import TaskTimes
from pacenote.stats.device_history import (
    SERIES,
    DeviceInterval,
    Point,
    busiest_share,
    device_history,
    queue_growth,
    quiet_await_ms,
    within,
)

SECOND_NS = 10**9


def points(rows: Sequence[Sequence[float | None]]) -> dict[str, list[Point]]:
    """Returns the series of a device from its counters in every second."""
    return {
        name: [(number * SECOND_NS, row[column]) for number, row in enumerate(rows)]
        for column, name in enumerate(SERIES)
    }


def history(busy: Sequence[float], first_s: int = 0) -> list[DeviceInterval]:
    """Returns seconds in which a device was busy for these shares, with one request each."""
    return [
        DeviceInterval(number * SECOND_NS, (number + 1) * SECOND_NS, 1.0, 4.0 * share, 1e3 * share)
        for number, share in enumerate(busy, first_s)
    ]


def test_gaps_and_counters_that_begin_again_are_left_out() -> None:
    rows = [
        (10, 5, 100, 50, 500),
        (20, 6, 120, 55, 900),
        (None, 7, 130, 60, 950),
        (30, 9, 140, 61, 990),
        (2, 1, 3, 1, 4),
        (4, 4, 9, 2, 10),
    ]
    assert device_history(points(rows)) == (
        DeviceInterval(0, SECOND_NS, 11.0, 25.0, 400.0),
        DeviceInterval(4 * SECOND_NS, 5 * SECOND_NS, 5.0, 7.0, 6.0),
    )
    assert device_history({}) == ()
    assert device_history(points(rows[:1])) == ()


@pytest.mark.parametrize(
    ("shares", "length_s", "busiest"),
    [
        ([0.2] * 10 + [1.0] * 30 + [0.2] * 10, 30, 1.0),
        ([0.2] * 10 + [1.0] * 29 + [0.2] * 10, 30, (29 + 0.2) / 30),
        ([1.0] * 29, 30, None),
        ([0.5] * 30, 30, 0.5),
        ([0.0, 1.0, 0.0], 1, 1.0),
        ([], 30, None),
    ],
)
def test_the_busiest_part_is_found(shares: list[float], length_s: float, busiest: float | None) -> None:
    share = busiest_share(history(shares), length_s)
    assert share == (None if busiest is None else pytest.approx(busiest))


def test_the_busiest_part_has_no_gap() -> None:
    parts = [*history([1.0] * 20), *history([1.0] * 20, first_s=25)]
    assert busiest_share(parts, 30) is None
    assert busiest_share(parts, 20) == 1.0


def test_the_quiet_device_is_the_one_with_requests_for_less_than_half_of_the_time() -> None:
    assert quiet_await_ms(history([0.1, 0.4, 0.6, 1.0])) == pytest.approx(4.0 * 0.25)
    assert quiet_await_ms(history([0.6, 1.0])) is None
    assert quiet_await_ms([]) is None


def test_the_growth_of_the_queue_compares_both_halves() -> None:
    task = TaskTimes("index", 0, 4 * SECOND_NS)
    assert queue_growth(history([0.2, 0.2, 0.4, 0.8]), task) == pytest.approx(3.0)
    assert queue_growth(history([0.0, 0.0, 0.4, 0.8]), task) is None
    assert queue_growth([], task) is None
    assert len(within(history([0.1] * 9), task)) == 4
