"""Axes of drawings: places, and round labels."""

from __future__ import annotations

import pytest

from pacenote.report.page.scale import Scale, scale_of


@pytest.mark.parametrize(
    ("scale", "value", "share"),
    [
        (Scale(0.0, 10.0), 2.5, 0.25),
        (Scale(0.0, 10.0), -1.0, 0.0),
        (Scale(0.0, 10.0), 99.0, 1.0),
        (Scale(1.0, 100.0, is_logarithmic=True), 10.0, 0.5),
        (Scale(1.0, 100.0, is_logarithmic=True), 0.0, 0.0),
    ],
)
def test_a_value_is_at_its_share(scale, value, share):
    assert scale.at(value) == pytest.approx(share)


@pytest.mark.parametrize(
    ("scale", "steps"),
    [
        (Scale(-0.012, 0.081), [0.0, 0.02, 0.04, 0.06, 0.08]),
        (Scale(9_700.0, 10_400.0), [9_800.0, 10_000.0, 10_200.0, 10_400.0]),
        (Scale(1.0, 32.0, is_logarithmic=True), [1.0, 2.0, 5.0, 10.0, 20.0]),
        (Scale(40.0, 60.0, is_logarithmic=True), [50.0]),
        (Scale(52.0, 60.0, is_logarithmic=True), [52.0, 54.0, 56.0, 58.0, 60.0]),
    ],
)
def test_labels_are_round_and_few(scale, steps):
    assert scale.steps() == pytest.approx(steps)


TINY = (5e-324, 1e-320, 2.2e-308, 1e-300, 1e-200, 1e-76)
WIDE = (
    *((value,) for value in TINY),
    *((0.0, value) for value in TINY),
    (-5e-324, 5e-324),
    TINY,
    (*TINY, 1e75),
)


@pytest.mark.parametrize("values", [(), (5.0,), (0.0, 0.0), (1.0, 2.0, float("inf")), (1e75, -1e75), *WIDE])
@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_a_scale_has_room_for_any_values(values, is_logarithmic):
    scale = scale_of(values, is_logarithmic=is_logarithmic)
    assert scale.low < scale.high
    assert scale.steps()


@pytest.mark.parametrize("high", TINY)
def test_a_scale_that_is_too_narrow_has_one_step(high):
    assert Scale(0.0, high).steps() == Scale(0.0, 0.0).steps() == [0.0]
    assert (Scale(0.0, high).at(high), Scale(0.0, 0.0).at(0.0)) == (1.0, 0.0)


def test_zero_stands_out():
    ticks = Scale(-1.0, 1.0).ticks(str, 0.0)
    assert [tick.is_strong for tick in ticks] == [tick.label == "0.0" for tick in ticks]
    assert any(tick.is_strong for tick in ticks)


def test_a_logarithmic_scale_has_the_smallest_and_the_largest_numbers():
    scale = scale_of((5e-324, 1e75), is_logarithmic=True)
    assert scale.low > 0
    assert scale.steps()
    assert [scale.at(5e-324), scale.at(1e308)] == [pytest.approx(0.0, abs=0.1), 1.0]
