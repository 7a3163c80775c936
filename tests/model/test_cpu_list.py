"""Sets of CPUs are read and written in the form of the kernel."""

from __future__ import annotations

import pytest

from pacenote.model.cpu_list import format_cpus, parse_cpus, recorded_cpus


@pytest.mark.parametrize(
    ("text", "cpus", "shown"),
    [
        ("0", (0,), "0"),
        ("0-3,6", (0, 1, 2, 3, 6), "0-3,6"),
        ("6, 2-3,1,3", (1, 2, 3, 6), "1-3,6"),
        ("8191", (8191,), "8191"),
    ],
)
def test_lists_are_read_and_written(text: str, cpus: tuple[int, ...], shown: str) -> None:
    assert parse_cpus(text) == cpus
    assert format_cpus(cpus) == shown


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "-1", "0,,1", "8192", "0-99999", "1;2"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a list of CPUs such as 0-3,6"):
        parse_cpus(text)


def test_an_empty_set_has_no_text() -> None:
    assert format_cpus(()) == ""


def test_what_is_not_a_list_in_a_record_names_no_cpus() -> None:
    cpus = [recorded_cpus(text) for text in ("0-1,3", "", None, "all", "3-1", "99999")]
    assert cpus == [{0, 1, 3}, *[frozenset()] * 5]
