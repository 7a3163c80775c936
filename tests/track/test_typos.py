"""Misspelled keys of tasks are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.track.typos import misspelled_keys, replaced_iterations
from track.builders import load


@pytest.mark.parametrize(
    ("keys", "meant"),
    [
        ({"client": 8}, "clients"),
        ({"warmup_time_period": 120}, "warmup-time-period"),
        ({"target-troughput": 5}, "target-throughput"),
        ({"clients": 8, "iterations": 3, "tags": "x"}, None),
        ({"variation-millis": 8, "//": "a remark"}, None),
        ({"client": 8, "schedule": "of-a-plug-in"}, None),
    ],
)
def test_misspelled_keys_are_reported_but_keys_for_plug_ins_are_not(
    tmp_path: Path, keys: dict[str, Any], meant: str | None
) -> None:
    reported = misspelled_keys(load(tmp_path, schedule=[{"operation": "read", **keys}]))
    assert len(reported) == (meant is not None)
    assert all('task "read" of challenge' in text and f'is it "{meant}"?' in text for text in reported)


@pytest.mark.parametrize(
    ("keys", "is_told"),
    [
        ({"iterations": 10, "time-period": 3}, True),
        ({"iterations": 10}, False),
        ({"time-period": 3}, False),
    ],
)
def test_iterations_that_a_period_replaces_are_told(
    tmp_path: Path, keys: dict[str, int], is_told: bool
) -> None:
    reported = replaced_iterations(load(tmp_path, schedule=[{"operation": "read", **keys}]))
    assert len(reported) == is_told
    assert all('task "read" of challenge' in text and "has iterations, which" in text for text in reported)
