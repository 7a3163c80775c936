"""Parsing and formatting of quantities."""

from __future__ import annotations

import pytest

from pacenote.units import (
    Rate,
    format_bytes,
    format_change,
    format_count,
    format_excess,
    format_number,
    format_seconds,
    split_by_weight,
    whole_number,
)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [("10 docs/s", 10, "docs"), ("0.5 ops/s", 0.5, "ops"), (" 3 pages/s ", 3, "pages")],
)
def test_rates_are_parsed(text: str, value: float, unit: str) -> None:
    assert Rate.parse(text) == Rate(value, unit)


@pytest.mark.parametrize("text", ["", "10", "10 docs", "docs/s", "-1 docs/s", "10docs/s", "1 a b/s"])
def test_text_that_is_not_a_rate_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        Rate.parse(text)


def test_a_rate_is_formatted_as_it_is_parsed() -> None:
    assert str(Rate(2.5, "docs")) == "2.5 docs/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (2**30, "1.0 GiB"),
        (3 * 2**40, "3.0 TiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_bytes_are_formatted_in_binary_units(value: float, text: str) -> None:
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (0.00025, "250 µs"),
        (0.0125, "12.5 ms"),
        (3.21, "3.21 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (0.9997, "1 s"),
        (59.97, "1 min"),
    ],
)
def test_seconds_are_formatted_in_a_suitable_unit(value: float, text: str) -> None:
    assert format_seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.929762, "0.92976"), (1029.68, "1,029.7"), (70730.2, "70,730"), (123456.7, "123,457")],
)
def test_numbers_are_formatted_without_an_exponent(value: float, text: str) -> None:
    assert format_number(value) == text


def test_counts_are_formatted_with_singular_or_plural() -> None:
    assert format_count(1, "index", "indices") == "1 index"
    assert format_count(2, "index", "indices") == "2 indices"
    assert format_count(1_000_000, "document") == "1,000,000 documents"


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (10, (1, 1), (5, 5)),
        (3, (1, 1), (2, 1)),
        (10, (1, 2, 7), (1, 2, 7)),
        (100, (1, 0, 9999), (1, 1, 98)),
        (1, (1, 1, 1), (1, 0, 0)),
        (0, (3, 4), (0, 0)),
        (5, (0, 0), (0, 0)),
        (5, (), ()),
    ],
)
def test_a_total_is_split_in_proportion_to_the_weights(
    total: int, weights: tuple[int, ...], parts: tuple[int, ...]
) -> None:
    assert split_by_weight(total, weights) == parts


def test_the_parts_always_add_up_to_the_total() -> None:
    weights = (2_708_746, 9_697_882, 13_053_463, 17_647_279, 10_716_760, 11_961_342, 181_463_624)
    for total in (7, 8, 1000, 999_999, 1_000_000, sum(weights)):
        parts = split_by_weight(total, weights)
        assert sum(parts) == total
        assert 0 not in parts
    assert split_by_weight(sum(weights), weights) == weights


def test_a_share_above_a_limit_does_not_look_like_the_limit():
    assert format_excess(0.014, 0.01) == "1.4 %"
    assert format_excess(0.01004, 0.01, ".3g") == "1.004 %"
    assert format_excess(0.026, 0.01) == "3 %"
    assert format_excess(0.0123, 0.01, ".3g") == "1.23 %"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.0, "±0.00 %"), (0.0031, "+0.31 %"), (-0.082, "-8.2 %"), (0.0999, "+10.0 %"), (2.2, "+220 %")),
        *((0.9996, "+100 %"), (-1.0, "-100 %"), (12.0, "+1,200 %")),
    ],
)
def test_changes_have_a_sign_and_no_exponent(share, text):
    assert format_change(share) == text


def test_only_ascii_digits_of_a_usual_length_are_a_whole_number() -> None:
    assert [whole_number(text) for text in ("0", "007", "9" * 18)] == [0, 7, int("9" * 18)]
    refused = ("", "-1", "+1", " 1", "1.0", "²", "٣", "9" * 19, "9" * 5000, "1\n")
    assert [text for text in refused if whole_number(text) is not None] == []
