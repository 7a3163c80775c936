"""Alarms of error rates: raised when failures become more frequent, ended when they are gone."""

from __future__ import annotations

import pytest

from pacenote.stats.absolute_effect import OperationCount
from pacenote.stats.error_rate_alarms import find_error_rate_alarms
from pacenote.stats.online_detection import AlarmOptions

OPTIONS = AlarmOptions(per_year=0.65, smallest_step=0.1, resolution=0.1, increase_is_worse=True)


def races(*runs: tuple[int, int]) -> list[OperationCount]:
    """Returns races of a thousand operations: for each run, its number of races and their failures."""
    return [OperationCount(failed, 1_000) for count, failed in runs for _ in range(count)]


@pytest.mark.parametrize("failed", [6, 8, 20, 100])
@pytest.mark.parametrize("later", [0, 1, 2, 3, 30])
def test_an_alarm_ends_after_the_failures_are_gone(failed: int, later: int) -> None:
    series = races((10, 0), (12, failed), (later, 0))
    (alarm,) = find_error_rate_alarms(series, OPTIONS)
    assert alarm.at == 10
    assert alarm.step.value == pytest.approx(failed / 10, rel=0.2)
    assert (alarm.ended is not None) == (later >= 3)


def test_a_series_without_failures_has_no_alarm() -> None:
    assert find_error_rate_alarms(races((40, 0)), OPTIONS) == ()
