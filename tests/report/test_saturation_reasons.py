"""Reasons in a table are written once, below it, with codes."""

from pacenote.report.saturation import reason_codes


def test_reasons_that_differ_only_in_numbers_have_one_code_and_ranges():
    reasons = ("p99 1,200 ms, 3 of 10", "error rate 5 %", "p99 950.5 ms, 12 of 10")
    codes = reason_codes(reasons)
    assert codes.notes == ("[1] p99 950.5 … 1,200 ms, 3 … 12 of 10", "[2] error rate 5 %")
    assert codes.of(reasons) == "[1] [2]"


def test_a_comma_after_a_number_is_not_a_part_of_it():
    assert reason_codes(("in 5, 6 or 7", "in 8, 6 or 9")).notes == ("[1] in 5 … 8, 6 or 7 … 9",)


def test_a_reason_with_a_number_sign_has_a_code_of_its_own():
    assert reason_codes(("task # failed", "task 5 failed")).notes == (
        "[1] task # failed",
        "[2] task 5 failed",
    )
