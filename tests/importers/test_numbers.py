"""Numbers in tables, with separators of thousands and decimal commas."""

from __future__ import annotations

import pytest

from pacenote.importers.numbers import has_decimal_commas, is_no_value, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("98282.7", 98282.7),
        ("98,282.7", 98282.7),
        ("1,234,567", 1234567.0),
        ("98 282.7", 98282.7),
        ("98\u202f282", 98282.0),
        ("98'282", 98282.0),
        ("1.02445e-07", 1.02445e-07),
        ("+3", 3.0),
        ("\u22122.5", -2.5),
        (".5", 0.5),
        ("1e400", None),
        ("9" * 50, None),
        ("1,23", None),
        ("1.2.3", None),
        ("12ms", None),
        ("", None),
        ("٣", None),
    ],
)
def test_a_number_is_read_as_people_write_it(text, value):
    assert parse_number(text) == value


def test_a_decimal_comma_is_recognised_by_the_other_numbers_of_the_table():
    assert has_decimal_commas(["0,845", "12,3", "1,234"])
    assert has_decimal_commas(["1.234,5"])
    assert not has_decimal_commas(["1,234", "12,345"])
    assert not has_decimal_commas(["1,234.5", "0,845"])
    assert has_decimal_commas(["12,5", "61.234"])
    assert not has_decimal_commas(["12,5", "61.25"])
    assert parse_number("1.234,5", decimal_comma=True) == 1234.5
    assert parse_number("61.234", decimal_comma=True) == 61234.0
    assert parse_number("1,5E-07", decimal_comma=True) == 1.5e-07
    assert parse_number("1,234", decimal_comma=True) == 1.234


@pytest.mark.parametrize("text", ["", " - ", "NaN", "None", "n/a", "inf", "\u2014", "..."])
def test_a_cell_may_state_that_there_is_no_value(text):
    assert is_no_value(text)


def test_cells_that_are_too_long_for_a_number_are_not_compared_with_patterns() -> None:
    # With them, each cell would take hours.
    cells = ["1,5", *(f"{'0' * 1_000_000}.{kind}" for kind in ("x", ",", "1,x"))]
    assert has_decimal_commas(cells)
