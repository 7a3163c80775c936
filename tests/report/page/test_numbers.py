"""Numbers in the tables of charts, and times of a race."""

import pytest

from pacenote.report.page.numbers import clock, plain, plain_time


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, ""), (0, "0"), (0.0004, "0"), (0.0005, "0.0005"), (0.01234, "0.0123"), (0.5, "0.5")),
        *((9.996, "10"), (12.34, "12.3"), (99.96, "100"), (1234.6, "1235"), (12_345_678.9, "12345679")),
    ],
)
def test_numbers_have_no_unit_no_exponent_and_no_separators(value, text):
    assert plain(value) == text
    assert "e" not in plain(value)


def test_times_are_in_tenths_of_a_second_so_that_those_of_a_second_differ():
    assert [plain_time(100.5 + second) for second in range(3)] == ["100.5", "101.5", "102.5"]
    assert plain_time(3600.0) == "3600"


@pytest.mark.parametrize(("seconds", "text"), [(7.9, "0:07"), (750, "12:30"), (3725, "1:02:05")])
def test_the_clock_has_minutes_and_hours(seconds, text):
    assert clock(seconds) == text
