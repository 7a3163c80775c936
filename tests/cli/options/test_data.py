"""The options for the state in which a race starts."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

import pytest

from pacenote.cli.options.data import data, duration
from pacenote.errors import UsageError
from pacenote.lab.experiment.read_file import parse_duration
from pacenote.model.data_options import DataOptions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fresh", DataOptions()),
        ("keep", DataOptions("keep", "default")),
        ("keep:http-logs_1.0", DataOptions("keep", "http-logs_1.0")),
        ("restore", DataOptions("restore", "default")),
        ("restore:x", DataOptions("restore", "x")),
    ],
)
def test_modes_are_parsed(text: str, expected: DataOptions) -> None:
    assert data(text) == expected
    assert data(str(expected)) == expected


@pytest.mark.parametrize("text", ["", "Keep", "store:x", "fresh:x", "x"])
def test_other_modes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--data must be fresh, keep:NAME or restore:NAME") as caught:
        data(text)
    assert "pacenote list data" in caught.value.hint


@pytest.mark.parametrize("text", ["keep:", "restore:../x", "keep:a b"])
def test_names_that_cannot_be_folders_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a data set"):
        data(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("1.5", 1.5), ("30s", 30), ("2 m", 120), ("1h", 3600)]
)
def test_times_are_parsed(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "x", "5 days", "inf", "1m30s"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be a time such as 30s, 2m or 1h"):
        duration(text)


@pytest.mark.parametrize("text", ["999999999h", "277778h", "16666667m", "999999999 m"])
def test_a_time_that_no_date_can_be_moved_by_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"must be at most 1,000,000,000 s, not"):
        duration(text)
    assert parse_duration(text.replace(" ", "")) is None
    assert parse_duration("9" * 400 + "d") is None
    longest = duration("277777h")
    assert parse_duration("277777h") == longest
    assert datetime.now(UTC) - timedelta(seconds=longest) < datetime.now(UTC) + timedelta(seconds=longest)
